# SPDX-License-Identifier: MIT
"""A heap profile: live and allocated memory by stack, corrected for sampling."""

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

Values = tuple[int, int, int, int]  # in the order of Kind
NOTHING: Values = (0, 0, 0, 0)
CERTAIN = 1.96  # standard deviations that chance exceeds in one case of twenty


class Kind(IntEnum):
    """What can be looked at; the order is profile.proto's for heaps."""

    ALLOC_OBJECTS = 0
    ALLOC_SPACE = 1
    INUSE_OBJECTS = 2
    INUSE_SPACE = 3

    @property
    def key(self) -> str:
        """pprof's and jeprof's word for it."""
        return self.name.lower()

    @property
    def title(self) -> str:
        """Ours."""
        return ("allocated objects", "allocated bytes", "live objects", "live bytes")[self]

    @property
    def in_bytes(self) -> bool:
        """Bytes, or a count."""
        return self in {Kind.ALLOC_SPACE, Kind.INUSE_SPACE}


@dataclass(frozen=True)
class Mapping:
    """A file that the process had mapped to be executed."""

    start: int
    end: int
    offset: int
    path: str
    build_id: str = ""


@dataclass(frozen=True)
class Frame:
    """A function at a place of its source. An address has several where functions were inlined."""

    name: str
    file: str = ""
    line: int = 0
    inlined: bool = False  # into the frame that follows

    @property
    def place(self) -> str:
        """The function with its line, as far as that is known."""
        return f"{self.name} {self.file}:{self.line}" if self.file else self.name


@dataclass(frozen=True)
class Location:
    """The address of a call. `frames`, the innermost first, are empty until the names are looked up."""

    address: int
    mapping: int | None = None
    frames: tuple[Frame, ...] = ()


@dataclass(frozen=True)
class Sample:
    """A stack, the innermost place first, as numbers of locations; and what it stands for."""

    stack: Sequence[int]
    values: Values


@dataclass(frozen=True)
class Profile:
    """A whole profile. `accumulated`: it has all allocations, not only live ones. `temporary`: it counts only objects
    that were freed at once, as allocated; none is live."""

    source: str
    samples: tuple[Sample, ...]
    locations: tuple[Location, ...]
    mappings: tuple[Mapping, ...]
    accumulated: bool
    period: int = 0
    nanoseconds: int = 0
    notes: tuple[str, ...] = ()
    pid: int | None = None
    temporary: bool = False

    def total(self, kind: Kind) -> int:
        """Of all samples."""
        return sum(sample.values[kind] for sample in self.samples)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """What can be asked, what is live first."""
        if self.temporary:
            return (Kind.ALLOC_OBJECTS, Kind.ALLOC_SPACE)
        live = (Kind.INUSE_SPACE, Kind.INUSE_OBJECTS)
        return (*live, Kind.ALLOC_SPACE, Kind.ALLOC_OBJECTS) if self.accumulated else live

    def title(self, kind: Kind) -> str:
        """Of this profile's numbers of a kind."""
        return kind.title.replace("allocated", "temporary") if self.temporary else kind.title


def by_chance(period: int, size: float) -> int:
    """By how much an estimate of so many bytes may be off, in 95 of 100 cases at most: an object of s bytes, of which
    one byte in `period` is sampled, adds less than s x period to a sum's variance."""
    return round(CERTAIN * math.sqrt(period * abs(size))) if period > 1 else 0


FOLDED = Location(0, None, (Frame("[small stacks]"),))
MOST_STACKS = 400_000


def sum_of(one: Values, other: Values) -> Values:
    """Number by number."""
    return (one[0] + other[0], one[1] + other[1], one[2] + other[2], one[3] + other[3])


@dataclass
class Stacks:
    """Stacks as they are read, each once. When there are too many, the smaller ones are folded into one of that name:
    totals stay right, and memory is bounded."""

    most: int = MOST_STACKS
    folded: int = 0
    rest: Values = NOTHING
    _values: dict[bytes, Values] = field(default_factory=dict)

    def add(self, stack: Sequence[int], values: Values) -> None:
        """Count values for a stack."""
        key = array("I", stack).tobytes()
        self._values[key] = sum_of(self._values.get(key, NOTHING), values)
        if len(self._values) > self.most:
            self._fold()

    def _fold(self) -> None:
        ranked = sorted(self._values, key=lambda one: (self._values[one][Kind.INUSE_SPACE], self._values[one][1]))
        for key in ranked[: self.most // 2]:
            self.rest = sum_of(self.rest, self._values.pop(key))
        self.folded += self.most // 2

    def samples(self, folded_at: int) -> tuple[Sample, ...]:
        """Every stack that stands for something; what was folded is at the location of that number."""
        found = [Sample(array("I", key), values) for key, values in self._values.items() if any(values)]
        if self.folded:
            found.append(Sample(array("I", [folded_at]), self.rest))
        return tuple(found)
