# SPDX-License-Identifier: MIT
"""Headers of trace files (docs/trace.md), and packing: each block's payload as a zstd frame of its own."""

import os
import struct
import tempfile
import zlib
from collections.abc import Callable, Container, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import cramjam

from hew.model.errors import HewError
from hew.model.lazy_dataclass import dataclass
from hew.model.trace import ENDED, FULL, TraceSummary

HEADER = struct.Struct("<8sIIQIIIIII16x")
BLOCK = struct.Struct("<IBBBxIIIIIIQQQII")
MAGIC = b"hewtrace"
VERSION = 4  # 1 does not tell what was touched, 2 has no tree of stacks, 3 no samples; all are read
BLOCK_MAGIC = 0x31425748
OPERATIONS, INFO, MODULES, NODES, NAMES, THREADS = 1, 2, 3, 4, 5, 7
STORED, ZSTD = 0, 1
CLOSED = 1
LENGTH_MAX = 1 << 24
MAGIC_BYTES = struct.pack("<I", BLOCK_MAGIC)
ALIGNED = 8  # bytes: where blocks begin
PAGE = 4096
LEVEL = 3


@dataclass(frozen=True)
class Header:
    """A file's header."""

    first_block: int
    pid: int
    flags: int
    bytes: bytes


@dataclass(frozen=True)
class Block:
    """A block's header, as it stands in the file."""

    kind: int
    codec: int
    state: int
    room: int
    length: int
    stored: int
    checksum: int
    thread: int
    sequence: int
    number: int
    ticket: int
    time: int
    operations: int

    def packed(self) -> bytes:
        """The header's 64 bytes, with their checksum."""
        words = [BLOCK_MAGIC, self.kind, self.codec, self.state, self.room, self.length, self.stored, self.checksum]
        words += [self.thread, self.sequence, self.number, self.ticket, self.time, self.operations]
        first = BLOCK.pack(*words, 0)[:-4]
        return first + struct.pack("<I", zlib.crc32(first))


# Written in place of a damaged block: every reader finds it damaged, too.
DAMAGED = Block(OPERATIONS, STORED, CLOSED, BLOCK.size, 0, 0, 1, 0, 0, 0, 0, 0, 0).packed()


def read_header(file: BinaryIO, path: Path) -> Header:
    """The file's header. Raises HewError for what is no trace of this version."""
    file.seek(0)
    first = file.read(HEADER.size)
    if len(first) < HEADER.size or not first.startswith(MAGIC):
        raise HewError(f'{path}: no trace of hew record: it does not begin with "hewtrace"')
    _, version, first_block, _, pid, flags, *_ = HEADER.unpack(first)
    if not 1 <= version <= VERSION:
        raise HewError(f"{path}: a trace of version {version}: this hew reads versions 1 to {VERSION}")
    if not HEADER.size <= first_block <= max(file.seek(0, os.SEEK_END), HEADER.size):
        raise HewError(f"{path}: damaged: its first block is said to lie outside of the file")
    return Header(first_block, pid, flags, first)


