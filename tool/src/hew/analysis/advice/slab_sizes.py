# SPDX-License-Identifier: MIT
"""Slabs with few regions are refilled all the time: use larger slabs.

jemalloc's slab for 512, 1024, 2048 or 4096 bytes is one page with 8, 4, 2 or 1 regions, and its
thread caches hold two slabs, at least 20 objects.

Speaks when classes with at most 8 regions, and at most 25 requests a refill, are refilled 20,000
times a second together (2 % of a CPU at 1 µs a refill). A fourth of a class's objects must have
returned to the arenas: a program that only grows gains nothing. The advised slab holds 32 regions.

jemalloc 5.3.0, two threads, 1024-byte objects in batches of 100: 8.5 -> 33 million requests a
second. hew's slabs are larger, and its caches do not depend on them: see `cache-depth`.
"""

from hew.analysis.advice.basis import Basis, basis, is_hew
from hew.model.advice import Advice, Case, Evidence, Setting
from hew.model.figures import Unit
from hew.model.statistics import Bin

NAME = "slab-sizes"
FEW_REGIONS = 8
WANTED_REGIONS = 32
REQUESTS_A_FILL = 25.0
RETURNED = 0.25
FILLS_PER_SECOND = 20_000.0
LEAST_SHARE = 0.1


def _for_little(one: Bin) -> bool:
    """Whether a fill of the class serves few requests, and objects come back as well as leave."""
    returned = one.ndalloc is None or one.nmalloc is None or one.ndalloc >= RETURNED * one.nmalloc
    return returned and one.nrequests is not None and one.nrequests <= REQUESTS_A_FILL * (one.nfills or 0)


def filled_often(base: Basis) -> list[Bin]:
    """The classes whose caches are filled often, and for few requests each time."""
    return [one for one in base.arena.bins if base.per_second(one.nfills) >= FILLS_PER_SECOND and _for_little(one)]


def few_and_filled(base: Basis) -> list[Bin]:
    """The classes of few regions, where their fills together are many: those that have a share of them."""
    few = [one for one in base.arena.bins if one.nfills and one.nregs and one.nregs <= FEW_REGIONS and _for_little(one)]
    fills = sum(one.nfills or 0 for one in few)
    enough = base.per_second(fills) >= FILLS_PER_SECOND
    return [one for one in few if enough and (one.nfills or 0) >= LEAST_SHARE * fills]


def fill_evidence(base: Basis, bins: list[Bin]) -> tuple[Evidence, ...]:
    """Fills, and what each was good for."""
    found: list[Evidence] = []
    for one in bins:
        where = f"{base.arena.where}.bins[{one.size} B]"
        ratio = (one.nrequests or 0) / (one.nfills or 1)
        found.append(
            Evidence(f"fills of {one.size} B", base.per_second(one.nfills), Unit.PER_SECOND, f"{where}.nfills")
        )
        found.append(Evidence("  requests a fill", ratio, Unit.COUNT, f"{where}.nrequests / nfills"))
    return tuple(found)


def rule(case: Case) -> Advice | None:
    """The advice, or None."""
    base = basis(case)
    if base is None or is_hew(base.snapshot):
        return None
    bins = few_and_filled(base)
    if not bins:
        return None
    regions = [
        Evidence(f"regions in a slab of {one.size} B", one.nregs or 0, Unit.COUNT, f"arenas.bin[{one.size} B].nregs")
        for one in bins
    ]
    page = base.snapshot.page
    value = "|".join(f"{one.size}-{one.size}:{-(-one.size * WANTED_REGIONS // page)}" for one in bins)
    sizes = ", ".join(str(one.size) for one in bins)
    return Advice(
        rule=NAME,
        title=f"slabs of {sizes} bytes hold few objects and are filled from all the time",
        subject=base.snapshot.subject,
        evidence=(*fill_evidence(base, bins), *regions),
        settings=(Setting("slab_sizes", value),),
        cpu="less: fewer fills, deeper caches, and slabs that are not taken and returned for every few objects",
        memory="a little more: partly used slabs and caches of these classes are larger",
        risk="low; larger slabs are freed whole less often, so a class with few live objects may hold more",
        verify="the report again: a fill should serve several times as many requests",
    )
