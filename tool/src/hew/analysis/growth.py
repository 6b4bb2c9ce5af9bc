# SPDX-License-Identifier: MIT
"""Finds what grew, since when and in which size class, and whether that is a leak.

The slope is the median of the slopes between all pairs (Theil 1950, Sen 1968: "Estimates of the regression coefficient
based on Kendall's tau", JASA 63), so a few outliers do not move it. A series rises if Kendall's tau against time (Mann
1945) of its floors is high. A floor is the lowest value in one of a dozen intervals of time, so memory that a program
allocates and frees in between does not count.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from statistics import median
from typing import TypeVar

from hew.model.growth import ArenaGrowth, ClassGrowth, Growth, Shape, Trend, Verdict
from hew.model.history import MOST_ARENAS, Point, Track

FEWEST = 8  # looks: fewer have no shape
FLOORS = 12  # stretches: enough for tau to tell a rise from chance (0.7 of 12 floors: p < 0.002)
MOST_PAIRS = 120  # values that slopes are taken of: 7,140 pairs
RISES = 0.7  # tau from which floors rise
NOISE, NOISE_SHARE = 256 << 10, 0.03  # bytes, and of the highest value: less is no change
LEVEL = 0.05  # of the range: values of a plateau differ by no more
LASTS = 0.12  # of the time: the least length of a plateau. A straight line leaves the level within 0.05
STANDS = 0.2  # of the time: a last plateau so long says that the growth is over
COVERED = 0.6  # of the time: plateaus that take so much make a staircase
BEGUN = 0.05  # of a rise: the part at which it counts as begun
MOST_PARTS = 5

Series = Sequence[tuple[float, int]]
Key = TypeVar("Key", int, str)


def growth(track: Track) -> Growth:
    """One process over time."""
    points = track.points
    resident = trend([(one.at, one.resident) for one in points])
    told = [(one.at, one.live) for one in points if one.live is not None]
    live = trend(told) if len(told) >= FEWEST else None
    # Classes and arenas count cached objects too: they show where growth is, not whether there is any.
    grows = live is not None and live.last - live.first > _noise(live.highest)
    return Growth(
        track.title,
        _verdict(live, resident),
        len(points),
        points[0].at,
        points[-1].at,
        resident,
        live,
        tuple(ClassGrowth(*one) for one in _grown(points, lambda one: one.classes)) if grows else (),
        tuple(ArenaGrowth(*one) for one in _arenas(points)) if grows else (),
    )


def _verdict(live: Trend | None, resident: Trend) -> Verdict:
    if resident.shape is Shape.SHORT:
        return Verdict.UNKNOWN
    if live is None:
        return {
            Shape.STEADY: Verdict.LEAK,
            Shape.PLATEAUS: Verdict.PLATEAUS,
            Shape.SAWTOOTH: Verdict.SAWTOOTH,
        }.get(resident.shape, Verdict.FLAT)
    if live.shape is Shape.STEADY:
        return Verdict.LEAK
    kept, held = resident.last - resident.first, live.last - live.first
    if kept > _noise(resident.highest) and held < kept / 2:
        return Verdict.RETENTION
    if live.shape is Shape.PLATEAUS:
        return Verdict.PLATEAUS
    return Verdict.SAWTOOTH if live.shape is Shape.SAWTOOTH else Verdict.FLAT


def trend(series: Series) -> Trend:
    """A series in numbers, with its shape. First and last are medians of a twelfth, so that one peak is neither."""
    values = [value for _, value in series]
    edge = max(len(values) // FLOORS, 1)
    first, last = round(median(values[:edge])), round(median(values[-edge:]))
    low, high = min(values), max(values)
    if len(series) < FEWEST or series[-1][0] <= series[0][0]:
        return Trend(Shape.SHORT, first, last, low, high, 0.0, 0.0, 0)
    since = _since(series, first, last) if last - first > _noise(high) else None
    part = _rising_part(series, since)
    rises, flats = tau(_stretches(part, FLOORS)), plateaus(series)
    shape = _level(series, flats) if since is None else _risen(part, rises)
    return Trend(shape, first, last, low, high, slope(_stretches(part, MOST_PAIRS)), rises, len(flats), since)


def _rising_part(series: Series, since: float | None) -> Series:
    """From when the rise began, where that is long enough to have a shape: a leak may begin after days."""
    part = [(at, value) for at, value in series if since is not None and at >= since]
    whole = series[-1][0] - series[0][0]
    return part if len(part) >= FEWEST and part[-1][0] - part[0][0] >= LASTS * whole else series


def _level(series: Series, flats: Sequence[tuple[float, float]]) -> Shape:
    """Of a series that ends where it began."""
    values = [value for _, value in series]
    if max(values) - min(values) <= _noise(max(values)):
        return Shape.FLAT
    return Shape.FLAT if len(flats) == 1 and _share(series, flats) >= COVERED else Shape.SAWTOOTH


def _risen(series: Series, rises: float) -> Shape:
    """Of one that ends higher."""
    flats = plateaus(series)
    stands = bool(flats) and flats[-1][1] >= series[-1][0] and _share(series, flats[-1:]) >= STANDS
    if stands or _share(series, flats) >= COVERED:
        return Shape.PLATEAUS
    return Shape.STEADY if rises >= RISES else Shape.SAWTOOTH


def _share(series: Series, flats: Sequence[tuple[float, float]]) -> float:
    """Of the time."""
    return sum(end - begin for begin, end in flats) / (series[-1][0] - series[0][0])


def _noise(highest: int) -> float:
    return max(NOISE, highest * NOISE_SHARE)


def slope(series: Series) -> float:
    """Theil and Sen's."""
    found = [(later - value) / (end - at) for (at, value), (end, later) in combinations(series, 2) if end > at]
    return median(found) if found else 0.0


