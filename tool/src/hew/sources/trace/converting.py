# SPDX-License-Identifier: MIT
"""Converts recordings of heaptrack (interpreted or raw) and glibc's mtrace to traces, and packs our own traces.

The trace lacks what the recordings lack. heaptrack and mtrace have no threads and no alignments. heaptrack records a
realloc as a free and an allocation. An interpreted recording has the size and stack of a freed object, not its
identity: the youngest such object is assumed.
"""

import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from hew.model.errors import HewError
from hew.model.trace import TraceSummary
from hew.sources.packed import DAMAGED, unpacked
from hew.sources.trace.blocks import MAGIC, pack
from hew.sources.trace.recorder import check_place, finish
from hew.sources.trace.running import writer_of
from hew.sources.trace.writing import TraceWriter

HEAPTRACK = re.compile(rb"v [0-9a-f]{1,8}( [0-9a-f]{1,4})?\s*$")
MTRACE = b"= Start"
LONGEST_LINE = 1 << 16
SIZED_TEXTS = 3  # since this version of heaptrack's format
MOST_SIZES = 8_000_000
# `@ PLACE + 0xADDRESS 0xSIZE`, the place with any name in it; without a place where none was found
MTRACE_LINE = re.compile(rb"(?:@ .* )?([-+<>]) (0x[0-9a-f]{1,16}|\(nil\))(?: (0x[0-9a-f]{1,16}|0))?\s*$")


def convert(source: Path, output: Path) -> tuple[TraceSummary, int]:
    """The trace, packed, and how many frees of unknown objects were left out."""
    if not source.is_file():
        raise HewError(f"{source}: no such file" if not source.exists() else f"{source}: no file, as a recording is")
    check_place(output)
    try:
        with source.open("rb") as file:
            if file.read(len(MAGIC)) == MAGIC:
                return _packed(source, output), 0
        with unpacked(source) as stream:
            return _converted(stream, source, output)
    except DAMAGED as error:
        output.unlink(missing_ok=True)
        raise HewError(f"{source}: it is damaged: {error}") from error


def _packed(source: Path, output: Path) -> TraceSummary:
    """Pack a trace of our own format that its process left open, or that is not yet packed."""
    if (pid := writer_of(source)) is not None:
        raise HewError(f"{source}: process {pid} still records into it")
    shutil.copyfile(source, output)
    try:
        return finish(output)
    except BaseException:
        output.unlink()
        raise


def _converted(stream: BinaryIO, source: Path, output: Path) -> tuple[TraceSummary, int]:
    with tempfile.NamedTemporaryFile(prefix=f".{output.name}.", dir=output.parent, delete=False) as to:
        made = Path(to.name)
        try:
            writer = TraceWriter(to)
            _fed(stream, source, writer)
            writer.close()
            to.close()
            if not writer.operations:
                raise HewError(f"{source}: there is no allocation in it")
            summary = pack(made)
            made.rename(output)
        except BaseException:
            made.unlink(missing_ok=True)
            raise
    return replace(summary, path=str(output)), writer.unknown


def _fed(stream: BinaryIO, source: Path, writer: TraceWriter) -> None:
    first = stream.readline(LONGEST_LINE)
    try:
        if head := HEAPTRACK.match(first):
            sized = int(head[1] or b"0", 16) >= SIZED_TEXTS
            program = _Heaptrack(writer).take_all(_lines(stream, source, sized))
            writer.about(program=program, allocator="heaptrack")
        elif first.startswith(MTRACE):
            _take_mtrace(_lines(stream, source), writer)
        else:
            raise HewError(f"{source}: no recording of hew, heaptrack or mtrace")
    except (ValueError, IndexError, OverflowError) as error:
        raise HewError(f"{source}: it is damaged: {error}") from error


def _lines(stream: BinaryIO, source: Path, sized: bool = False) -> Iterator[bytes]:
    """Line by line; names, which may be long, are passed over. `sized`: they have their length before them, since there
    may be line ends in them."""
    while line := stream.readline(LONGEST_LINE):
        if sized and line[:2] in {b"s ", b"x "}:
            length, _, text = line[2:].partition(b" ")
            left = int(length, 16) + 1 - len(text)
            while left > 0 and (more := stream.read(min(left, LONGEST_LINE))):
                left -= len(more)
            continue
        if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
            if line[:1] in b"+-acRtiT":
                raise HewError(f"{source}: it is damaged: it has a line of {LONGEST_LINE:,} bytes")
            while line and not line.endswith(b"\n"):  # of a name
                line = stream.readline(LONGEST_LINE)
            continue
        yield line


class _Heaptrack:
    """Lines of a letter and numbers in hexadecimal. `+ SIZE STACK ADDRESS` and `- ADDRESS` are raw; interpreted ones
    name a row of `a SIZE STACK`, from 0 on. `c` is the time in milliseconds."""

    def __init__(self, writer: TraceWriter) -> None:
        self._writer = writer
        self._sizes: list[int] = []
        self._live: dict[int, int] = {}  # how many of a row

    def take_all(self, lines: Iterator[bytes]) -> str:
        """The program's path."""
        program = ""
        for line in lines:
            letter = line[:2]
            if letter == b"+ ":
                self._made([int(word, 16) for word in line[2:].split()])
            elif letter == b"- ":
                self._ended(int(line[2:], 16))
            elif letter == b"a ":
                if len(self._sizes) >= MOST_SIZES:
                    raise ValueError(f"more than {MOST_SIZES:,} sizes")
                self._sizes.append(int(line[2:].split()[0], 16))
            elif letter == b"c ":
                self._writer.at(int(line[2:], 16) * 1000)
            elif letter == b"X ":
                program = line[2:].decode(errors="replace").strip()
        return program

    def _made(self, words: list[int]) -> None:
        if len(words) == 3:
            self._writer.made(words[2], words[0])
            return
        (row,) = words
        if row < 0:
            raise ValueError("a row below 0")
        count = self._live.get(row, 0)
        self._writer.made((row, count), self._sizes[row])
        self._live[row] = count + 1

    def _ended(self, key: int) -> None:
        if not self._sizes:
            self._writer.ended(key)
            return
        count = self._live.get(key, 0) - 1
        if count < 0:
            self._writer.unknown += 1
            return
        self._writer.ended((key, count))
        self._live[key] = count


def _take_mtrace(lines: Iterator[bytes], writer: TraceWriter) -> None:
    """`+` is a malloc, `-` a free, `<` and then `>` a realloc. Other lines (`= End`; `!`, a failure) do not change the
    live objects."""
    old: bytes | None = None
    for line in lines:
        found = MTRACE_LINE.match(line)
        if found is None:
            if line[:1] in b"@+-<>" and b" ! " not in line and line.endswith(b"\n"):
                raise ValueError(f"{line[:60]!r} is no line of mtrace")
            old = None
            continue
        sign, address, size = found[1], found[2], int(found[3] or b"0", 16)
        if sign == b"-":
            writer.ended(address)
        elif sign == b"<":
            old = address
        elif sign == b">" and old is not None:
            writer.resized(old, address, size)
            old = None
        else:
            writer.made(address, size)
