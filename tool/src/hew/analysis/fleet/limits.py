# SPDX-License-Identifier: MIT
"""The day on which a host's control group will meet its limit, if it goes on as it did.

Whether it grows is told as `hew watch` tells it (analysis/growth.py): by the shape of the series, so that a rhythm of
day and night is no growth. How fast is Theil and Sen's slope of the lowest values of up to 24 stretches; its interval
is Sen's, from the variance of Kendall's S. What is asked for is only what meets its limit within the horizon.
"""

import math
from itertools import combinations
from statistics import NormalDist

from hew.analysis.growth import trend
from hew.analysis.limit import NEAR
from hew.analysis.ratios import CONFIDENCE
from hew.model.fleet import LimitDay, Line
from hew.model.growth import Shape

STRETCHES = 24
DAY = 86400.0


def limit_day(host: str, used: Line, limit: float, horizon: float) -> LimitDay | None:
    """When; None where it is not near, and does not grow, or not so fast."""
    if not limit or not used.points or math.isinf(limit):
        return None
    now, last = used.points[-1]
    shape = trend([(at, round(value)) for at, value in used.points])
    if last >= NEAR * limit:
        return LimitDay(host, last, limit, 0.0, now, now, None)
    if shape.shape is not Shape.STEADY:
        return None
    low, middle, high = slopes(used.points)
    room = limit - last
    if middle <= 0 or room / middle > horizon:
        return None
    latest = now + room / low if low > 0 else None
    return LimitDay(host, last, limit, middle * DAY, now + room / middle, now + room / max(high, middle), latest)


def slopes(points: tuple[tuple[float, float], ...]) -> tuple[float, float, float]:
    """Theil and Sen's slope a second, between the ends of its interval."""
    kept = _lowest(points)
    found = sorted((value - low) / (end - at) for (at, low), (end, value) in combinations(kept, 2) if end > at)
    if not found:
        return 0.0, 0.0, 0.0
    count = len(kept)
    spread = math.sqrt(count * (count - 1) * (2 * count + 5) / 18)
    wide = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * spread
    first = max(round((len(found) - wide) / 2), 0)
    last = min(round((len(found) + wide) / 2), len(found) - 1)
    middle = (found[(len(found) - 1) // 2] + found[len(found) // 2]) / 2
    return found[first], middle, found[last]


def _lowest(points: tuple[tuple[float, float], ...]) -> list[tuple[float, float]]:
    """The lowest value of each stretch."""
    begin, whole = points[0][0], points[-1][0] - points[0][0] or 1.0
    found: dict[int, tuple[float, float]] = {}
    for at, value in points:
        place = min(int((at - begin) / whole * STRETCHES), STRETCHES - 1)
        if place not in found or value < found[place][1]:
            found[place] = (at, value)
    return list(found.values())
