# SPDX-License-Identifier: MIT
"""The file of `hew watch`, as lines: consecutive gzip members, each with a first line that says what it is.

Every line ends with a flush, so a file reads to its last whole line, even after its writer was killed or while it is
still written. A member holds a few dozen lines. If a writer was killed, the next writer ends its last member. At half
of the allowed bytes the file becomes the older half, FILE.1, and replaces the one before.

docs/decisions/0058 has the format.
"""

import json
import os
import re
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import field
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from hew.model.errors import HewError
from hew.model.lazy_dataclass import dataclass
from hew.sources.lock_file import locked

FORMAT, VERSION = "hew-watch", 1
GZIP, WBITS = b"\x1f\x8b", 31
CHUNK = 1 << 16
LINES = 64  # in a block
MOST_LINE, MOST_BLOCK = 16 << 20, 256 << 20  # bytes; longer is none of ours
TAIL = 64  # bytes, at most, that end a block
FLUSHED, LAST_PIECE = b"\x00\x00\xff\xff", b"\x03\x00"  # what a flush ends with; an empty last piece (RFC 1951)


Read = TypeVar("Read")


class ForeignError(HewError):
    """The file is not ours, or of a newer hew."""


@dataclass
class Block:
    """One member, or what there is of it: its lines, without the head's line."""

    start: int
    lines: list[bytes] = field(default_factory=list)
    whole: bool = False
    broken: str = ""


def older(path: Path) -> Path:
    """The older half."""
    return path.with_name(path.name + ".1")


