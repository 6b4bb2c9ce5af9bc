# SPDX-License-Identifier: MIT
"""Size classes cut to a program, and what they waste beside others. Bytes are of what lives."""

from collections.abc import Mapping

from hew.model.lazy_dataclass import dataclass
from hew.model.simulation import Simulated, SizeClass


@dataclass(frozen=True)
class Waste:
    """The waste of a table of classes, in bytes: internal fragmentation, slab tails, and the fixed cost of each class.
    It has `count` classes, of which the program uses `used`."""

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


WORTH = 0.005  # of what is live: less is not worth a setting


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

    @property
    def setting(self) -> str:
        """The pair that puts the classes in force."""
        return "classes:" + "|".join(str(one.size) for one in self.classes)

    @property
    def saved(self) -> float:
        """Bytes that the library's own classes waste beyond these; 0 where nothing is known of them."""
        hew = self.others.get("hew")
        return hew.total - self.waste.total if hew is not None else 0.0

    @property
    def is_worth_it(self) -> bool:
        """Whether the classes save enough to be put in force."""
        return self.saved > WORTH * self.waste.asked
