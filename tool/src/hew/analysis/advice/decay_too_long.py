# SPDX-License-Identifier: MIT
"""Unused pages are kept for ever, or for very long: decay is too long.

Speaks when dirty and muzzy pages are a quarter of what is resident and 32 MiB or more, and they are kept for ever
(-1) or for more than 30 s, three times the default: whoever shortens decay to the default pays for one more round
of faults (2 µs a page) per 10 s at most, which is 0.2 % of a CPU for 32 MiB.
"""

from hew.analysis.advice.basis import MIB
from hew.analysis.memory import pages
from hew.model.advice import Advice, Case, Evidence, Setting
from hew.model.figures import Unit

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
    kept = {
        name: bytes_
        for name, count, now in (
            ("dirty", arena.pdirty, snapshot.layout.dirty_decay_ms),
            ("muzzy", arena.pmuzzy, snapshot.layout.muzzy_decay_ms),
        )
        if now is not None and (now < 0 or now > LONG_MS) and (bytes_ := pages(snapshot, count))
    }
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
    return Advice(
        rule=NAME,
        title="unused pages stay resident because decay is " + ("off" if _never(snapshot.layout, kept) else "long"),
        subject=snapshot.subject,
        evidence=tuple(evidence),
        settings=tuple(Setting(f"{name}_decay_ms", str(wanted[name]), live=f"arenas.{name}_decay_ms") for name in kept),
        cpu="a little more: pages that are used again after a pause are faulted in again, 2 µs each",
        memory="less: up to what is given above, some seconds after it was last used",
        risk="low at 10 s; a program with a burst every few seconds would rather keep its pages",
        verify="RSS in a quiet hour, and page faults under load",
    )


def _never(layout: object, kept: dict[str, int]) -> bool:
    return any(getattr(layout, f"{name}_decay_ms") < 0 for name in kept)
