# SPDX-License-Identifier: MIT
"""What a search is for, from the names that a user gives and the figures that a run has."""

import re
from collections.abc import Sequence

from hew.model.errors import HewError
from hew.model.figures import (
    CLIENT_WALL,
    CPU,
    INSTRUCTIONS,
    PAGE_FAULTS,
    PEAK_RSS,
    RSS_SECONDS,
    SERVER_CPU,
    SERVER_PEAK_RSS,
    SERVER_RSS,
    WALL,
    Figure,
    Unit,
)
from hew.model.search import Goal, Limit, Wanted

# By the name on the command line: of a command, or of a server.
NAMES: dict[str, tuple[Figure, ...]] = {
    "wall": (WALL, CLIENT_WALL),
    "cpu": (CPU, SERVER_CPU),
    "rss": (PEAK_RSS, SERVER_RSS),
    "peak-rss": (PEAK_RSS, SERVER_PEAK_RSS),
    "rss-seconds": (RSS_SECONDS,),
    "faults": (PAGE_FAULTS,),
    "instructions": (INSTRUCTIONS,),
}
OWN = ("metric", "rate", "latency")
LIMIT = re.compile(r"([a-z-]+)\s*(<=|>=)\s*([0-9]+(?:\.[0-9]+)?|\.[0-9]+)")


def goal_names() -> tuple[str, ...]:
    """Every name that a goal or a limit may have."""
    return (*NAMES, *OWN)


def limit_parts(text: str) -> tuple[str, bool, float]:
    """`rss<=1.05` as name, whether it is an upper bound, ratio; HewError when it is none."""
    match = LIMIT.fullmatch(text.strip())
    if match is None or match[1] not in goal_names():
        raise HewError(f"{text!r} is no limit: write NAME<=RATIO or NAME>=RATIO, NAME one of {', '.join(goal_names())}")
    ratio = float(match[3])
    if ratio <= 0:
        raise HewError(f"{text!r}: a ratio to the command as it is, more than 0")
    return match[1], match[2] == "<=", ratio


def wanted(names: Sequence[str], limits: Sequence[tuple[str, bool, float]], figures: Sequence[Figure]) -> Wanted:
    """The goals and limits, for runs that have these figures. By default: what the program tells of its work (else
    wall time), and memory."""
    if not names:
        names = (next((one for one in ("metric", "rate") if _find(one, figures)), "wall"), "rss")
    goals = [goal for name in dict.fromkeys(names) for goal in _goals(name, figures)]
    kept = [Limit(goal, ratio, at_most) for name, at_most, ratio in limits for goal in _goals(name, figures)]
    return Wanted(tuple(goals), tuple(kept))


def _goals(name: str, figures: Sequence[Figure]) -> list[Goal]:
    found = _find(name, figures)
    if not found:
        have = ", ".join(one for one in goal_names() if _find(one, figures))
        raise HewError(f"{name}: the runs of this command do not have it; they have {have}")
    return [Goal(name, one) for one in found]


def _find(name: str, figures: Sequence[Figure]) -> list[Figure]:
    """The figures of that name: one of the fixed ones; every metric; the first rate or latency that a client tells."""
    if name in NAMES:
        return [one for one in NAMES[name] if one in figures][:1]
    if name == "metric":
        return [one for one in figures if one.key.startswith("metric.")]
    unit = Unit.PER_SECOND if name == "rate" else Unit.SECONDS
    return [one for one in figures if one.key.startswith("client.") and one.unit is unit][:1]
