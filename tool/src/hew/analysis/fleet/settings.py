# SPDX-License-Identifier: MIT
"""Which hosts have a setting, told from the series that show it in force; and services whose hosts differ."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from hew.model.errors import HewError
from hew.model.fleet import HOST, Fold, Line, Mixed, Over, Query
from hew.model.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Shown:
    """A setting, the series that shows it, and how much of the setting's unit one of the series is."""

    series: str
    match: tuple[tuple[str, str], ...] = ()
    factor: float = 1.0


SHOWN = {
    "dirty_decay_ms": Shown("hew_decay_seconds", (("state", "dirty"),), 1000.0),
    "muzzy_decay_ms": Shown("hew_decay_seconds", (("state", "muzzy"),), 1000.0),
    "narenas": Shown("hew_arenas"),
}
FOLDS = (Fold.MAX, Fold.MIN)  # a host may have several processes: all must have it


def read_setting(text: str) -> tuple[str, float]:
    """`dirty_decay_ms:1000` as a name and a number; never is infinite. Raises HewError for what no series shows."""
    name, _, value = text.partition(":")
    if name not in SHOWN:
        raise HewError(f"--setting {text}: no series shows {name!r}; those that are shown: {', '.join(SHOWN)}")
    if not re.fullmatch(r"-1|\d{1,15}", value):
        raise HewError(f"--setting {text}: {value!r} is no number; {name}:1000 is such a setting")
    number = float(value)
    return name, math.inf if number < 0 else number


def queries(name: str, match: tuple[tuple[str, str], ...]) -> tuple[Query, Query]:
    """What tells the largest and the smallest value on each host."""
    shown = SHOWN[name]
    most, least = (Query(shown.series, Over.LAST, fold, (HOST,), (*shown.match, *match)) for fold in FOLDS)
    return most, least


def values(name: str, most: Sequence[Line], least: Sequence[Line]) -> dict[str, tuple[float, float]]:
    """By host the smallest and the largest value, in the setting's own unit, as of the last step."""
    factor = SHOWN[name].factor
    lowest = {line.labels[0]: line.points[-1][1] * factor for line in least}
    return {
        line.labels[0]: (lowest.get(line.labels[0], line.points[-1][1] * factor), line.points[-1][1] * factor)
        for line in most
    }


def split(found: Mapping[str, tuple[float, float]], wanted: float) -> tuple[list[str], list[tuple[str, str]]]:
    """The hosts that have a value in all their processes, and the others with what they have."""
    have = sorted(host for host, (low, high) in found.items() if _same(low, wanted) and _same(high, wanted))
    others = [
        (host, shown(low) if _same(low, high) else f"{shown(low)} to {shown(high)}")
        for host, (low, high) in sorted(found.items())
        if host not in set(have)
    ]
    return have, others


def mixed(name: str, found: Mapping[str, tuple[float, float]]) -> Mixed | None:
    """The most common value and the hosts with others; None where all agree."""
    if not found:
        return None
    usual, _ = Counter(high for _, high in found.values()).most_common(1)[0]
    others = []
    for host, (low, high) in sorted(found.items()):
        other = low if _same(high, usual) else high
        if not _same(other, usual):
            others.append((host, other))
    return Mixed(name, usual, tuple(others)) if others else None


def _same(one: float, other: float) -> bool:
    return one == other or math.isclose(one, other, rel_tol=1e-9)


def shown(value: float) -> str:
    """As it is written in a setting."""
    return "-1" if math.isinf(value) else f"{value:g}" if value % 1 else str(int(value))
