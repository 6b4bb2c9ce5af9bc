# SPDX-License-Identifier: MIT
"""How a process's memory went over time."""

from enum import StrEnum

from hew.model.lazy_dataclass import dataclass


class Shape(StrEnum):
    """What a series of sizes looks like."""

    SHORT = "too few samples"
    FLAT = "flat"
    STEADY = "grows steadily"
    PLATEAUS = "plateaus"
    SAWTOOTH = "sawtooth"


class Verdict(StrEnum):
    """What that means."""

    UNKNOWN = "unknown"  # watch longer
    FLAT = "flat"
    LEAK = "leak likely"
    RETENTION = "retention"  # objects go, their memory stays
    PLATEAUS = "plateaus"  # objects stay, and their number grows in steps or has stopped to grow
    SAWTOOTH = "sawtooth"


@dataclass(frozen=True)
class Trend:
    """A series in numbers. `slope`: bytes a second (Theil and Sen); `tau`: Kendall's, of its floors: 1 when each is
    above all before it; `since`: when the rise began, in seconds since 1970; None without one.
    With a rise, slope and tau are of what comes after."""

    shape: Shape
    first: int
    last: int
    lowest: int
    highest: int
    slope: float
    tau: float
    plateaus: int
    since: float | None = None


@dataclass(frozen=True)
class ClassGrowth:
    """Live bytes of a size class that grew."""

    size: int
    trend: Trend

    @property
    def rise(self) -> int:
        """By so many bytes."""
        return self.trend.last - self.trend.first


@dataclass(frozen=True)
class ArenaGrowth:
    """Bytes of an arena's objects that grew; `key` is its number, as the report names it."""

    key: str
    trend: Trend


@dataclass(frozen=True)
class Growth:
    """One process over time. `live` is None where the program's own bytes were never told; `classes` and `arenas`:
    those that grew most first."""

    title: str
    verdict: Verdict
    looks: int
    begin: float
    end: float
    resident: Trend
    live: Trend | None = None
    classes: tuple[ClassGrowth, ...] = ()
    arenas: tuple[ArenaGrowth, ...] = ()
