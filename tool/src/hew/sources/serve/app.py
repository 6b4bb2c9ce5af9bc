# SPDX-License-Identifier: MIT
"""The web application: its paths, and what each answers. guarded.py decides which requests are answered."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from hew.model.address import Guard
from hew.model.errors import HewError
from hew.model.lazy_dataclass import dataclass
from hew.sources.serve.guarded import Guarded
from hew.sources.serve.words import AnswerError, number_of, pid_of, seconds_of

MOST_BODY = 4096  # bytes of a request: a rule's name is all that is ever sent
SPARSE = 25  # per cent of a slab: what is used no more is hardly used
Document = dict[str, Any]


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
    def pins(self, pid: int, sparse: int) -> Document: ...
    def fleet(self) -> Document: ...
    def rollout(self, service: str, at: float, setting: str | None) -> Document: ...
    def metrics(self, accept: str) -> tuple[str, bytes]: ...
    def profile(self, pid: int | None, allocations: bool, form: str) -> tuple[str, bytes]: ...


def application(site: Site, guard: Guard, token: str, assets: Mapping[str, Asset]) -> ASGIApp:
    """The whole site. `assets` by path, `/` among them; Changes need `token`, also where reading needs none."""
    open_paths = [_asset(path, asset) for path, asset in assets.items()]
    return Guarded(Starlette(routes=[*open_paths, *_routes(site)]), guard, token, frozenset(assets))


def _asset(path: str, asset: Asset) -> Route:
    async def answer(_request: Request) -> Response:
        return Response(asset.body, media_type=asset.kind)

    return Route(path, answer)


def _routes(site: Site) -> list[Route]:
    def compare(request: Request) -> Document:
        return site.compare(number_of(request, "before"), number_of(request, "after"))

    def process(request: Request) -> Document:
        return site.process(pid_of(request), seconds_of(request, "since"))

    def flame(request: Request) -> Document:
        of, base = (number_of(request, name) if name in request.query_params else 0 for name in ("of", "base"))
        return site.flame(pid_of(request), of, base, request.query_params.get("by", ""))

    def pins(request: Request) -> Document:
        sparse = number_of(request, "sparse") if "sparse" in request.query_params else SPARSE
        if not 1 <= sparse <= 99:
            raise AnswerError(400, "sparse is 1 to 99 per cent")
        return site.pins(pid_of(request), sparse)

    def rollout(request: Request) -> Document:
        words = request.query_params
        return site.rollout(words.get("service", ""), seconds_of(request, "at"), words.get("setting") or None)

    return [
        Route("/api/processes", _shown(lambda _: site.processes())),
        Route("/api/process/{pid:int}", _shown(process)),
        Route("/api/process/{pid:int}/advice", _shown(lambda request: site.advice(pid_of(request)))),
        Route(
            "/api/process/{pid:int}/apply", _done(lambda pid, words: site.apply(pid, words("rule"))), methods=["POST"]
        ),
        Route("/api/process/{pid:int}/keep", _done(lambda pid, _: site.keep(pid)), methods=["POST"]),
        Route("/api/process/{pid:int}/profile", _shown(flame)),
        Route("/api/process/{pid:int}/pins", _shown(pins)),
        Route("/api/process/{pid:int}/profile/keep", _done(lambda pid, _: site.keep_profile(pid)), methods=["POST"]),
        Route("/api/kept", _shown(lambda _: site.kept())),
        Route("/api/compare", _shown(compare)),
        Route("/api/fleet", _shown(lambda _: site.fleet())),
        Route("/api/fleet/rollout", _shown(rollout)),
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

        return await _judged(lambda: make(pid_of(request), word))

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
    """The body, which is a small JSON object. No form of a foreign page can send its type."""
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
            pid = number_of(request, "pid") if "pid" in request.query_params else None
            form = request.query_params.get("format", "pprof")
            kind, body = await run_in_threadpool(site.profile, pid, allocations, form)
        except HewError as error:
            return PlainTextResponse(f"{error}\n", error.status if isinstance(error, AnswerError) else 409)
        name = "allocs" if allocations else "heap"
        return Response(body, headers={"content-type": kind, "content-disposition": f'attachment; filename="{name}"'})

    return answer
