# SPDX-License-Identifier: MIT
"""Pages go back to the system and are wanted again: decay is too short.

Returning a page and taking it again costs about 2 µs. Speaks when decay is shorter than 10 s,
10,000 pages a second go back (2 % of a CPU), and it is the same memory: in all at least five times
the arenas' address space. The arena of oversize requests is left to `oversize`.

From 10 s on it is silent: then something else returns the pages. An arena whose last thread ends
returns all at once, whatever the decay time.
"""

from hew.analysis.advice.basis import basis
from hew.analysis.advice.oversize import purged_by, purging_at_once
from hew.model.advice import Advice, Case, Evidence, Setting
from hew.model.figures import Unit
from hew.model.statistics import total

NAME = "decay-too-short"
PAGES_PER_SECOND = 10_000.0
ROUNDS = 5.0
SECONDS_A_PAGE = 2e-6
DEFAULT_MS = 10_000


def rule(case: Case) -> Advice | None:
    """The advice, or None."""
    base = basis(case)
    if base is None:
        return None
    own = purging_at_once(base.snapshot)
    purged = (total((base.arena.dirty_purged, base.arena.muzzy_purged)) or 0) - sum(map(purged_by, own))
    rate = purged / base.seconds
    mapped = ((base.arena.mapped or 0) + (base.arena.retained or 0)) // base.snapshot.page
    now = base.snapshot.layout.dirty_decay_ms
    if now is None or not 0 <= now < DEFAULT_MS or rate < PAGES_PER_SECOND or purged < ROUNDS * mapped:
        return None
    wanted = 1000 if now < 1000 else DEFAULT_MS
    return Advice(
        rule=NAME,
        title="pages are returned to the system and faulted in again",
        subject=base.snapshot.subject,
        evidence=(
            Evidence("pages returned", rate, Unit.PER_SECOND, f"{base.arena.where}.dirty_purged, muzzy_purged"),
            Evidence("pages returned in all", purged, Unit.COUNT, f"{base.arena.where}.dirty_purged, muzzy_purged"),
            Evidence("pages of address space", mapped, Unit.COUNT, f"{base.arena.where}.mapped, retained"),
            Evidence("dirty pages are kept for", now / 1e3, Unit.SECONDS, "arenas.dirty_decay_ms"),
        ),
        settings=(Setting("dirty_decay_ms", str(wanted), live="arenas.dirty_decay_ms"),),
        cpu=f"less: about {rate * SECONDS_A_PAGE:.0%} of a CPU goes into this, more of it as system than as user time",
        memory="more: what the program frees and takes again within that time stays resident",
        risk="low; a burst stays resident for so long after its end",
        verify="the report again, and page faults and system time of the process (hew compare shows both)",
    )
