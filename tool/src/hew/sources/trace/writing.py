# SPDX-License-Identifier: MIT
"""Writes a trace of one thread, block after block, as docs/trace.md describes it. Not packed: `pack` does that."""

import time
import zlib
from collections.abc import Hashable
from typing import IO

from hew.model.trace import ENDED
from hew.sources.trace.blocks import BLOCK, CLOSED, HEADER, INFO, MAGIC, OPERATIONS, STORED, VERSION, Block

MALLOC, CALLOC, FREE, REALLOC, ALIGNED = 1, 2, 3, 5, 7
SYNC = 1
ROOM = 1 << 16  # bytes of a block's payload
BATCH_OPERATIONS, BATCH_MICROSECONDS = 64, 100
LARGEST = (1 << 64) - 1


def number(bits: int, low: int, value: int) -> bytes:
    """A number that begins in `bits` bits of a byte, with `low` below them."""
    direct, shift = (1 << bits) - 4, 8 - bits
    if value < direct:
        return bytes((value << shift | low,))
    lg = 0 if value < 1 << 8 else 1 if value < 1 << 16 else 2 if value < 1 << 32 else 3
    return bytes(((direct + lg) << shift | low,)) + value.to_bytes(1 << lg, "little")


class TraceWriter:
    """Objects are known by keys of the caller's choice, which may be used again once their object has ended."""

    def __init__(self, to: IO[bytes], pid: int = 0) -> None:
        self._to = to
        self._live: dict[Hashable, int] = {}
        self._made = self._ticket = self._time = 0  # before the next operation
        self._sequence, self._left = 0, 0
        self._payload = bytearray()
        self._operations, self._before = 0, (0, 0, 0)
        self.operations = self.unknown = 0
        started = time.time_ns()
        to.write(
            HEADER.pack(MAGIC, VERSION, HEADER.size, started, pid, ENDED, BATCH_OPERATIONS, BATCH_MICROSECONDS, 1, 0)
        )

    def about(self, **facts: str) -> None:
        """What is known of the program: `command`, `program`, `allocator`."""
        lines = "".join(f"{name}={' '.join(value.split())}\n" for name, value in facts.items())
        self._put(INFO, lines.encode(), 0)

    def at(self, microseconds: int) -> None:
        """What follows came so long after the start; time never runs back."""
        if microseconds > self._time:
            self._sync(microseconds - self._time)

    def made(self, key: Hashable, size: int, code: int = MALLOC) -> None:
        """An allocation. An object that has the key still was lost sight of: it ends here."""
        _checked(size)
        if key in self._live:
            self.ended(key)
        self._begin()
        self._payload += number(5, code, size)
        self._live[key] = self._made
        self._made += 1

    def ended(self, key: Hashable) -> None:
        """A free; of what is not known nothing is written, and it is counted."""
        known = self._live.pop(key, None)
        if known is None:
            self.unknown += 1
            return
        self._begin()
        self._payload += number(5, FREE, self._made - known)

    def resized(self, old: Hashable, key: Hashable, size: int) -> None:
        """A realloc."""
        known = self._live.pop(old, None)
        if known is None:
            self.made(key, size)
            return
        _checked(size)
        if key in self._live:
            self.ended(key)
        self._begin()
        self._payload += number(5, REALLOC, self._made - known) + number(8, 0, size)
        self._live[key] = self._made
        self._made += 1

    def close(self) -> None:
        """All is in the file then."""
        if self._payload:
            self._end_block()

    def _begin(self) -> None:
        """Room for one more operation, in a batch that may have one."""
        if len(self._payload) >= ROOM:
            self._end_block()
        if self._left == 0 or not self._payload:
            self._sync(0)
        self._left -= 1
        self._operations += 1

    def _sync(self, microseconds: int) -> None:
        if not self._payload:
            self._before = (self._made, self._ticket, self._time)
        self._payload += bytes((SYNC << 3,)) + number(8, 0, 1) + number(8, 0, microseconds)
        self._ticket += 1
        self._time += microseconds
        self._left = BATCH_OPERATIONS

    def _end_block(self) -> None:
        self._put(OPERATIONS, bytes(self._payload), self._operations)
        self._sequence += 1
        self.operations += self._operations
        self._payload.clear()
        self._operations = self._left = 0

    def _put(self, kind: int, payload: bytes, operations: int) -> None:
        room = (BLOCK.size + len(payload) + 7) & ~7
        ours = (self._sequence, *self._before) if kind == OPERATIONS else (0, 0, 0, 0)
        size = len(payload)
        block = Block(kind, STORED, CLOSED, room, size, size, zlib.crc32(payload), 0, *ours, operations)
        self._to.write(block.packed() + payload.ljust(room - BLOCK.size, b"\0"))


def _checked(size: int) -> None:
    if not 0 <= size <= LARGEST:
        raise ValueError(f"an object of {size} bytes")