def read_blocks(
    file: BinaryIO, header: Header, lost: Callable[[], object] = lambda: None, unread: Container[int] = ()
) -> Iterator[tuple[Block, bytes]]:
    """Each block that has an end, with its payload as it is stored. `lost` is called where damage is passed over.
    Payloads of the kinds in `unread` are skipped and not checked: they are most of a file."""
    size = file.seek(0, os.SEEK_END)
    at, astray = header.first_block, False
    while at + BLOCK.size <= size:
        file.seek(at)
        found = _block(file.read(BLOCK.size))
        if found is None or found.stored > found.room - BLOCK.size:
            if not astray:
                lost()
            astray = True
            at = _next_magic(file, at // ALIGNED * ALIGNED + ALIGNED, size)
            continue
        astray = False
        if found.kind in unread:
            yield found, b""
            at += found.room
            continue
        payload = file.read(found.stored)
        if zlib.crc32(payload) == found.checksum:
            yield found, payload
        else:
            lost()
        at += found.room
    if at != size and not astray:
        lost()


def _next_magic(file: BinaryIO, at: int, size: int) -> int:
    """Where the next block may begin; the file's size where none does."""
    while at < size:
        file.seek(at)
        piece = file.read(PAGE)
        place = piece.find(MAGIC_BYTES)
        while place >= 0 and place % ALIGNED:
            place = piece.find(MAGIC_BYTES, place + 1)
        if place >= 0:
            return at + place
        at += PAGE
    return size


def _block(first: bytes) -> Block | None:
    magic, *words, checksum = BLOCK.unpack(first)
    if magic != BLOCK_MAGIC or zlib.crc32(first[:-4]) != checksum:
        return None
    found = Block(*words)
    if found.state != CLOSED or found.room < BLOCK.size or max(found.length, found.stored) > LENGTH_MAX:
        return None
    return found


def decoded(block: Block, payload: bytes) -> bytes:
    """A payload as it was written. Raises HewError when it is not as long as its header says."""
    if block.codec == STORED:
        return payload
    if block.codec != ZSTD:
        raise HewError(f"a block is packed by method {block.codec}, which this hew does not know")
    room = bytearray(block.length)  # not one byte more, whatever the frame says
    try:
        length = cramjam.zstd.decompress_into(payload, room) if block.length else 0
    except (cramjam.DecompressionError, ValueError) as error:
        raise HewError(f"a block cannot be unpacked: {error}") from error
    if length != block.length:
        raise HewError(f"a block unpacks to {length} bytes, not to the {block.length} that its header says")
    return bytes(room)


def pack(path: Path) -> TraceSummary:
    """Packs a finished trace in place: a new file takes its name once it is whole. Returns what is in it."""
    operations, raw, seconds, threads, program = 0, 0, 0.0, set(), ""
    with path.open("rb") as file, _replacement(path) as to:
        header = read_header(file, path)
        to.write(header.bytes[:12] + struct.pack("<I", HEADER.size) + header.bytes[16:])
        for block, payload in read_blocks(file, header):
            plain = decoded(block, payload)
            _put(to, block, plain)
            if block.kind == OPERATIONS:
                operations += block.operations
                raw += len(plain)
                seconds = max(seconds, block.time / 1e6)
                threads.add(block.thread)
            elif block.kind == INFO and not program:
                program = info(plain).get("program", "")
        size = to.tell()
    ended, full = bool(header.flags & ENDED), bool(header.flags & FULL)
    return TraceSummary(str(path), header.pid, program, operations, len(threads), seconds, raw, size, ended, full)


def operations_of(path: Path) -> int:
    """How many operations the blocks' headers say that a trace has; 0 where it cannot be read, which others report."""
    try:
        with path.open("rb") as file:
            header = read_header(file, path)
            blocks = read_blocks(file, header, unread=(OPERATIONS,))
            return sum(block.operations for block, _ in blocks if block.kind == OPERATIONS)
    except (HewError, OSError):
        return 0


def info(payload: bytes) -> dict[str, str]:
    """The lines of an INFO block."""
    pairs = (line.partition("=") for line in payload.decode(errors="replace").splitlines())
    return {name: value for name, _, value in pairs}


def unpack(path: Path, to: BinaryIO) -> None:
    """Writes a trace without packed blocks, for programs that read only those."""
    with path.open("rb") as file:
        header = read_header(file, path)
        to.write(header.bytes[:12] + struct.pack("<I", HEADER.size) + header.bytes[16:])
        for block, payload in read_blocks(file, header, lambda: to.write(DAMAGED)):
            plain = decoded(block, payload)
            room = (BLOCK.size + len(plain) + 7) & ~7
            to.write(replace(block, codec=STORED, stored=len(plain), room=room, checksum=zlib.crc32(plain)).packed())
            to.write(plain.ljust(room - BLOCK.size, b"\0"))
    to.flush()


def is_packed(path: Path) -> bool:
    """Whether any block of it is."""
    with path.open("rb") as file:
        header = read_header(file, path)
        return any(block.codec != STORED for block, _ in read_blocks(file, header, unread=(OPERATIONS,)))


def _put(to: BinaryIO, block: Block, plain: bytes) -> None:
    small = bytes(cramjam.zstd.compress(plain, level=LEVEL)) if plain else b""
    codec = ZSTD if len(small) < len(plain) else STORED
    stored = small if codec == ZSTD else plain
    room = (BLOCK.size + len(stored) + 7) & ~7
    changed = replace(block, codec=codec, room=room, length=len(plain), stored=len(stored), checksum=zlib.crc32(stored))
    to.write(changed.packed())
    to.write(stored.ljust(room - BLOCK.size, b"\0"))


class _replacement:  # noqa: N801 - used as a function
    """A file beside `path` that takes its place when all went well."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> BinaryIO:
        number, name = tempfile.mkstemp(prefix=f".{self._path.name}.", dir=self._path.parent)
        self._name = Path(name)
        self._file = os.fdopen(number, "wb")
        return self._file

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            self._file.close()
            if kind is None:
                self._name.replace(self._path)
        finally:
            with suppress(FileNotFoundError):
                self._name.unlink()
