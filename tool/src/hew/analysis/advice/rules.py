# SPDX-License-Identifier: MIT
"""All rules, in the order in which their advice is shown: CPU first, then memory."""

from collections.abc import Sequence
from types import ModuleType

from hew.analysis.advice import (
    arenas_too_few,
    background_thread,
    cache_depth,
    cache_oblivious,
    caches_off,
    decay_too_long,
    decay_too_short,
    depots,
    extents_contention,
    external_fragmentation,
    glibc_arenas,
    glibc_trim,
    hot_threads,
    huge_pages,
    internal_fragmentation,
    memory_limit,
    metadata,
    misuse,
    narenas_limit,
    never_freed,
    oversize,
    slab_sizes,
    thread_caches,
)
from hew.analysis.advice.reconcile import reconciled
from hew.model.advice import Advice, Case
from hew.model.known_allocators import GLIBC

MODULES: Sequence[ModuleType] = (
    misuse,
    caches_off,
    arenas_too_few,
    hot_threads,
    extents_contention,
    slab_sizes,
    cache_depth,
    depots,
    decay_too_short,
    oversize,
    decay_too_long,
    background_thread,
    thread_caches,
    memory_limit,
    never_freed,
    external_fragmentation,
    internal_fragmentation,
    cache_oblivious,
    narenas_limit,
    metadata,
    huge_pages,
    glibc_arenas,
    glibc_trim,
)


def looking(case: Case) -> int:
    """How many rules find what they look at: statistics, a process on glibc, a limit of memory."""
    code = case.process.provider.code if case.process and case.process.provider else None
    found = {"process"} if not case.snapshot and code and code.kind == GLIBC else set()
    if case.snapshot and case.snapshot.counts:
        found.add("report")
    if memory_limit.limits(case):
        found.add("limit")
    return sum(getattr(module, "LOOKS_AT", "report") in found for module in MODULES)


def advise(case: Case) -> tuple[Advice, ...]:
    """What every rule has to say, in words that do not contradict each other."""
    found = (module.rule(case) for module in MODULES)
    return reconciled([one for one in found if one is not None])
