# SPDX-License-Identifier: MIT
"""Sends the queue to an engine (Prometheus remote write 1.0, or profiles), one batch at a time, until it is accepted.

2xx means accepted. 4xx except 429 is final: the batch is dropped, with a message. After any other answer, or none, the
batch is sent again later. Redirects are not followed: they would send the token to another host.
"""

import contextlib
import http.client
import random
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import field
from urllib.parse import urlsplit

from hew.model.errors import HewError
from hew.model.lazy_dataclass import dataclass
from hew.sources.export.queue import Batch, Queue

FIRST_PAUSE, LONGEST_PAUSE = 0.25, 30.0
LONGEST_WISH = 300.0  # seconds of a Retry-After that we obey
MOST_ANSWER = 1 << 16
QUIET = 60.0  # seconds between two lines about batches that were dropped
HEADERS = {
    "Content-Type": "application/x-protobuf",
    "Content-Encoding": "snappy",
    "X-Prometheus-Remote-Write-Version": "0.1.0",
    "User-Agent": "hew-export",
}


@dataclass(frozen=True)
class Engine:
    """Where to send. `timeout`: seconds for one request, from the connection to the end of the answer. `called`,
    `things` and `option` are for what is said of it."""

    url: str
    token: str = ""
    timeout: float = 30.0
    headers: Mapping[str, str] = field(default_factory=lambda: HEADERS)
    called: str = "remote write"
    things: str = "samples"
    option: str = "--remote-write"

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            sound = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        except ValueError:  # brackets that do not match, a port that is none
            sound = False
        if not sound:
            raise HewError(f"{self.url}: {self.option} wants http://HOST:PORT/PATH or https://...")
        if parts.username or parts.password:
            raise HewError(f"{self.option}: no password in the address, where others see it: give a token in a file")


class Sender:
    """A thread's work: `run` until `stop`."""

    def __init__(self, engine: Engine, queue: Queue, say: Callable[[str], None]) -> None:
        self._engine, self._queue, self._say = engine, queue, say
        self._stopped = threading.Event()
        self._connection: http.client.HTTPConnection | None = None
        self._pause = FIRST_PAUSE
        self._failing = False
        self._said_dropped = float("-inf")

    def run(self) -> None:
        """Send until stopped."""
        while not self._stopped.is_set():
            try:
                batch = self._queue.oldest(patience=0.2)
                if batch is not None:
                    self._step(batch)
            except OSError as error:  # of the queue's folder: what was sent and could not be taken out is sent again
                self._again(f"the queue: {error}", None)
        self._hang_up()

    def stop(self) -> None:
        """End soon; what waits stays on disk."""
        self._stopped.set()

    def _step(self, batch: Batch) -> None:
        used = self._connection is not None
        try:
            status, text, wish = self._post(batch.body)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self._hang_up()
            self._queue.replay()
            # A connection that has rested may have been closed by the other side: that says nothing of the engine.
            self._again(f"{type(error).__name__}: {error}" if not str(error) else str(error), None, at_once=used)
            return
        if 200 <= status < 300:
            self._taken(batch)
        elif 400 <= status < 500 and status != 429:
            self._rejected(batch, status, text)
        else:
            self._again(f"status {status} {text}".rstrip(), wish)

    def _taken(self, batch: Batch) -> None:
        self._queue.acknowledge(batch)
        self._pause = FIRST_PAUSE
        if self._failing:
            self._failing = False
            self._say(f"{self._engine.called}: the engine takes {self._engine.things} again")

    def _rejected(self, batch: Batch, status: int, text: str) -> None:
        self._queue.reject(batch)
        self._pause = FIRST_PAUSE
        if time.monotonic() - self._said_dropped >= QUIET:
            self._said_dropped = time.monotonic()
            lost = f"{batch.samples} {self._engine.things} dropped"
            self._say(f"{self._engine.called}: {lost}, the engine refuses them: status {status} {text}")

    def _again(self, why: str, wish: float | None, at_once: bool = False) -> None:
        self._queue.retried()
        if at_once:
            return
        if not self._failing:
            self._failing = True
            self._say(f"{self._engine.called}: the engine takes nothing, {self._engine.things} wait on disk: {why}")
        self._stopped.wait(wish if wish is not None else self._pause * random.uniform(0.5, 1.0))  # noqa: S311
        self._pause = min(self._pause * 2, LONGEST_PAUSE)

    def _post(self, body: bytes) -> tuple[int, str, float | None]:
        parts = urlsplit(self._engine.url)
        headers = dict(self._engine.headers)
        if self._engine.token:
            headers["Authorization"] = f"Bearer {self._engine.token}"
        connection = self._connection
        if connection is None:
            kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
            connection = kind(parts.hostname or "", parts.port, timeout=self._engine.timeout)
            connection.connect()
            self._connection = connection
        # A peer that sends a byte now and then would never run into the socket's own limit.
        watchdog = threading.Timer(self._engine.timeout, _cut, (connection.sock,))
        watchdog.daemon = True
        watchdog.start()
        try:
            target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            connection.request("POST", target, body, headers)
            answer = connection.getresponse()
            text = answer.read(MOST_ANSWER)
            if answer.read(1):
                raise http.client.HTTPException("an answer without end")
        finally:
            watchdog.cancel()
        if answer.will_close:
            self._hang_up()
        return answer.status, _line(text), _wish(answer.headers.get("Retry-After"))

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _cut(connection: socket.socket) -> None:
    """End a request from another thread: the thread that reads the connection sees its end."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def _line(text: bytes) -> str:
    """The beginning of an answer as one line that is safe to print."""
    return "".join(one if one.isprintable() else " " for one in text[:200].decode(errors="replace")).strip()


def _wish(text: str | None) -> float | None:
    return min(float(text), LONGEST_WISH) if text is not None and text.isdecimal() else None
