# SPDX-License-Identifier: MIT
"""Large requests exceed oversize_threshold and fault in all their pages each time.

From 8 MiB on jemalloc serves requests from an arena that keeps no idle page. Speaks when that arena
returns 10,000 pages a second (2 % of a CPU) while others keep something. hew has no such arena by
default.

The setting does not reach the program's first arena: jemalloc 5.3.0 and 5.3.1 make it before they
read the threshold. Buffers of 9 to 15 MiB took 6.0 ms each, and 5.5 with `oversize_threshold:0`;
from a thread of another arena 5.4 and 0.22. So no setting is advised where the first arena is
alone; otherwise the advice says what it does not reach.
"""

from hew.analysis.advice.basis import basis, is_hew
from hew.model.advice import Advice, Case, Evidence, Setting
from hew.model.figures import Unit
from hew.model.statistics import Arena, Snapshot

NAME = "oversize"
PAGES_PER_SECOND = 10_000.0
SECONDS_A_PAGE = 2e-6
KEEP = (
    "keep the buffer for the next request, or let a thread of another arena make them (mallctl thread.arena 1) with "
    "oversize_threshold:0: by itself that setting does not reach the first arena, which alone is in use here"
)
FIRST = "what the program's first thread requests goes back at once all the same: its arena, the first, is not reached"


def purging_at_once(snapshot: Snapshot) -> list[Arena]:
    """The arena of oversize requests: the first behind the automatic ones, when it alone keeps no page."""
    number = snapshot.number_option("narenas")
    if not snapshot.number_option("oversize_threshold") or snapshot.layout.dirty_decay_ms == 0:
        return []
    return [one for one in snapshot.arenas if one.key == str(number) and one.dirty_decay_ms == 0]


def purged_by(arena: Arena) -> int:
    """Pages that the arena has returned."""
    return (arena.dirty_purged or 0) + (arena.muzzy_purged or 0)


def only_first(snapshot: Snapshot, oversize: Arena) -> bool:
    """Whether all that the program allocates comes from the first arena, but for oversize requests."""
    return not is_hew(snapshot) and {one.key for one in snapshot.arenas} == {"0", oversize.key}


def rule(case: Case) -> Advice | None:
    """The advice, or None."""
    base = basis(case)
    found = purging_at_once(base.snapshot) if base else []
    if base is None or not found or base.per_second(purged_by(found[0])) < PAGES_PER_SECOND:
        return None
    arena = found[0]
    rate = base.per_second(purged_by(arena))
    first = only_first(base.snapshot, arena)
    threshold = base.snapshot.number_option("oversize_threshold") or 0
    return Advice(
        rule=NAME,
        title="requests above oversize_threshold are mapped, faulted in and returned each time",
        subject=base.snapshot.subject,
        evidence=(
            Evidence("pages returned by that arena", rate, Unit.PER_SECOND, f"{arena.where}.dirty_purged"),
            Evidence(
                "requests to it", base.per_second(arena.large.nmalloc), Unit.PER_SECOND, f"{arena.where}.large.nmalloc"
            ),
            Evidence("requests go there from", threshold, Unit.BYTES, "opt.oversize_threshold"),
        ),
        settings=() if first else (Setting("oversize_threshold", "0"),),
        change=KEEP if first else None if is_hew(base.snapshot) else FIRST,
        cpu=f"less: about {rate * SECONDS_A_PAGE:.0%} of a CPU goes into this",
        memory="more: freed buffers stay in each thread's arena until decay takes them",
        risk="large buffers and small objects share arenas, which may fragment them over weeks: watch stats.active",
        verify="the report again, and page faults of the process (hew compare shows them)",
    )