def tau(series: Series) -> float:
    """Kendall's, against time: pairs that rise less pairs that fall, of all."""
    signs = [(later > value) - (later < value) for (_, value), (_, later) in combinations(series, 2)]
    return sum(signs) / len(signs) if signs else 0.0


def plateaus(series: Series) -> list[tuple[float, float]]:
    """The stretches of time, from and to, in which the value stays on one level; neighbours on one level are one."""
    whole = series[-1][0] - series[0][0]
    values = [value for _, value in series]
    level = max((max(values) - min(values)) * LEVEL, _noise(max(values)) / 4)
    found: list[tuple[float, float]] = []
    begin = 0
    while begin < len(series):
        end, low, high = begin, values[begin], values[begin]
        while end + 1 < len(series) and max(high, values[end + 1]) - min(low, values[end + 1]) <= level:
            end += 1
            low, high = min(low, values[end]), max(high, values[end])
        if end - begin >= 2 and series[end][0] - series[begin][0] >= LASTS * whole:
            found.append((series[begin][0], series[end][0]))
        begin = end + 1
    return found


def _stretches(series: Series, most: int) -> list[tuple[float, int]]:
    """The lowest sample in each of several intervals of equal time; all samples where there are fewer."""
    if len(series) <= most:
        return list(series)
    begin, whole = series[0][0], series[-1][0] - series[0][0]
    found: dict[int, tuple[float, int]] = {}
    for at, value in series:
        place = min(int((at - begin) / whole * most), most - 1)
        if place not in found or value < found[place][1]:
            found[place] = (at, value)
    return list(found.values())


def _since(series: Series, first: int, last: int) -> float:
    """The last look before the value stayed above its beginning."""
    bound = first + (last - first) * BEGUN
    below = [at for at, value in series if value <= bound]
    return below[-1] if below else series[0][0]


def _grown(points: Sequence[Point], part: Callable[[Point], Mapping[Key, int]]) -> list[tuple[Key, Trend]]:
    """Of the parts that a look tells of, those whose bytes grew most, as far as that is more than noise."""
    told = [(one.at, part(one)) for one in points if part(one)]
    if len(told) < FEWEST:
        return []
    edge = max(len(told) // FLOORS, 1)

    def rise(key: Key) -> float:
        values = [found.get(key, 0) for _, found in told]
        return median(values[-edge:]) - median(values[:edge])

    rises = {key: rise(key) for key in {key for _, found in told for key in found}}
    most = sorted((key for key in rises if rises[key] > NOISE), key=lambda key: -rises[key])[:MOST_PARTS]
    return [(key, trend([(at, found.get(key, 0)) for at, found in told])) for key in most]


def _arenas(points: Sequence[Point]) -> list[tuple[str, Trend]]:
    """The arenas that grew most. An arena that a look with all of them lacks was not made yet; where looks leave some
    out, those count that are in each."""
    told = [one for one in points if one.arenas]
    if any(len(one.arenas) >= MOST_ARENAS for one in told):
        always = set(told[0].arenas).intersection(*(one.arenas for one in told))
        told = [replace(one, arenas={key: one.arenas[key] for key in always}) for one in told]
    return _grown(told, lambda one: one.arenas)
