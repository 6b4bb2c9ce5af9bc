# SPDX-License-Identifier: MIT
"""Threads wait for the pages of arenas.

Pages pass from dirty (just freed) to muzzy (offered to the system) to retained (address space
only). In jemalloc each kind has a lock in each arena; in hew one lock guards all pages and is
reported as dirty. Speaks of the kind that is waited for most, from 5 % of a thread's time on (or
100 waits a second).

| waited for | cause | setting |
|---|---|---|
| retained | requests find neither dirty nor muzzy pages | a longer `muzzy_decay_ms` |
| muzzy | requests find no dirty pages | a longer `dirty_decay_ms` |
| dirty | too many requests reach the pages | larger caches or slabs (`cache-depth`, `slab-sizes`), or more arenas |

The first two are tested with made-up reports: in 22 runs on two CPUs threads waited at most 42
times a second for them.
"""

from hew.analysis.advice.basis import Basis, arena_evidence, basis, is_hew, version, wait_for
from hew.analysis.advice.slab_sizes import few_and_filled, filled_often
from hew.model.advice import Advice, Case, Evidence, Setting
from hew.model.figures import Unit

NAME = "extents-contention"
KINDS = ("retained", "muzzy", "dirty")
LONGER_MS = 10_000
LARGEST_CACHED = 1 << 20
MOST_BYTES, MOST_SLOTS, LEAST_SLOTS = 4 << 20, 200, 20  # of a class in a thread's cache
SLABS_SHARE = 0.5  # from here on it is slabs that the lock is taken for, not large objects


def rule(case: Case) -> Advice | None:
    """The advice, or None."""
    base = basis(case)
    if base is None:
        return None
    waits = {
        kind: wait_for(f"{base.arena.where}.mutexes.extents_{kind}", [lock], base.seconds)
        for kind in KINDS
        if (lock := base.arena.mutexes.get(f"extents_{kind}")) is not None
    }
    kind = max(waits, key=lambda one: waits[one].weight, default="dirty")
    if kind not in waits or not waits[kind].much:
        return None
    settings, change = _dirty(base) if kind == "dirty" else (_decay(base, kind), None)
    if settings is None:
        return None
    requests = Evidence(
        "requests too large for slabs and caches", base.per_second(base.arena.large.nmalloc), Unit.PER_SECOND,
        f"{base.arena.where}.large.nmalloc",
    )  # fmt: skip
    return Advice(
        rule=NAME,
        title=f"threads wait for the {kind} pages of arenas",
        subject=base.snapshot.subject,
        evidence=(*waits[kind].evidence(f"{kind} pages"), requests, *arena_evidence(base)),
        settings=settings,
        cpu="less: requests stay in thread caches, or find pages one lock earlier",
        memory="more: what is cached, or kept for longer, by every arena or thread",
        risk="low",
        verify=f"the report again: num_wait of extents_{kind} should fall, and the next kind's not rise as much",
        change=change,
    )


def _decay(base: Basis, kind: str) -> tuple[Setting, ...]:
    """Keep the kind before the one waited for longer."""
    name = "muzzy_decay_ms" if kind == "retained" else "dirty_decay_ms"
    now = base.snapshot.number_option(name) or 0
    return (Setting(name, str(max(now * 4, LONGER_MS)), live=f"arenas.{name}"),)


def _cached_class(base: Basis) -> int | None:
    """The large class that thread caches may hold and that is asked for most; in JSON, that has most objects."""
    most = base.snapshot.layout.tcache_max or 0
    used = [one for one in base.arena.lextents if one.size <= most and (one.nmalloc or one.curlextents)]
    best = max(used, key=lambda one: one.nmalloc or one.curlextents or 0, default=None)
    return best.size if best else None


def _dirty(base: Basis) -> tuple[tuple[Setting, ...] | None, str | None]:
    large = base.arena.large.nmalloc or 0
    cached = _cached_class(base)
    slabs = sum((one.nreslabs or 0) + (one.nslabs or 0) for one in base.arena.bins)
    old = version(base.snapshot) and version(base.snapshot) <= (5, 3, 0)
    most = base.snapshot.layout.tcache_max or 0
    if large > slabs * SLABS_SHARE and is_hew(base.snapshot) and cached:
        slots = max(min(MOST_BYTES // cached, MOST_SLOTS), LEAST_SLOTS)
        return (Setting("tcache_ncached_max", f"{cached}-{cached}:{slots}"),), None
    if large > slabs * SLABS_SHARE and (is_hew(base.snapshot) or old) and most < LARGEST_CACHED:
        has_bytes = is_hew(base.snapshot) or version(base.snapshot) >= (5, 3, 0)
        return (Setting("tcache_max", str(LARGEST_CACHED)) if has_bytes else Setting("lg_tcache_max", "20"),), None
    if large > slabs * SLABS_SHARE:
        narenas = base.snapshot.number_option("narenas") or 1
        change = "keep large buffers for reuse in the program: this version caches none above tcache_max"
        return (Setting("narenas", str(narenas * 4)),), change
    if filled_often(base) or few_and_filled(base):  # slab-sizes and cache-depth say what to do
        return None, None
    return (), "slabs come and go: keep objects of a kind for reuse, or give busy threads an arena of their own"
