# SPDX-License-Identifier: MIT
"""hew's depots refuse batches: make the caches of these classes deeper.

A depot is hew's cache of a CPU, between threads and arenas. A burst larger than its limit passes it
by: refused batches go to the arena (`refusals`), and the next threads find the depot empty
(`misses`).

Speaks when 20,000 batches a second do so (2 % of a CPU) and they are a tenth of all. A fourth of a
class's objects must have returned to the arenas. Classes with a tenth of the refills get caches of
1 MiB for a thread and class: four threads with 256-byte objects in bursts of 3,000 then refilled
204 times instead of 71,693. `depot_room` is the alternative: larger depots for all classes, shared
by all threads.
"""

from hew.analysis.advice.basis import arena_evidence, arena_wait, basis, is_hew, ranges
from hew.model.advice import Advice, Case, Evidence, Setting
from hew.model.figures import Unit
from hew.model.statistics import Bin

NAME = "depots"
BATCHES_PER_SECOND = 20_000
LEAST_SHARE = 0.1
BYTES = 1 << 20
MOST_SLOTS = 8191


def rule(case: Case) -> Advice | None:
    """The advice, or None."""
    base = basis(case)
    if base is None or not is_hew(base.snapshot):
        return None
    depot = base.snapshot.depot
    away = (depot.misses or 0) + (depot.refusals or 0)
    everything = away + (depot.takes or 0) + (depot.gives or 0)
    wait = arena_wait(base.arena, base.seconds)
    if base.per_second(away) < BATCHES_PER_SECOND or away < LEAST_SHARE * everything:
        return None
    fills = sum(one.nfills or 0 for one in base.arena.bins)
    bins = [one for one in base.arena.bins if one.nfills and one.nfills >= LEAST_SHARE * fills and _comes_back(one)]
    if base.per_second(sum(one.nfills or 0 for one in bins)) < BATCHES_PER_SECOND:
        return None
    slots = min(BYTES // max(one.size for one in bins), MOST_SLOTS)
    sizes = ", ".join(str(one.size) for one in bins)
    return Advice(
        rule=NAME,
        title=f"bursts of {sizes} bytes are more than depots hold: threads meet at the arenas",
        subject=base.snapshot.subject,
        evidence=(
            Evidence("batches not in a depot", base.per_second(depot.misses), Unit.PER_SECOND, "stats.depot.misses"),
            Evidence("batches without room", base.per_second(depot.refusals), Unit.PER_SECOND, "stats.depot.refusals"),
            Evidence("batches from depots", base.per_second(depot.takes), Unit.PER_SECOND, "stats.depot.takes"),
            Evidence("depots hold", depot.bytes or 0, Unit.BYTES, "stats.depot.bytes"),
            Evidence("depots hold at most", depot.limit or 0, Unit.BYTES, "stats.depot.limit"),
            *wait.evidence("arenas' locks"),
            *arena_evidence(base),
        ),
        settings=(Setting("tcache_ncached_max", ranges(bins, slots)),),
        cpu="less: a burst stays in its thread's cache, and takes no lock",
        memory=f"more: up to {slots} objects of these classes in each thread that has such bursts",
        risk="low with tens of threads; with thousands, multiply the bytes above by the number of threads, or try "
        "depot_room:400 instead, which is one room for all of them",
        verify="the report again: stats.depot.misses and the fills of these classes should fall to a tenth",
    )


def _comes_back(one: Bin) -> bool:
    return (one.ndalloc or 0) * 4 >= (one.nmalloc or 0)
