# SPDX-License-Identifier: MIT
"""Asks many processes for their statistics at the same time, in one thread, with one deadline for all of them.

A process that does not answer delays no other, and occupies only its own place. The size of answers is bounded. Only
the process itself can answer: the kernel names the listening process, so a path to another one is not followed.
"""

import re
import selectors
import socket
import struct
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import field

from hew.model.lazy_dataclass import dataclass
from hew.sources.control import open_socket
from hew.sources.export import reasons

AT_ONCE = 128  # connections; each is a descriptor here and a place there
MOST_ANSWER = 8 << 20  # bytes of one answer: statistics with 400 arenas
MOST_TOGETHER = 64 << 20  # bytes of all answers that are on their way
PIECE = 1 << 18
AGAIN = 0.02  # seconds until a process that had no place for us is tried again
HEAD = re.compile(rb"(ok|error) \S{1,32} (\d{1,12})\n")
HEAD_MOST = 64


@dataclass(frozen=True)
class Answer:
    """A process's statistics, or why there are none (`reason`)."""

    pid: int
    body: bytes = b""
    reason: str = ""


@dataclass
class _Open:
    pid: int
    connection: socket.socket
    data: bytearray = field(default_factory=bytearray)


class _Asking:
    """All connections of one look."""

    def __init__(self, request: bytes) -> None:
        self._request = request
        self._selector = selectors.DefaultSelector()
        self.open: dict[int, _Open] = {}
        self._bytes = 0

    def begin(self, pid: int, path: str) -> Answer | None:
        """Send the request. BlockingIOError: not now."""
        try:
            connection = open_socket(pid, path, patience=0)
        except BlockingIOError:
            raise
        except PermissionError:
            return Answer(pid, reason=reasons.DENIED)
        except OSError:
            return Answer(pid, reason=reasons.HUNG_UP)
        one = self.open[pid] = _Open(pid, connection)
        if _peer(connection) != pid:
            return self._end(one, reason=reasons.DENIED)
        try:
            connection.send(self._request)
        except OSError:
            return self._end(one, reason=reasons.HUNG_UP)
        self._selector.register(connection, selectors.EVENT_READ, one)
        return None

    def wait(self, seconds: float) -> Iterator[Answer]:
        """The answers that are whole by then; returns at the first movement."""
        for key, _ in self._selector.select(max(seconds, 0)):
            answer = self._read(key.data)
            if answer is not None:
                yield answer

    def _read(self, one: _Open) -> Answer | None:
        try:
            piece = one.connection.recv(PIECE)
        except BlockingIOError:
            return None
        except OSError:
            piece = b""
        one.data += piece
        self._bytes += len(piece)
        return self._judged(one) if piece else self._end(one, reason=reasons.HUNG_UP)

    def _judged(self, one: _Open) -> Answer | None:
        """What has come so far as an answer; None: it is not whole yet."""
        head = HEAD.match(one.data)
        if head is None:
            known = b"\n" not in one.data[:HEAD_MOST] and len(one.data) < HEAD_MOST
            return None if known else self._end(one, reason=reasons.GARBAGE)
        size = int(head[2])
        if size > MOST_ANSWER or self._bytes > MOST_TOGETHER:
            return self._end(one, reason=reasons.TOO_LARGE)
        if len(one.data) <= head.end() + size:
            return None
        if head[1] == b"error":
            return self._end(one, reason=reasons.REFUSED)
        return self._end(one, bytes(one.data[head.end() : head.end() + size]))

    def _end(self, one: _Open, body: bytes = b"", reason: str = "") -> Answer:
        if one.connection in self._selector.get_map():
            self._selector.unregister(one.connection)
        one.connection.close()
        del self.open[one.pid]
        self._bytes -= len(one.data)
        return Answer(one.pid, body, reason)

    def close(self) -> None:
        """End what is still open."""
        for one in list(self.open.values()):
            self._end(one)
        self._selector.close()


def ask_all(places: Mapping[int, str], letters: str, seconds: float) -> Iterator[Answer]:
    """The statistics of processes, by the paths of their sockets, as they come; later than `seconds` is a timeout."""
    deadline = time.monotonic() + seconds
    waiting = deque(places.items())
    asking = _Asking(f"stats {letters}\n".encode())
    try:
        while (waiting or asking.open) and (left := deadline - time.monotonic()) > 0:
            refused = False
            for _ in range(min(len(waiting), AT_ONCE - len(asking.open))):
                pid, path = waiting.popleft()
                try:
                    answer = asking.begin(pid, path)
                except BlockingIOError:
                    waiting.append((pid, path))
                    refused = True
                    continue
                if answer is not None:
                    yield answer
            if asking.open or refused:
                yield from asking.wait(min(left, AGAIN) if refused else left)
        late = [*asking.open, *(pid for pid, _ in waiting)]
    finally:
        asking.close()
    for pid in late:
        yield Answer(pid, reason=reasons.TIMEOUT)


def _peer(connection: socket.socket) -> int:
    """The process that listens at the other end."""
    pid, _, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return int(pid)