def is_recording(path: Path) -> bool:
    """Whether a file begins as ours do, as far as it goes."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        head = file.read(CHUNK)
    decoder, ours = zlib.decompressobj(WBITS), f'{{"format":"{FORMAT}/'.encode()
    try:
        text = decoder.decompress(head, 64)
    except zlib.error:
        return False
    return text.startswith(ours) or (bool(head) and not decoder.eof and ours.startswith(text))


def blocks(path: Path) -> Iterator[Block]:
    """The blocks of one file, as far as it can be read; the last one may not be whole, or say how it is broken."""
    with path.open("rb") as file:
        start, data = 0, file.read(CHUNK)
        while data:
            block, data, end = _block(path, file, start, data)
            yield block
            if not block.whole:
                return
            start, data = end, data or file.read(CHUNK)


def _block(path: Path, file: BinaryIO, start: int, data: bytes) -> tuple[Block, bytes, int]:
    """A block that begins with `data`; what was read behind it; where it ends."""
    decoder, block = zlib.decompressobj(WBITS), Block(start)
    seam, end, size = b"", start, 0
    lines: list[bytes] = []
    try:
        while data and not decoder.eof:
            end += len(data)
            for piece in _pieces(decoder, data):
                *more, seam = (seam + piece).split(b"\n")
                lines += more
                size += len(piece)
                if len(seam) > MOST_LINE or size > MOST_BLOCK:
                    raise zlib.error("it is too long")
            data = b"" if decoder.eof else file.read(CHUNK)
    except zlib.error as error:
        block.broken = f"damaged between the bytes {start} and {end} ({error})"
    if lines:
        _check_head(path, lines.pop(0))
        block.whole = decoder.eof and not block.broken
    block.lines = lines
    return block, decoder.unused_data, end - len(decoder.unused_data)


def _pieces(decoder: "zlib._Decompress", data: bytes) -> Iterator[bytes]:
    """What the data unpacks to, never much of it at a time."""
    piece = b""
    while not decoder.eof and (data or len(piece) == CHUNK):  # behind the end its unconsumed tail is not emptied
        piece = decoder.decompress(data, CHUNK)
        yield piece
        data = decoder.unconsumed_tail


def _check_head(path: Path, line: bytes) -> None:
    try:
        name, _, version = str(json.loads(line)["format"]).partition("/")
    except (ValueError, TypeError, LookupError, RecursionError):
        name = version = ""
    if name != FORMAT or not re.fullmatch("[0-9]{1,9}", version):
        raise ForeignError(f"{path} is no recording of hew watch")
    if int(version) > VERSION:
        raise ForeignError(f"{path} is of a newer hew ({name}/{version}; this one reads {name}/{VERSION}): update hew")


def read_as(path: Path, made: Callable[[bytes], Read]) -> tuple[list[Read], list[str]]:
    """What is made of each line, the oldest first, and what was wrong with them. No more than one block's lines are
    kept, which unpacked are a hundred times as long; `made` may be called for a line twice."""
    while True:
        before = _identity(older(path))
        found = _read_both(path, made)
        if _identity(older(path)) == before:  # else it was turned meanwhile, and a half has been missed
            return found


def _read_both(path: Path, made: Callable[[bytes], Read]) -> tuple[list[Read], list[str]]:
    halves = [half for half in (older(path), path) if is_recording(half)]
    if not halves or (path.exists() and path not in halves and path.stat().st_size):
        raise ForeignError(f"{path} is no recording of hew watch" if path.exists() else f"there is no file {path}")
    lines: list[Read] = []
    notes: list[str] = []
    for block in (block for half in halves for block in blocks(half)):
        lines += map(made, block.lines)
        if block.broken:
            notes.append(f"{path.name} is {block.broken}: what comes before that was read")
    return lines, notes


def _identity(path: Path) -> int:
    return path.stat().st_ino if path.exists() else 0


def _ending(data: bytes) -> tuple[int, bytes, int]:
    """For a truncated block: the length of its flushed lines, the bytes that end it there, and the number of lines.
    Lines are not rewritten, so a second kill loses none either."""
    at = data.rfind(FLUSHED)
    while at >= 0:
        kept = at + len(FLUSHED)
        try:
            text = zlib.decompressobj(WBITS).decompress(data[:kept])
            end = LAST_PIECE + struct.pack("<II", zlib.crc32(text), len(text) & 0xFFFFFFFF)
            whole = zlib.decompressobj(WBITS)
            whole.decompress(data[:kept] + end)
        except zlib.error:  # it looked like a flush
            at = data.rfind(FLUSHED, 0, at)
            continue
        if whole.eof and text.endswith(b"\n"):
            return kept, end, text.count(b"\n") - 1
        at = data.rfind(FLUSHED, 0, at)
    return 0, b"", 0


class LineFile:
    """A file that is written, line by line, within so many bytes together with its older half. One writer has it."""

    def __init__(self, path: Path, most: int, head: dict[str, Any]) -> None:
        self._path, self._half = path, most // 2
        self._head = json.dumps({"format": f"{FORMAT}/{VERSION}", **head}, separators=(",", ":")).encode() + b"\n"
        self._file = locked(path, _taken(path))
        self._size = self._lines = 0
        self._encoder = zlib.compressobj(9, wbits=WBITS)
        try:
            self._resume()
        except BaseException:
            os.close(self._file)
            raise

    def _resume(self) -> None:
        """Go on behind the last whole block; one that is not whole is ended behind its last whole line."""
        last = Block(0, whole=True)
        self._size = os.fstat(self._file).st_size
        if self._size and not is_recording(self._path):
            raise ForeignError(f"{self._path} exists and is no recording of hew watch: give another file (-o)")
        for last in blocks(self._path):
            if last.broken:
                raise ForeignError(f"{self._path} is {last.broken}: move it away, or give another file (-o)")
        if not last.whole:
            kept, end, count = _ending(os.pread(self._file, self._size - last.start, last.start))
            self._size = last.start + kept
            os.ftruncate(self._file, self._size)
            self._write(end)
            for line in last.lines[count:]:  # one whose flush was cut
                self.put(line)

    def put(self, line: bytes) -> None:
        """One more line, without its end. OSError: it could not be written, and the file is as it was."""
        if not _is_same(self._path, self._file):
            raise HewError(f"{self._path} has been taken away or replaced: nothing is recorded any more")
        if self._lines >= LINES:
            self._finish()
        encoder, data = self._packed(line)
        if self._size and self._size + len(data) + TAIL > self._half:
            self._turn()
            encoder, data = self._packed(line)
        if self._size + len(data) + TAIL > self._half:
            raise HewError(f"one sample takes {len(data)} bytes: {self._path} needs more of them (--max)")
        self._write(data)
        self._encoder = encoder
        self._lines += 1

    def _packed(self, line: bytes) -> "tuple[zlib._Compress, bytes]":
        """A line's bytes, and what packs the next one when these have been written."""
        encoder = self._encoder.copy() if self._lines else zlib.compressobj(9, wbits=WBITS)
        data = b"" if self._lines else encoder.compress(self._head)
        return encoder, data + encoder.compress(line + b"\n") + encoder.flush(zlib.Z_SYNC_FLUSH)

    def _turn(self) -> None:
        """What is written becomes the older half."""
        self._finish()
        os.rename(self._path, older(self._path))  # noqa: PTH104
        full, self._file = self._file, locked(self._path, _taken(self._path))
        os.close(full)
        self._size = 0

    def _write(self, data: bytes) -> None:
        """All of it, or nothing."""
        done = 0
        try:
            while done < len(data):
                done += os.pwrite(self._file, data[done:], self._size + done)
        except OSError as error:
            os.ftruncate(self._file, self._size)
            raise OSError(error.errno, error.strerror, str(self._path)) from error
        self._size += len(data)

    def _finish(self) -> None:
        """End the block, if one is begun."""
        if self._lines:
            self._write(self._encoder.copy().flush())
            self._lines = 0

    def close(self) -> None:
        """End the last block, and leave the file to others."""
        try:
            self._finish()
        finally:
            os.close(self._file)


def _is_same(path: Path, file: int) -> bool:
    return path.exists() and os.path.samestat(path.stat(), os.fstat(file))


def _taken(path: Path) -> str:
    return f"{path}: another hew watch writes it; give another file (-o)"
