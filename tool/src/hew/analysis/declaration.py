# SPDX-License-Identifier: MIT
"""From the sizes a program was seen to use to the pools that it should declare."""

from collections.abc import Sequence
from dataclasses import replace

from hew.model.declaration import Counted, Declaration, DeclaredSize, Seen, SeenSize
from hew.model.errors import HewError

QUANTUM = 16  # declared sizes are rounded up to a multiple of it
MOST_SIZES = 254  # of one set: HEW_POOL_SIZES_MAX
LEAST_SHARE = 0.002  # of all requests, or of all bytes in use: less is not worth a pool of its own
LEAST_COUNT = 16
AT_ITS_END = 0.1  # bytes in use below this part of the slabs' capacity: the report was written after the peak
HEADROOM = 1.25
WORTH_SAYING = 0.001
SETTING_BYTES = 1023  # the most of pools: in src/base/options.def


def declare(seen: Seen, headroom: float = HEADROOM) -> Declaration:
    """The proposal. `headroom` is what the most objects seen is multiplied by. HewError when nothing was seen."""
    sizes = _rounded(seen.sizes)
    requests = sum(one.requests for one in sizes) + seen.larger_requests
    if not requests:
        raise HewError(f"{seen.source}: no request of a small size was counted in it")
    counted = _counted(sizes)
    declared = _gathered(sizes, counted, headroom)
    served = sum(one.requests for one in declared)
    notes = [*seen.notes, *_notes(seen, sizes, counted)]
    declaration = Declaration(seen.source, counted, declared, requests, served)
    if len(declaration.setting.partition(":")[2]) > SETTING_BYTES:
        notes.append(
            f"the setting is longer than the {SETTING_BYTES} bytes that libhew reads: leave out sizes with few requests"
        )
    return replace(declaration, notes=tuple(notes))


def _rounded(sizes: Sequence[SeenSize]) -> list[SeenSize]:
    """Ascending, sizes that a set takes for the same as one."""
    found: dict[int, SeenSize] = {}
    for one in sorted(sizes, key=lambda seen: seen.size):
        size = -(-one.size // QUANTUM) * QUANTUM
        old = found.get(size, SeenSize(size, 0, 0, 0))
        found[size] = SeenSize(size, old.live + one.live, old.ever + one.ever, old.requests + one.requests)
    return [one for one in found.values() if one.requests or one.live]


def _counted(sizes: Sequence[SeenSize]) -> Counted:
    live = sum(one.size * one.live for one in sizes)
    ever = sum(one.size * one.ever for one in sizes)
    return Counted.EVER if live < AT_ITS_END * ever else Counted.LIVE


def _most(one: SeenSize, counted: Counted) -> int:
    return one.live if counted is Counted.LIVE else one.ever


def _kept(sizes: Sequence[SeenSize], counted: Counted) -> set[int]:
    """The sizes that get a pool: those with a share of the requests or of the bytes in use, the greatest first."""
    requests = sum(one.requests for one in sizes) or 1
    all_bytes = sum(one.size * _most(one, counted) for one in sizes) or 1
    shares = {one.size: max(one.requests / requests, one.size * _most(one, counted) / all_bytes) for one in sizes}
    ranked = sorted(shares, key=lambda size: shares[size], reverse=True)
    return {size for size in ranked[:MOST_SIZES] if shares[size] >= LEAST_SHARE}


def _gathered(sizes: Sequence[SeenSize], counted: Counted, headroom: float) -> tuple[DeclaredSize, ...]:
    """A size without a pool of its own lands in the next larger one that has: its objects are counted there."""
    kept = _kept(sizes, counted)
    declared, live, most, requests = [], 0, 0, 0
    for one in sizes:
        live, most, requests = live + one.live, most + _most(one, counted), requests + one.requests
        if one.size in kept:
            declared.append(DeclaredSize(one.size, _count(most * headroom), live, requests))
            live = most = requests = 0
    return tuple(declared)


def _count(most: float) -> int:
    """A number that people read easily, no smaller: two digits and zeros."""
    whole = max(LEAST_COUNT, int(most) + (most > int(most)))
    unit: int = 10 ** max(0, len(str(whole)) - 2)
    return -(-whole // unit) * unit


def _notes(seen: Seen, sizes: Sequence[SeenSize], counted: Counted) -> list[str]:
    notes = []
    if counted is Counted.EVER:
        notes.append(
            "little was in use when this was written (the program's end?): the counts are what slabs were ever made "
            "for, at least the most in use at once; a report from the middle of the work gives smaller ones"
        )
    if not seen.exact:
        notes.append(
            "sizes are those of the size classes, since statistics have no others: what the program asks for may be up "
            "to a fifth less. Exact ones: a profile's recent allocations in place of statistics "
            "(MALLOC_CONF=prof:true,prof_recent_alloc_max:-1, mallctl experimental.prof_recent.alloc_dump)"
        )
    share = seen.larger_requests / (sum(one.requests for one in sizes) + seen.larger_requests)
    if share >= WORTH_SAYING:
        notes.append(f"{share:.1%} of the requests are larger than any pool should be: they stay malloc's")
    return notes
