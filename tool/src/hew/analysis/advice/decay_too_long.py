# SPDX-License-Identifier: MIT
"""Unused pages are kept for very long: decay is too long.

Speaks when dirty and muzzy pages are a quarter of resident memory, and 32 MiB or more, and are kept
for ever (-1) or for more than 30 s. Decay of 10 s costs at most 0.2 % of a CPU for 32 MiB.

Dirty pages become muzzy ones, which are resident too, so both settings may be advised: with
`dirty_decay_ms:-1,muzzy_decay_ms:-1` and only the first set to 10 s 331 MB stayed; with both, 14
MB.
"""

from hew.analysis.advice.basis import MIB
from hew.analysis.memory import pages
from hew.model.advice import Advice, Case, Evidence, Setting
from hew.model.figures import Unit
from hew.model.statistics import Layout

NAME = "decay-too-long"
LEAST_BYTES = 32 * MIB
LEAST_SHARE = 0.25
LONG_MS = 30_000
DEFAULT_MS = 10_000


def rule(case: Case) -> Advice | None:
    """The advice, or None."""
    snapshot = case.snapshot
    arena = snapshot.all_arenas if snapshot else None
    if snapshot is None or arena is None or not snapshot.totals.resident:
        return None
    counts = {"dirty": arena.pdirty, "muzzy": arena.pmuzzy}
    long = [name for name in counts if _long(snapshot.layout, name)]
    kept = {name: bytes_ for name in long if (bytes_ := pages(snapshot, counts[name]))}
    idle = sum(kept.values())
    if idle < LEAST_BYTES or idle < LEAST_SHARE * snapshot.totals.resident:
        return None
    evidence = [Evidence(f"{name} pages", size, Unit.BYTES, f"{arena.where}.p{name}") for name, size in kept.items()]
    for name in kept:
        now = getattr(snapshot.layout, f"{name}_decay_ms")
        label = f"{name} pages are kept for ever" if now < 0 else f"{name} pages are kept for (ms)"
        evidence.append(Evidence(label, now, Unit.COUNT, f"arenas.{name}_decay_ms"))
    evidence.append(Evidence("resident", snapshot.totals.resident, Unit.BYTES, "stats.resident"))
    wanted = {"dirty": DEFAULT_MS, "muzzy": 0}
    through = [name for name in long if name in kept or ("dirty" in kept and name == "muzzy")]
    return Advice(
        rule=NAME,
        title="unused pages stay resident because decay is " + ("off" if _never(snapshot.layout, kept) else "long"),
        subject=snapshot.subject,
        evidence=tuple(evidence),
        settings=tuple(
            Setting(f"{name}_decay_ms", str(wanted[name]), live=f"arenas.{name}_decay_ms") for name in through
        ),
        cpu="a little more: pages that are used again after a pause are faulted in again, 2 µs each",
        memory="less: up to what is given above, some seconds after it was last used",
        risk="low at 10 s; a program with a burst every few seconds would rather keep its pages",
        verify="RSS in a quiet hour, and page faults under load",
    )


def _long(layout: Layout, name: str) -> bool:
    now = getattr(layout, f"{name}_decay_ms")
    return now is not None and (now < 0 or now > LONG_MS)


def _never(layout: Layout, kept: dict[str, int]) -> bool:
    return any(getattr(layout, f"{name}_decay_ms") < 0 for name in kept)
