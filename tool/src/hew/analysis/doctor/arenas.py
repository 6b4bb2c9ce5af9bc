# SPDX-License-Identifier: MIT
"""glibc's arenas of 64 MiB: how many there are, and what they cost."""

from collections.abc import Iterator

from hew.analysis.doctor.settings import arena_limit, fitting_arenas
from hew.model.finding import Finding, Level
from hew.model.known_allocators import GLIBC
from hew.model.process import ProcessFacts
from hew.model.quantity import size

TOPIC = "arenas"
REGION = 64 << 20
SHARE = 0.25  # of RSS: less is not worth a change
LEAST = 32 << 20


def arena_findings(facts: ProcessFacts) -> Iterator[Finding]:
    """One finding for a process on glibc, none for others."""
    if facts.provider is None or facts.provider.code.kind != GLIBC:
        return
    regions, resident = facts.regions, facts.memory.resident
    if not regions:
        yield Finding(
            TOPIC, Level.FACT, f"glibc has one arena for {_threads(facts)}", "", "", {"arenas": 1, "regions": 0}
        )
        return
    proven = all(region.arena is not None for region in regions)
    arenas = len({region.arena for region in regions}) + 1 if proven else None
    cost = sum(region.resident for region in regions)
    evidence: dict[str, object] = {
        "arenas": arenas,
        "regions": len(regions),
        "resident_bytes": cost,
        "reserved_bytes": len(regions) * REGION,
        "process_resident_bytes": resident,
        "threads": facts.threads,
    }
    counted = f"{arenas} arenas" if arenas is not None else "arenas (the heads of their regions may not be read)"
    regions_said = f"{len(regions)} region{'s' if len(regions) > 1 else ''} of 64 MiB"
    what = f"glibc has {counted} for {_threads(facts)}: {regions_said}, {size(cost)} resident of {size(resident)}"
    limited = any(arena_limit(setting) for setting in facts.settings)
    cpus = max(1, round(facts.limits.cpus_of_group or facts.limits.cpus_allowed))
    heavy = cost >= LEAST and cost >= SHARE * resident and (arenas or len(regions)) > cpus
    if not heavy or limited:
        why = f"they hold {cost / resident:.0%} of RSS; reserved address space costs nothing" if resident else ""
        yield Finding(TOPIC, Level.FACT, what, why, "", evidence)
        return
    yield Finding(
        TOPIC,
        Level.WARNING,
        what,
        "what is freed in one arena no other can use, and glibc seldom gives the middle of one back: "
        f"{cost / resident:.0%} of RSS is in them",
        f"try MALLOC_ARENA_MAX={fitting_arenas(facts)} (locks cost time), or another malloc; hew compare measures it",
        evidence,
    )


def _threads(facts: ProcessFacts) -> str:
    return f"{facts.threads} thread{'s' if facts.threads != 1 else ''}"
