# SPDX-License-Identifier: MIT
"""Refuses requests before any path is looked up, and sets the headers that keep foreign code out of our pages.

A foreign page can make a browser on this machine send requests here. It cannot choose their Host (DNS rebinding keeps
the foreign name), Origin or Sec-Fetch-Site. Nor does it know the token that every change needs.
"""

from collections.abc import Mapping

from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hew.model.address import Guard, carries

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
METHODS = {"GET", "HEAD", "POST"}
Refusal = tuple[int, str]


class Guarded:
    """The application behind the checks. `open_paths` hold the page itself, which says nothing of any process."""

    def __init__(self, application: ASGIApp, guard: Guard, token: str, open_paths: frozenset[str]) -> None:
        self._application, self._guard, self._token, self._open = application, guard, token, open_paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        refused = self.refusal(scope["method"], scope["path"], _headers(scope))
        if refused is None:
            await self._application(scope, receive, with_headers)
            return
        status, text = refused
        more = {"www-authenticate": "Bearer"} if status == 401 else {}
        await PlainTextResponse(f"{text}\n", status, more)(scope, receive, with_headers)

    def refusal(self, method: str, path: str, headers: Mapping[str, str]) -> Refusal | None:
        """Status and sentence, or None for a request that is answered."""
        if method not in METHODS:
            return 405, "only GET, HEAD and POST are known here"
        if path in self._open and method != "POST":
            return self._guard.misnamed(headers)
        refused = self._guard.refusal(headers) or _stranger(headers)
        if refused is None and method == "POST" and not carries(headers, self._token):
            return 401, "changes need the token: open the link that hew serve printed"
        return refused


def _stranger(headers: Mapping[str, str]) -> Refusal | None:
    """A page that is not ours is behind the request. Programs, and addresses that are typed in, send neither header."""
    origin, host = headers.get("origin"), headers.get("host", "")
    if origin is not None and origin not in {f"http://{host}", f"https://{host}"}:
        return 403, "the request comes from another site"
    if headers.get("sec-fetch-site", "none") not in {"none", "same-origin"}:
        return 403, "the request comes from another site"
    return None


def _headers(scope: Scope) -> dict[str, str]:
    """In lower case; one that is sent twice has both values, and so is none that we know."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        found[key] = f"{found[key]}, {text}" if key in found else text
    return found
