# SPDX-License-Identifier: MIT
"""All rules, in the order in which their advice is shown: CPU first, then memory."""

from collections.abc import Sequence
from types import ModuleType

from hew.analysis.advice import (
    arenas_too_few,
    background_thread,
    cache_depth,
    cache_oblivious,
    decay_too_long,
    decay_too_short,
    depots,
    extents_contention,
    external_fragmentation,
    glibc_arenas,
    hot_threads,
    huge_pages,
    internal_fragmentation,
    metadata,
    narenas_limit,
    oversize,
    slab_sizes,
    thread_caches,
)
from hew.analysis.advice.reconcile import reconciled
from hew.model.advice import Advice, Case

MODULES: Sequence[ModuleType] = (
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
    external_fragmentation,
    internal_fragmentation,
    cache_oblivious,
    narenas_limit,
    metadata,
    huge_pages,
    glibc_arenas,
)


def advise(case: Case) -> tuple[Advice, ...]:
    """What every rule has to say, in words that do not contradict each other."""
    found = (module.rule(case) for module in MODULES)
    return reconciled([one for one in found if one is not None])
