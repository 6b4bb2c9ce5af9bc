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
from urllib.parse import urlencode, urlsplit

from hew.model.errors import HewError
from hew.model.fleet import Fold, Line, Over, Query, Span, possible

MOST_ANSWER = 256 << 20  # bytes: 100,000 hosts, 24 steps
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
    """An engine at an address such as http://127.0.0.1:9090; a path before /api is kept. `timeout`: seconds for one
    answer, all in all."""

    def __init__(
        self,
        url: str,
        token: str = "",
        timeout: float = 30.0,
        match: Sequence[tuple[str, str]] = (),
        recorded: Recorded | None = None,
    ) -> None:
        self.name = url.rstrip("/")
        self._parts = urlsplit(self.name)
        try:
            usable = self._parts.scheme in {"http", "https"} and bool(self._parts.hostname)
            _ = self._parts.port
        except ValueError:
            usable = False
        if not usable:
            raise HewError(f"{url}: --engine wants http://HOST:PORT or https://..., maybe with a path before /api/v1")
        if self._parts.username or self._parts.password:
            raise HewError("--engine: no password in the address, where others see it: use --token-file")
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
        """To the minute; None if there is none of the last ten: to look further back takes large engines long."""
        match = ",".join(f"{name}={_quoted(value)}" for name, value in self._match)
        text = f"max(max_over_time(timestamp(hew_allocated_bytes{{{match}}})[10m:1m]))"
        rows = self._rows("query", {"query": text, "time": f"{time.time():.3f}"})
        line = _line(rows[0], Query("", by=())) if rows else None
        return line.points[0][1] if line is not None and line.points else None

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
        """The status and the body; once more where a connection that rested was closed."""
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


def _line(row: Any, query: Query) -> Line | None:
    """A row of the answer; None for what is none. Values that cannot be are left out."""
    try:
        labels = tuple(str(row["metric"].get(name, "")) for name in query.by)
        pairs = [(float(at), float(value)) for at, value in row.get("values") or [row["value"]]]
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    return Line(labels, tuple((at, value) for at, value in pairs if possible(query.series, value)))


def _plain(text: str) -> str:
    """One line, without what a terminal would obey."""
    return " ".join("".join(one if one.isprintable() else " " for one in text).split())[:MOST_SAID]
