# SPDX-License-Identifier: MIT
"""Reads heap_v2, the text form of jemalloc and hew, line by line.

Counts are those of sampled objects; each line is corrected by its mean size, as jeprof does: an object of mean size is
sampled with the chance 1 - e^(-size / interval).
"""

import math
import re
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from hew.model.errors import HewError
from hew.model.profile import FOLDED, Location, Mapping, Profile, Stacks, Values

HEAD = re.compile(rb"heap_v2/(\d{1,19})\s*$")
COUNTS = re.compile(rb"\s*t\*: (\d{1,20}): (\d{1,20}) \[(\d{1,20}): (\d{1,20})\]")
MAP = re.compile(rb"([0-9a-f]{1,16})-([0-9a-f]{1,16}) ..x. ([0-9a-f]{1,16}) \S+ \S+ *(.*)")
LONGEST_LINE = 1 << 20
MOST_MAPPINGS = 1 << 16
MOST_LOCATIONS = 4_000_000


def read_heap_v2(stream: BinaryIO, source: str) -> Profile:
    """A whole profile. Raises HewError for what is none."""
    lines = _lines(stream, source)
    head = HEAD.match(next(lines, b""))
    if head is None:
        raise HewError(f"{source}: no heap profile: its first line is not heap_v2/INTERVAL")
    reader = _Reader(source, int(head[1]))
    notes = reader.read_stacks(lines)
    mappings = tuple(read_maps(lines))
    samples = reader.stacks.samples(len(reader.numbers))
    places = tuple(Location(address) for address in reader.numbers)
    accumulated = any(sample.values[1] for sample in samples)
    return Profile(source, samples, (*places, FOLDED), mappings, accumulated, int(head[1]), 0, notes)


def _lines(stream: BinaryIO, source: str) -> Iterator[bytes]:
    while line := stream.readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE:
            raise HewError(f"{source}: no heap profile: it has a line of {LONGEST_LINE:,} bytes")
        yield line


class _Reader:
    """Stacks as they are read."""

    def __init__(self, source: str, interval: int) -> None:
        self.source, self.interval = source, interval
        self.numbers: dict[int, int] = {}
        self.stacks = Stacks()

    def read_stacks(self, lines: Iterator[bytes]) -> tuple[str, ...]:
        """Up to the memory map; a note when there is none."""
        stack: list[int] | None = None
        for line in lines:
            if line.startswith(b"@"):
                stack = self._stack(line)
            elif line.startswith(b"MAPPED_LIBRARIES:"):
                return ()
            elif stack is not None and (counts := COUNTS.match(line)):
                self.stacks.add(stack, unbiased([int(one) for one in counts.groups()], self.interval))
                stack = None
            elif not line.strip() or line.lstrip().startswith(b"t"):
                continue
            else:
                raise HewError(f"{self.source}: no heap profile: it has a line {line[:60]!r}")
        return (f"{self.source} was cut short: it has no memory map, so its addresses cannot be named",)

    def _stack(self, line: bytes) -> list[int]:
        """Return addresses, but for the first: the call lies before them."""
        try:
            addresses = [int(word, 16) for word in line[1:].split()]
        except ValueError:
            raise HewError(f"{self.source}: no heap profile: {line[:60]!r} is no stack") from None
        if len(self.numbers) + len(addresses) > MOST_LOCATIONS or any(one >> 64 for one in addresses):
            raise HewError(f"{self.source}: more than {MOST_LOCATIONS:,} addresses, or wider ones than there are")
        calls = (address - (number > 0 and address > 0) for number, address in enumerate(addresses))
        return [self.numbers.setdefault(call, len(self.numbers)) for call in calls]


def unbiased(counts: list[int], interval: int) -> Values:
    """Live objects, live bytes, objects ever, bytes ever as a line has them; what they stand for."""
    live, ever = _pair(counts[0], counts[1], interval), _pair(counts[2], counts[3], interval)
    return (*ever, *live)


def _pair(objects: int, size: int, interval: int) -> tuple[int, int]:
    if not objects or not size or interval <= 1:
        return objects, size
    chance = -math.expm1(-size / objects / interval)
    return round(objects / chance), round(size / chance)


def read_maps(lines: Iterable[bytes]) -> Iterator[Mapping]:
    """What may be executed, of the lines of a /proc/PID/maps."""
    left = MOST_MAPPINGS
    for line in lines:
        found = MAP.match(line.rstrip(b"\n"))
        if found and left:
            left -= 1
            start, end, offset = (int(number, 16) for number in found.groups()[:3])
            yield Mapping(start, end, offset, found[4].decode(errors="replace"))
