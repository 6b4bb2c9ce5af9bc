# SPDX-License-Identifier: MIT
"""The live sampled objects of a process, one by one, and which stacks keep slabs that are hardly used."""

from collections.abc import Sequence

from hew.model.lazy_dataclass import dataclass
from hew.model.profile import Location, Mapping


@dataclass(frozen=True)
class LiveSample:
    """One object. `stack`: numbers of locations, the innermost first; `objects`: how many it stands for; `age`:
    seconds; `regions`, `free` and `slab` (bytes): of the slab that it would be in, 0 where that is not known."""

    stack: Sequence[int]
    size: int
    usable: int
    objects: float
    age: float
    thread: int
    thread_name: str
    regions: int
    free: int
    slab: int


@dataclass(frozen=True)
class LiveSamples:
    """All live samples of a process. Locations may have no names yet. `placed`: slabs are known."""

    source: str
    samples: tuple[LiveSample, ...]
    locations: tuple[Location, ...]
    mappings: tuple[Mapping, ...]
    period: int
    placed: bool
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pin:
    """A stack and what its objects keep, in bytes: `slabs`, their share of the slabs that they are in; `unused`, of
    that what no object is in. Ages in seconds."""

    stack: tuple[str, ...]
    unused: float
    slabs: float
    objects: float
    size: int  # of the class that most of it is in
    samples: int
    youngest: float
    middle: float
    oldest: float


@dataclass(frozen=True)
class Pins:
    """The largest first, of slabs of which at most the part `sparse` is used. `unused`, `slabs`: of all stacks."""

    source: str
    sparse: float
    unused: float
    slabs: float
    found: tuple[Pin, ...]
    notes: tuple[str, ...] = ()
