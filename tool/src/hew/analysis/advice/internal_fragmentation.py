# SPDX-License-Identifier: MIT
"""Objects are smaller than their size class.

Requested sizes are known from live samples (`prof:true` for a running process on hew,
`prof:true,prof_stats:true` for a report) or from a trace (`--trace`, `--record`). Where they are
unknown, `hew advise` says that it did not look.

Speaks for classes whose objects asked for little more than the class below has: three quarters of
the step between the two are unused, where evenly spread sizes leave half. That must add up to 8 MiB
and to 1 % of all that is allocated. A class needs 100 objects seen.

jemalloc writes these numbers into the sum of all arenas only, which it leaves out when one arena is
in use: use `stats_print_opts:Ja`.
"""

from collections.abc import Iterator

from hew.analysis.advice.basis import MIB
from hew.model.advice import Advice, Case, Evidence
from hew.model.figures import Unit
from hew.model.statistics import Arena, Bin, LargeClass

NAME = "internal-fragmentation"
LEAST_BYTES = 8 * MIB
LEAST_SHARE = 0.01  # of what is allocated
LEAST_OF_STEP = 0.75
LEAST_SEEN = 100
STEPS = {"hew": 8}  # size classes a doubling
STEPS_OF_JEMALLOC = 4
FILL = (
    "ask for sizes that fill a class (a heap profile names the callers): trim a structure below the next smaller "
    "class, or let buffers grow by classes (nallocx, malloc_usable_size)"
)
CUT = "; or record a trace and let hew cut find classes that fit (the setting classes)"


def _step(size: int, steps: int) -> int:
    """From the class below to this one. Reports leave out classes without objects, so it is computed."""
    return max((1 << (size - 1).bit_length() >> 1) // steps, 8)


def _unused(arena: Arena, steps: int) -> Iterator[tuple[Bin | LargeClass, float]]:
    """Classes with objects that lie just above the class below, and the bytes that their live objects leave unused."""
    classes: tuple[Bin | LargeClass, ...] = (*arena.bins, *arena.lextents)
    for one in classes:
        seen = one.prof_live_count
        if not seen or seen < LEAST_SEEN or one.prof_live_requested is None:
            continue
        live = one.curregs if isinstance(one, Bin) else one.curlextents
        slack = one.size - one.prof_live_requested / seen
        if slack >= LEAST_OF_STEP * _step(one.size, steps):
            yield one, slack * (live or 0)


def rule(case: Case) -> Advice | None:
    """The advice, or None."""
    snapshot = case.snapshot
    arena = snapshot.all_arenas if snapshot else None
    if snapshot is None or arena is None:
        return None
    least = max(LEAST_BYTES, LEAST_SHARE * (snapshot.totals.allocated or 0))
    steps = STEPS.get(snapshot.allocator, STEPS_OF_JEMALLOC)
    found = sorted((pair for pair in _unused(arena, steps) if pair[1] >= least), key=lambda pair: -pair[1])
    if not found:
        return None
    evidence: list[Evidence] = []
    for one, lost in found:
        kind, live = ("bins", "curregs") if isinstance(one, Bin) else ("lextents", "curlextents")
        where = f"{arena.where}.{kind}[{one.size} B]"
        asked = (one.prof_live_requested or 0) / (one.prof_live_count or 1)
        evidence.append(Evidence(f"unused in objects of {one.size} B", lost, Unit.BYTES, f"{where}.{live} × share"))
        evidence.append(Evidence("  asked for, on average", asked, Unit.BYTES, f"{where}.prof_live_requested / count"))
    sizes = ", ".join(str(one.size) for one, _ in found)
    return Advice(
        rule=NAME,
        title=f"objects of {sizes} bytes hold less than they have room for",
        subject=snapshot.subject,
        evidence=tuple(evidence),
        settings=(),
        cpu="none",
        memory=f"less: up to {sum(lost for _, lost in found) / MIB:.0f} MiB",
        risk="none for the program's meaning; it is a change of its code",
        verify="the same report: prof_live_requested against the class's size",
        change=FILL + (CUT if snapshot.allocator == "hew" else ""),
    )
