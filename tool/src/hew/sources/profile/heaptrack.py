# SPDX-License-Identifier: MIT
"""Reads what heaptrack records (heaptrack.PROGRAM.PID.zst or .gz), as its interpreter writes it, versions 1 to 3.

A line has a letter and numbers in hexadecimal: `s` a text, `i` a place with its functions, `t` a place below another
trace, `a` a size at a trace, `+` and `-` an allocation and a free of such an `a`. Texts, places and traces count from 1
on.
"""

import re
from array import array
from collections.abc import Iterator
from typing import BinaryIO

from hew.model.errors import HewError
from hew.model.profile import FOLDED, Frame, Location, Profile, Stacks
from hew.sources.readable import readable

HEAD = re.compile(rb"v ([0-9a-f]{1,8}) ([0-9a-f]{1,4})\s*$")
NEWEST = 3
SIZED_TEXTS = 3  # since this version a text has its length before it
LONGEST_LINE = 1 << 20
MOST = 8_000_000  # of texts, places, functions, traces and sizes each
MOST_TEXT = 512 << 20  # bytes of all texts
DEEPEST = 512


def read_heaptrack(stream: BinaryIO, source: str) -> Profile:
    """A whole recording: all allocations, and the live objects at its end. Raises HewError for any other file."""
    head = HEAD.match(stream.readline(LONGEST_LINE))
    if head is None:
        raise HewError(f"{source}: no recording of heaptrack that its interpreter has been over")
    version = int(head[2], 16)
    if not 1 <= version <= NEWEST:
        raise HewError(f"{source}: heaptrack's format {version} is not known here, only 1 to {NEWEST}")
    reader = _Reader(source, version)
    try:
        for line in _lines(stream, source):
            reader.take(line, stream)
    except (ValueError, IndexError, OverflowError) as error:
        raise HewError(f"{source}: no recording of heaptrack: {error}") from error
    return reader.profile()


def _lines(stream: BinaryIO, source: str) -> Iterator[bytes]:
    while line := stream.readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE:
            raise HewError(f"{source}: no recording of heaptrack: it has a line of {LONGEST_LINE:,} bytes")
        yield line


def _numbers(text: bytes) -> list[int]:
    """The numbers of a line; int() would also accept a sign, and _."""
    if b"-" in text or b"_" in text or b"+" in text:
        raise ValueError(f"{text[:60]!r} is no number")
    return [int(word, 16) for word in text.split()]


class _Reader:
    def __init__(self, source: str, version: int) -> None:
        self.source, self.version = source, version
        self.texts: list[str] = [""]
        self.text_bytes = self.functions = 0
        self.places: list[Location] = []
        self.trace_place, self.trace_parent = array("I", [0]), array("I", [0])
        self.size, self.trace = array("Q"), array("I")
        self.made, self.live = array("q"), array("q")

    def take(self, line: bytes, stream: BinaryIO) -> None:
        """One line; what is of no use here is passed over."""
        letter, _, rest = line.partition(b" ")
        if letter == b"+":
            (at,) = _numbers(rest)
            self.made[at] += 1
            self.live[at] += 1
        elif letter == b"-":
            (at,) = _numbers(rest)
            self.live[at] -= 1
        elif letter == b"s":
            self._text(rest, stream)
        elif letter == b"i":
            self._place(_numbers(rest))
        elif letter == b"t":
            place, parent = _numbers(rest)
            if not 0 < place <= len(self.places) or not 0 <= parent < len(self.trace_place):
                raise ValueError("a trace of places that are not there")
            self._append(self.trace_place, place)
            self.trace_parent.append(parent)
        elif letter == b"a":
            size, trace = _numbers(rest)
            if not 0 <= trace < len(self.trace_place):
                raise ValueError("a size of a trace that is not there")
            self._append(self.size, size)
            self.trace.append(trace)
            self.made.append(0)
            self.live.append(0)

    def _append(self, rows: "array[int]", value: int) -> None:
        if len(rows) >= MOST:
            raise ValueError(f"more than {MOST:,} rows of a kind")
        rows.append(value)

    def _text(self, rest: bytes, stream: BinaryIO) -> None:
        if self.version >= SIZED_TEXTS:
            length, _, text = rest.partition(b" ")
            (size,) = _numbers(length)
            if size > LONGEST_LINE:
                raise ValueError("a text without end")
            if len(text) < size:  # it may have line ends in it
                text += stream.read(size - len(text))
            rest = text[:size]
        self.text_bytes += len(rest)
        if len(self.texts) > MOST or self.text_bytes > MOST_TEXT:
            raise ValueError(f"more than {MOST:,} texts, or {MOST_TEXT >> 20} MiB of them")
        self.texts.append(readable(rest.rstrip(b"\n").decode(errors="replace")))

    def _place(self, words: list[int]) -> None:
        """Address, module, and the functions, the innermost first: each has a file and a line, but where only its name
        is known."""
        address, module, rest = words[0], words[1], words[2:]
        self.functions += len(rest) // 3 + 1
        if self.functions > MOST:
            raise ValueError(f"more than {MOST:,} functions")
        frames = []
        for at in range(0, len(rest), 3):
            name, file, line = (*rest[at : at + 3], 0, 0)[:3]
            frames.append(Frame(self.texts[name] or "?", self.texts[file], line, inlined=at + 3 < len(rest)))
        if not frames:
            frames = [Frame(f"[{self.texts[module].rpartition('/')[2] or '?'} 0x{address:x}]")]
        if len(self.places) >= MOST or address >> 64:
            raise ValueError(f"more than {MOST:,} places, or wider addresses than there are")
        self.places.append(Location(address, None, tuple(frames)))

    def profile(self) -> Profile:
        """What has been read."""
        stacks = Stacks()
        for at, size in enumerate(self.size):
            made, live = self.made[at], max(self.live[at], 0)
            stacks.add(self._stack(self.trace[at]), (made, made * size, live, live * size))
        samples = stacks.samples(len(self.places))
        return Profile(self.source, samples, (*self.places, FOLDED), (), True, 1)

    def _stack(self, trace: int) -> list[int]:
        found: list[int] = []
        while trace and len(found) < DEEPEST:
            found.append(self.trace_place[trace] - 1)
            trace = self.trace_parent[trace]
        return found
