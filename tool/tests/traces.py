# SPDX-License-Identifier: MIT
"""Traces for tests, written from docs/trace.md alone: one thread, one block."""

import struct
import zlib
from collections.abc import Sequence
from pathlib import Path

MALLOC, FREE, REALLOC, ALIGNED = 1, 3, 5, 7
ENDED = 1
Operation = tuple[int, ...]


def number(bits: int, low: int, value: int) -> bytes:
    """A number that begins in `bits` bits, with `low` below them."""
    direct, shift = (1 << bits) - 4, 8 - bits
    if value < direct:
        return bytes([value << shift | low])
    lg = next(lg for lg in range(4) if value < 1 << (8 << lg))
    return bytes([(direct + lg) << shift | low]) + value.to_bytes(1 << lg, "little")


def operation(words: Operation) -> bytes:
    """(MALLOC, size), (FREE, distance), (REALLOC, distance, size), (ALIGNED, log2 of the alignment, size)."""
    code, first, *rest = words
    return number(5, code, first) + b"".join(number(8, 0, one) for one in rest)


def trace_of(path: Path, operations: Sequence[Operation], flags: int = ENDED) -> Path:
    """Write them as one batch of thread 0."""
    payload = bytes([1 << 3]) + number(8, 0, 1) + number(8, 0, 1000) + b"".join(map(operation, operations))
    header = struct.pack("<8sIIQIIIIII16x", b"hewtrace", 1, 64, 0, 1, flags, len(operations) + 1, 1000, 1, 0)
    room = -(-(64 + len(payload) + 1) // 8) * 8
    block = struct.pack(
        "<IBBBBIIIIIIQQQI", 0x31425748, 1, 0, 1, 0, room, len(payload), len(payload), zlib.crc32(payload),
        0, 0, 0, 0, 0, len(operations),
    )  # fmt: skip
    whole = block + struct.pack("<I", zlib.crc32(block)) + payload
    path.write_bytes(header + whole.ljust(room, b"\0"))
    return path
