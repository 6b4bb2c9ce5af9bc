# SPDX-License-Identifier: MIT
"""The day on which a host's control group will meet its limit, if usage grows as before.

Usage has a daily rhythm, and its rising half looks like a leak. So the same hour of several days is compared: growth is
Kendall's tau over pairs of samples that lie whole days apart. Its speed is the median of their slopes, its interval
Sen's from the variance of Kendall's S, with each hour as a season of its own (Hirsch, Slack and Smith 1982,
"Techniques of trend analysis for monthly water quality data", Water Resources Research 18). Most hours of each day must
have risen over the day before; otherwise a step would count as growth.

Less than three days are weaker evidence. From one day on, usage must also rise all that time (as `hew watch` decides,
analysis/growth.py), and be higher than a day before at the same hour. Less than one day does not show the rhythm. Then
a limit is reported only if usage meets it within as much time as the growth was observed.
"""

import math
from collections.abc import Sequence
from itertools import combinations
from statistics import NormalDist, median

from hew.analysis.growth import FEWEST, FLOORS, NOISE, NOISE_SHARE, RISES, tau, trend
from hew.analysis.limit import NEAR
from hew.analysis.ratios import CONFIDENCE
from hew.model.fleet import LimitDay, Line, Span
from hew.model.growth import Shape

STRETCHES = 24
DAY = 86400.0
SURE = 3  # days from which on a step and a rhythm are told from growth
MOST_DAYS = 14
SHARE_OF_DAYS = 0.75  # that must have risen
LESS_RISE = 0.25  # of the usual rise in a day: less is none

Points = Sequence[tuple[float, float]]
Slope = tuple[float, float, float]  # a second: the ends of the interval, and between them the slope


def trend_span(end: float, seconds: float) -> Span:
    """The looks to ask for: an hour apart where there are days of them, so that each has one at its hour on each day.
    The first is as old as the trend."""
    days = int(seconds // DAY)
    if not days:
        return _looks(end, seconds, 2 * STRETCHES)
    kept = min(days, MOST_DAYS)
    return _looks(end, kept * DAY, kept * STRETCHES)


def _looks(end: float, seconds: float, steps: int) -> Span:
    return Span(end - seconds - seconds / steps, end, steps + 1)


def limit_day(host: str, used: Line, limit: float, horizon: float) -> LimitDay | None:
    """When; None where it is not near, and does not grow, or not so fast."""
    if not limit or not used.points or math.isinf(limit):
        return None
    points = used.points
    now, last = points[-1]
    known = now - points[0][0]
    if last >= NEAR * limit:
        return LimitDay(host, last, limit, 0.0, now, now, None, known / DAY)
    found = growth(points)
    if found is None or found[1] <= 0:
        return None
    low, middle, high = found
    seen = points[-1:] if known < SURE * DAY - 1 else [one for one in points if one[0] > now - DAY]
    at = _met(seen, limit, middle)
    if at - now > (horizon if known >= DAY else min(horizon, known)):
        return None
    latest = _met(seen, limit, low) if low > 0 else None
    return LimitDay(host, last, limit, middle * DAY, at, _met(seen, limit, high), latest, known / DAY)


def growth(points: Points) -> Slope | None:
    """How fast it grows; None where it does not, or where the samples do not show it."""
    if len(points) < FEWEST:
        return None
    known = points[-1][0] - points[0][0]
    hours = _by_hour(points)
    if known >= SURE * DAY - 1:
        return _over_days(points, hours)
    whole, floors = ([(at, round(value)) for at, value in some] for some in (points, _lowest(points)))
    if trend(whole).shape is not Shape.STEADY or tau(floors) < RISES:
        return None
    rises = [value - before for hour in hours for (_, before), (_, value) in combinations(hour, 2)]
    return slopes(points) if known < DAY or _counts(points, median(rises or [0.0])) else None


def _over_days(points: Points, hours: Sequence[Points]) -> Slope | None:
    """From looks that lie whole days apart."""
    pairs = [pair for hour in hours for pair in combinations(hour, 2)]
    found = sorted((value - before) / (end - at) for (at, before), (end, value) in pairs)
    if not pairs or sum((one > 0) - (one < 0) for one in found) < RISES * len(pairs):
        return None
    usual = median(found) * DAY
    risen = [_share_over(day, LESS_RISE * usual) >= RISES for day in _daily(points[-1][0], pairs)]
    if not risen or not risen[0] or sum(risen) < SHARE_OF_DAYS * len(risen):
        return None
    if not _counts(points, usual * (points[-1][0] - points[0][0]) / DAY):
        return None
    return _interval(found, sum(_variance(len(hour)) for hour in hours))


def _by_hour(points: Points) -> list[Points]:
    """The looks of each hour of the day, counted back from the last one."""
    now = points[-1][0]
    found: dict[int, list[tuple[float, float]]] = {}
    for at, value in points:
        found.setdefault(round((now - at) % DAY) % round(DAY), []).append((at, value))
    return list(found.values())


def _share_over(values: Sequence[float], least: float) -> float:
    return sum(one > least for one in values) / len(values)


def _daily(now: float, pairs: Sequence[tuple[tuple[float, float], tuple[float, float]]]) -> list[list[float]]:
    """What each hour rose by from day to day, the last day first; of days that were seen for the most part."""
    found: dict[int, list[float]] = {}
    for (at, before), (end, value) in pairs:
        if round((end - at) / DAY) == 1:
            found.setdefault(int((now - end) // DAY), []).append(value - before)
    return [found[day] for day in sorted(found) if len(found[day]) * 2 > len(found[0])] if 0 in found else []


def _counts(points: Points, rise: float) -> bool:
    """Whether it is more than noise."""
    return rise > max(NOISE, NOISE_SHARE * max(value for _, value in points))


def _met(points: Points, limit: float, slope: float) -> float:
    """When usage meets the limit: the earliest time over all samples, each projected by whole days. A single sample is
    projected without rounding to days."""
    if len(points) == 1:
        ((at, value),) = points
        return at + (limit - value) / slope
    return min(at + math.ceil((limit - value) / slope / DAY) * DAY for at, value in points)


def slopes(points: Points) -> Slope:
    """Theil and Sen's slope a second of the lowest values of stretches, between the ends of its interval."""
    kept = _lowest(points, STRETCHES)
    found = sorted((value - low) / (end - at) for (at, low), (end, value) in combinations(kept, 2) if end > at)
    return _interval(found, _variance(len(kept))) if found else (0.0, 0.0, 0.0)


def _variance(count: int) -> float:
    """Of Kendall's S among so many."""
    return count * (count - 1) * (2 * count + 5) / 18


def _interval(found: Sequence[float], variance: float) -> Slope:
    """Sen's, of slopes in their order."""
    wide = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * math.sqrt(variance)
    first = max(round((len(found) - wide) / 2), 0)
    last = min(round((len(found) + wide) / 2), len(found) - 1)
    return found[first], median(found), found[last]


def _lowest(points: Points, stretches: int = FLOORS) -> list[tuple[float, float]]:
    """The lowest value of each stretch."""
    begin, whole = points[0][0], points[-1][0] - points[0][0] or 1.0
    found: dict[int, tuple[float, float]] = {}
    for at, value in points:
        place = min(int((at - begin) / whole * stretches), stretches - 1)
        if place not in found or value < found[place][1]:
            found[place] = (at, value)
    return list(found.values())
