# SPDX-License-Identifier: MIT
"""Finds the size classes that waste least for the sizes that a program uses.

Dynamic programming over the sizes that a class may have. Each object costs its internal fragmentation and its share of
the slab's tail. Each class costs half of a partly used slab, and the objects in thread caches. Powers of two are always
classes, since the library adds them anyway: a size or alignment that was not observed wastes at most a half.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from hew.model.cut import Cut, Waste
from hew.model.errors import HewError
from hew.model.lazy_dataclass import dataclass
from hew.model.simulation import SizeClass, Sizes, SizeUse

CACHED = 1024  # bytes of a class that a thread keeps at hand, in the mean
LARGE_LEAST = 16384  # bytes of the smallest object that has pages of its own
PARTIAL_MOST = 16384  # bytes of a slab that is partly used: slabs are touched from their beginning
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Costs:
    """What the program may be charged with: its candidates, and for each the objects and bytes that end at it."""

    candidates: Sequence[SizeClass]
    objects: Floats  # cumulated: of sizes up to the candidate
    bytes: Floats
    threads: int


def cut(sizes: Sizes, count: int, by_peak: bool) -> Cut:
    """At most `count` classes, and what they waste beside the tables that are there."""
    candidates = sizes.tables["candidates"]
    fewest = _fewest(candidates)
    if count < fewest:
        raise HewError(
            f"{count} classes cannot reach {candidates[-1].size} bytes: {fewest} at the least, with powers of two"
        )
    if not sizes.uses:
        raise HewError(f"{sizes.source} has no request of {candidates[-1].size} bytes or less")
    weights = {one: float(one.at_peak if by_peak else one.mean) for one in sizes.uses}
    if not any(weights.values()):
        raise HewError(f"{sizes.source} has no small object that lived for a while")
    chosen = _chosen(_costs(sizes, weights), count)
    waste = {
        name: waste_of(table, weights, sizes.threads) for name, table in sizes.tables.items() if name != "candidates"
    }
    return Cut(sizes.source, tuple(chosen), waste_of(chosen, weights, sizes.threads), waste, by_peak, sizes.notes)


def waste_of(table: Sequence[SizeClass], weights: Mapping[SizeUse, float], threads: int) -> Waste:
    """What a table of classes wastes. An aligned object needs a class that is a multiple of its alignment; without one
    it has pages of its own."""
    internal = tails = asked = 0.0
    used: dict[SizeClass, float] = {}
    for one, objects in weights.items():
        asked += objects * one.size
        found = next(
            (row for row in table if row.size >= one.size and (one.align <= 16 or row.size % one.align == 0)), None
        )
        if found is None:
            internal += objects * (max(LARGE_LEAST, -(-one.size // 4096) * 4096) - one.size)
            continue
        internal += objects * (found.size - one.size)
        tails += objects * _tail(found)
        used[found] = used.get(found, 0.0) + objects
    classes = [row for row, objects in used.items() if objects > 0]
    return Waste(asked, internal, tails, sum(_fixed(row, threads) for row in classes), len(table), len(classes))


def _tail(one: SizeClass) -> float:
    """An object's share of the end of the slab that no slot has."""
    return one.slab / (one.slab // one.size) - one.size


def _fixed(one: SizeClass, threads: int) -> float:
    """What a class in use costs whatever lives in it."""
    return min(one.slab, PARTIAL_MOST) / 2 + threads * CACHED


def _costs(sizes: Sizes, weights: Mapping[SizeUse, float]) -> Costs:
    """Objects and bytes at the smallest candidate that can hold them; aligned ones at a multiple of their alignment."""
    candidates = sizes.tables["candidates"]
    steps = np.array([one.size for one in candidates])
    objects, held = np.zeros(len(candidates)), np.zeros(len(candidates))
    for one, weight in weights.items():
        needs = one.size if one.align <= 16 else -(-one.size // one.align) * one.align
        place = int(np.searchsorted(steps, needs))
        if place < len(candidates):
            objects[place] += weight
            held[place] += weight * one.size
    return Costs(candidates, np.cumsum(objects), np.cumsum(held), sizes.threads)


def _chosen(costs: Costs, count: int) -> list[SizeClass]:
    """The cheapest classes: `best[c]` is the least that sizes up to candidate c cost when c is a class."""
    number = len(costs.candidates)
    size = np.array([one.size for one in costs.candidates], dtype=float)
    tail = np.array([_tail(one) for one in costs.candidates])
    fixed = np.array([_fixed(one, costs.threads) for one in costs.candidates])
    best = np.full((count + 1, number), np.inf)
    before = np.full((count + 1, number), -1)
    best[1, 0] = costs.objects[0] * (size[0] + tail[0]) - costs.bytes[0] + (fixed[0] if costs.objects[0] else 0)
    for used in range(2, count + 1):
        for end in range(1, number):
            first = int(np.searchsorted(size, 2.0 ** np.ceil(np.log2(size[end]) - 1)))  # the power of two below it
            objects = costs.objects[end] - costs.objects[first:end]
            own = objects * (size[end] + tail[end]) - (costs.bytes[end] - costs.bytes[first:end])
            total = best[used - 1, first:end] + own + np.where(objects > 0, fixed[end], 0.0)
            at = int(np.argmin(total))
            best[used, end], before[used, end] = total[at], first + at
    used, end = int(np.argmin(best[:, number - 1])), number - 1
    found = []
    while end >= 0:
        found.append(costs.candidates[end])
        end, used = int(before[used, end]), used - 1
    return found[::-1]


def _fewest(candidates: Sequence[SizeClass]) -> int:
    """How many classes it takes when each is as large as it may be."""
    count, size = 1, candidates[0].size
    while size < candidates[-1].size:
        size = max(one.size for one in candidates if one.size <= 2 * size)
        count += 1
    return count
