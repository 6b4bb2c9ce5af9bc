# SPDX-License-Identifier: MIT
"""Asks an engine with the HTTP interface of Prometheus (/api/v1/query, /api/v1/query_range): one PromQL query each.

An answer is bounded in bytes and in time; what is no answer is said in one line. Redirects are not followed: they would
carry the token elsewhere.
"""

import http.client
import json
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import SplitResult, urlencode, urlsplit

from hew.model.errors import HewError
from hew.model.fleet import LATEST, Fold, Line, Over, Query, Span, possible

MOST_ANSWER = 64 << 20  # bytes: 100,000 hosts at a moment, 25,000 over three days; read, that is half a GB
PIECE = 1 << 20
MOST_SAID = 200  # characters of what an engine says
FORM = "application/x-www-form-urlencoded"


# The name of the recording rule that has a query's answer, or None.
Recorded = Callable[[Query], str | None]


def promql(query: Query, seconds: float, recorded: str | None = None) -> str:
    """The query for steps of so many seconds; of a recording rule's series, where there is one."""
    match = ",".join(f"{name}={_quoted(value)}" for name, value in query.match)
    selector = (recorded or query.series) + (f"{{{match}}}" if match else "")
    window = f"[{max(round(seconds * 1000), 1)}ms]"
    if query.over is Over.INCREASE:
        selector = f"avg_over_time({selector}{window})" if recorded else f"increase({selector}{window}) / {seconds!r}"
    fold = Fold.SUM if recorded and query.fold is Fold.COUNT else query.fold
    return f"{fold.value} by ({', '.join(query.by)}) ({selector})"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


class EngineSource:
    """An engine at an address such as http://127.0.0.1:9090; a path before /api is kept. `timeout`: seconds until an
    answer's body has come, looked at piece by piece; to connect, and each piece of its head, may take as long again."""

    def __init__(
        self,
        url: str,
        token: str = "",
        timeout: float = 30.0,
        match: Sequence[tuple[str, str]] = (),
        recorded: Recorded | None = None,
    ) -> None:
        self.name = url.rstrip("/")
        parts = _address(self.name)
        if parts is None:
            raise HewError(f"{url}: an engine is at http://HOST:PORT or https://..., maybe with a path before /api/v1")
        self._parts = parts
        if self._parts.username or self._parts.password:
            raise HewError("no password in the address of an engine, where others see it: give a token in a file")
        self._token, self._timeout, self._match = token, timeout, tuple(match)
        self._recorded = recorded or (lambda _: None)
        self._connection: http.client.HTTPConnection | None = None

    def ask(self, query: Query, span: Span) -> list[Line]:
        """One request."""
        whole = Query(query.series, query.over, query.fold, query.by, (*query.match, *self._match))
        words = {"query": promql(whole, span.step, self._recorded(whole)), "timeout": f"{self._timeout:g}s"}
        if span.steps == 1:
            rows = self._rows("query", {**words, "time": f"{span.end:.3f}"})
        else:
            more = {
                "start": f"{span.ends[0]:.3f}",
                "end": f"{span.end:.3f}",
                "step": f"{span.step:.3f}",
                "nocache": "1",
            }
            rows = self._rows("query_range", {**words, **more})
        return [line for row in rows if (line := _line(row, query)) is not None and line.points]

    def newest(self) -> float | None:
        """Time of the newest sample, to the minute; None if the last ten minutes have none. Longer queries are slow."""
        match = ",".join(f"{name}={_quoted(value)}" for name, value in self._match)
        text = f"max(max_over_time(timestamp(hew_allocated_bytes{{{match}}})[10m:1m]))"
        rows = self._rows("query", {"query": text, "time": f"{time.time():.3f}"})
        line = _line(rows[0], Query("", by=())) if rows else None
        if line is None or not line.points:
            return None
        newest = line.points[0][1]
        if not 0 <= newest <= LATEST:
            raise HewError(f"{self.name} has a sample of a time that is none ({newest:g} s): --at TIME looks elsewhere")
        return newest

    def _rows(self, path: str, words: Mapping[str, str]) -> list[Any]:
        try:
            status, body = self._answer(f"{self._parts.path}/api/v1/{path}", urlencode(words))
        except TimeoutError:
            raise HewError(
                f"{self.name} gave no answer within {self._timeout:g} s: --timeout, or a shorter window"
            ) from None
        except (OSError, http.client.HTTPException) as error:
            said = _plain(str(error)) or type(error).__name__
            raise HewError(f"{self.name} does not answer: {said}") from None
        except (ValueError, OverflowError) as error:  # what is no text, or no time to wait for
            raise HewError(f"{self.name} cannot be asked: {_plain(str(error))}") from None
        try:
            document = json.loads(body)
            if document["status"] == "success":
                return list(document["data"]["result"])
            said = _plain(str(document.get("error", "")))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            said = _plain(body[:MOST_SAID].decode(errors="replace"))
            raise HewError(f"{self.name} answers, but not as Prometheus does (status {status}): {said}") from None
        raise HewError(f"{self.name} refuses a query (status {status}): {said}")

    def _answer(self, path: str, body: str) -> tuple[int, bytes]:
        """The status and the body; again where a connection that rested was closed."""
        for fresh in (self._connection is None, True):
            until = time.monotonic() + self._timeout
            connection = self._connect()
            try:
                headers = {"Content-Type": FORM, "User-Agent": "hew-fleet", "Accept-Encoding": "identity"}
                if self._token:
                    headers["Authorization"] = f"Bearer {self._token}"
                connection.request("POST", path, body, headers)
                return self._read(connection.getresponse(), until)
            except (ConnectionError, http.client.BadStatusLine):
                self.close()
                if fresh:
                    raise
            except BaseException:
                self.close()
                raise
        raise AssertionError  # the second round returns or raises

    def _connect(self) -> http.client.HTTPConnection:
        if self._connection is None:
            kind = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
            self._connection = kind(str(self._parts.hostname), self._parts.port, timeout=self._timeout)
            self._connection.connect()
            self._connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._connection

    def _read(self, answer: http.client.HTTPResponse, until: float) -> tuple[int, bytes]:
        """Piece by piece: one that trickles is too late, too."""
        found = bytearray()
        while piece := answer.read1(PIECE):
            found += piece
            if time.monotonic() > until:
                raise TimeoutError
            if len(found) > MOST_ANSWER:
                raise HewError(f"{self.name} answers with more than {MOST_ANSWER >> 20} MiB: ask of fewer with --match")
        answer.close()  # or the connection waits for the end of an empty rest
        return answer.status, bytes(found)

    def close(self) -> None:
        """Hang up."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _address(url: str) -> SplitResult | None:
    """Its parts; None for what we cannot connect to."""
    try:
        parts = urlsplit(url)
        (parts.hostname or "").encode("idna")
        parts.path.encode("ascii")
        _ = parts.port
    except ValueError:  # UnicodeError is one
        return None
    return parts if parts.scheme in {"http", "https"} and parts.hostname else None


def _line(row: Any, query: Query) -> Line | None:
    """A row of the answer; None if it is malformed. Impossible values and times are left out."""
    try:
        labels = tuple(str(row["metric"].get(name, "")) for name in query.by)
        pairs = [(float(at), float(value)) for at, value in row.get("values") or [row["value"]]]
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError):
        return None
    known = ((at, value) for at, value in pairs if 0 <= at <= LATEST and possible(query.series, value))
    return Line(labels, tuple(known))


def _plain(text: str) -> str:
    """One line, without what a terminal would obey."""
    return " ".join("".join(one if one.isprintable() else " " for one in text).split())[:MOST_SAID]
