# SPDX-License-Identifier: MIT
"""Size classes cut to a program, and what they waste beside others. Bytes are of what lives."""

from collections.abc import Mapping
from dataclasses import dataclass

from hew.model.simulation import Simulated, SizeClass


@dataclass(frozen=True)
class Waste:
    """What a table of classes takes beyond what was asked for, in bytes: rests of slots, tails of slabs, and what each
    class costs whatever lives in it. `count` classes, of which `used` serve the program."""

    asked: float
    internal: float
    tails: float
    classes: float
    count: int
    used: int

    @property
    def total(self) -> float:
        """All of it."""
        return self.internal + self.tails + self.classes


@dataclass(frozen=True)
class Cut:
    """The classes, and the waste of other tables by name. `simulated`: all of them on the trace itself."""

    source: str
    classes: tuple[SizeClass, ...]
    waste: Waste
    others: Mapping[str, Waste]
    by_peak: bool
    notes: tuple[str, ...]
    simulated: tuple[Simulated, ...] = ()
    peak_live: int = 0
