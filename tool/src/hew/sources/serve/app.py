# SPDX-License-Identifier: MIT
"""The web application: which paths there are, and what each answers. Who may ask is decided in guarded.py."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from hew.model.address import Guard
from hew.model.errors import HewError
from hew.sources.serve.guarded import Guarded

MOST_BODY = 4096  # bytes of a request: a rule's name is all that is ever sent
Document = dict[str, Any]


class AnswerError(HewError):
    """Not done: a status of HTTP, and the sentence that says why."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


@dataclass(frozen=True)
class Asset:
    """A file of the page: its type, its bytes."""

    kind: str
    body: bytes


class Site(Protocol):
    """What the paths show and do; each may take a while, is called by several threads, and raises HewError."""

    def processes(self) -> Document: ...
    def process(self, pid: int, since: float) -> Document: ...
    def advice(self, pid: int) -> Document: ...
    def apply(self, pid: int, rule: str) -> Document: ...
    def keep(self, pid: int) -> Document: ...
    def kept(self) -> Document: ...
    def compare(self, before: int, after: int) -> Document: ...
    def flame(self, pid: int, of: int, base: int, by: str) -> Document: ...
    def keep_profile(self, pid: int) -> Document: ...
    def metrics(self, accept: str) -> tuple[str, bytes]: ...
    def profile(self, pid: int | None, allocations: bool, form: str) -> tuple[str, bytes]: ...


def application(site: Site, guard: Guard, token: str, assets: Mapping[str, Asset]) -> ASGIApp:
    """The whole site. `assets` by path, `/` among them; `token` is what changes need, whoever may look."""
    open_paths = [_asset(path, asset) for path, asset in assets.items()]
    return Guarded(Starlette(routes=[*open_paths, *_routes(site)]), guard, token, frozenset(assets))


def _asset(path: str, asset: Asset) -> Route:
    async def answer(_request: Request) -> Response:
        return Response(asset.body, media_type=asset.kind)

    return Route(path, answer)


def _routes(site: Site) -> list[Route]:
    def compare(request: Request) -> Document:
        return site.compare(_number(request, "before"), _number(request, "after"))

    def process(request: Request) -> Document:
        return site.process(_pid(request), _seconds(request, "since"))

    def flame(request: Request) -> Document:
        of, base = (_number(request, name) if name in request.query_params else 0 for name in ("of", "base"))
        return site.flame(_pid(request), of, base, request.query_params.get("by", ""))

    return [
        Route("/api/processes", _shown(lambda _: site.processes())),
        Route("/api/process/{pid:int}", _shown(process)),
        Route("/api/process/{pid:int}/advice", _shown(lambda request: site.advice(_pid(request)))),
        Route(
            "/api/process/{pid:int}/apply", _done(lambda pid, words: site.apply(pid, words("rule"))), methods=["POST"]
        ),
        Route("/api/process/{pid:int}/keep", _done(lambda pid, _: site.keep(pid)), methods=["POST"]),
        Route("/api/process/{pid:int}/profile", _shown(flame)),
        Route("/api/process/{pid:int}/profile/keep", _done(lambda pid, _: site.keep_profile(pid)), methods=["POST"]),
        Route("/api/kept", _shown(lambda _: site.kept())),
        Route("/api/compare", _shown(compare)),
        Route("/metrics", _metrics(site)),
        Route("/debug/pprof/heap", _profile(site, allocations=False)),
        Route("/debug/pprof/allocs", _profile(site, allocations=True)),
    ]


Endpoint = Callable[[Request], Any]


def _shown(make: Callable[[Request], Document]) -> Endpoint:
    async def answer(request: Request) -> Response:
        return await _judged(lambda: make(request))

    return answer


def _done(make: Callable[[int, Callable[[str], str]], Document]) -> Endpoint:
    async def answer(request: Request) -> Response:
        try:
            given = await _given(request)
        except AnswerError as error:
            return _refused(error)

        def word(name: str) -> str:
            if not isinstance(given.get(name), str):
                raise AnswerError(400, f"the request says no {name}")
            return str(given[name])

        return await _judged(lambda: make(_pid(request), word))

    return answer


async def _judged(make: Callable[[], Document]) -> Response:
    try:
        return JSONResponse(await run_in_threadpool(make))
    except HewError as error:
        return _refused(error)
    except OSError as error:  # a process that ended between two reads
        return _refused(AnswerError(409, str(error)))


def _refused(error: HewError) -> Response:
    return JSONResponse({"error": str(error)}, error.status if isinstance(error, AnswerError) else 409)


async def _given(request: Request) -> Document:
    """The body, which is a small JSON object. Its type is one that no form of a stranger's page can send."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise AnswerError(415, "the request must be application/json")
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > MOST_BODY:
            raise AnswerError(413, f"the request has more than {MOST_BODY} bytes")
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise AnswerError(400, "the request is no JSON object")
    return given


def _metrics(site: Site) -> Endpoint:
    async def answer(request: Request) -> Response:
        kind, body = await run_in_threadpool(site.metrics, request.headers.get("accept", ""))
        return Response(body, headers={"content-type": kind})

    return answer


def _profile(site: Site, allocations: bool) -> Endpoint:
    """For pprof's tools, which show the text of a refusal."""

    async def answer(request: Request) -> Response:
        try:
            pid = _number(request, "pid") if "pid" in request.query_params else None
            form = request.query_params.get("format", "pprof")
            kind, body = await run_in_threadpool(site.profile, pid, allocations, form)
        except HewError as error:
            return PlainTextResponse(f"{error}\n", error.status if isinstance(error, AnswerError) else 409)
        name = "allocs" if allocations else "heap"
        return Response(body, headers={"content-type": kind, "content-disposition": f'attachment; filename="{name}"'})

    return answer


def _pid(request: Request) -> int:
    return _in_range(int(request.path_params["pid"]))


def _number(request: Request, name: str) -> int:
    text = request.query_params.get(name, "")
    if not text.isascii() or not text.isdecimal() or len(text) > 12:
        raise AnswerError(400, f"{name} is no number")
    return _in_range(int(text))


def _in_range(number: int) -> int:
    if number >= 1 << 31:
        raise AnswerError(404, "there is no such number")
    return number


def _seconds(request: Request, name: str) -> float:
    try:
        return float(request.query_params.get(name, "0"))
    except ValueError as error:
        raise AnswerError(400, f"{name} is no number") from error
