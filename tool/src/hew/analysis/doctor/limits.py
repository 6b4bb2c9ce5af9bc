# SPDX-License-Identifier: MIT
"""Compares a process's limits with its allocator's behaviour under them."""

import math
from collections.abc import Iterator

from hew.analysis.doctor.settings import arena_limit, fitting_arenas
from hew.analysis.limit import NEAR, beyond
from hew.model.finding import Finding, Level
from hew.model.known_allocators import GLIBC, HEW, JEMALLOC
from hew.model.process import ProcessFacts
from hew.model.quantity import size

TOPIC = "limits"
ARENAS_A_CPU = {GLIBC: 8, JEMALLOC: 4}  # as they choose them where pointers have 64 bits
MAPS = 8 << 30  # bytes of address space: hew's maps have more, unless they are taken piece by piece
RESERVERS = {JEMALLOC: "retain:true keeps address space for reuse", HEW: "its map of pages reserves address space"}


def limit_findings(facts: ProcessFacts) -> Iterator[Finding]:
    """CPUs and memory of the control group, address space, locked memory."""
    yield _cpus(facts)
    yield from _memory(facts)
    yield from _address_space(facts)
    yield from _reserved(facts)
    yield from _locked(facts)


def _cpus(facts: ProcessFacts) -> Finding:
    limits, code = facts.limits, facts.provider.code if facts.provider else None
    kind = code.kind if code else None
    group = limits.cpus_of_group
    usable = min(limits.cpus_allowed, group or math.inf)
    what = f"{limits.cpus_allowed} CPUs" if group is None else f"{group:g} CPUs' time on {limits.cpus_allowed} CPUs"
    evidence: dict[str, object] = {"cpus_allowed": limits.cpus_allowed, "cpus_of_group": group}
    if code is None or kind not in ARENAS_A_CPU:
        sees = "hew counts them so" if kind == HEW else ""
        return Finding(TOPIC, Level.FACT, f"the process may use {what}", sees, "", evidence)
    default = limits.cpus_allowed * ARENAS_A_CPU[kind] if limits.cpus_allowed > 1 or kind == GLIBC else 1
    fitting = max(1, math.ceil(usable)) * ARENAS_A_CPU[kind] if kind == JEMALLOC else fitting_arenas(facts)
    evidence |= {"arenas_by_default": default}
    if usable >= limits.cpus_allowed or _arenas_are_set(facts, kind):
        so_many = "as many arenas as its settings say" if _arenas_are_set(facts, kind) else f"up to {default} arenas"
        return Finding(TOPIC, Level.FACT, f"the process may use {what}", f"{code.title} makes {so_many}", "", evidence)
    if facts.threads <= fitting:
        why = f"{code.title} may make up to {default} arenas, but there are too few threads for more than fit"
        return Finding(TOPIC, Level.FACT, f"the process may use {what}", why, "", evidence)
    setting = f"{code.variable}=narenas:{fitting}" if kind == JEMALLOC else f"MALLOC_ARENA_MAX={fitting}"
    return Finding(
        TOPIC,
        Level.WARNING,
        f"the group allows {what}, but {code.title} counts the CPUs alone: up to {default} arenas",
        f"each arena keeps unused memory of its own, and no more than {math.ceil(usable)} threads run at a time",
        f"set {setting}; hew reads the quota by itself (hew run)",
        evidence | {"arenas_that_fit": fitting},
    )


def _arenas_are_set(facts: ProcessFacts, kind: str) -> bool:
    if kind == GLIBC:
        return any(arena_limit(setting) for setting in facts.settings)
    texts = [setting.value for setting in facts.settings] + [facts.system.conf_link or ""]
    return any("narenas:" in text or "percpu_arena:" in text for text in texts)


def _memory(facts: ProcessFacts) -> Iterator[Finding]:
    """The footprint against the group's limit."""
    limit, used = facts.limits.memory_of_group, facts.limits.memory_used_by_group
    resident, peak = facts.memory.resident, facts.memory.peak
    what = f"RSS is {size(resident)} (peak {size(peak)}), {size(facts.memory.anonymous)} of it anonymous"
    evidence: dict[str, object] = {
        "resident_bytes": resident,
        "peak_bytes": peak,
        "limit_bytes": limit,
        "used_bytes": used,
    }
    if limit is None:
        yield Finding(TOPIC, Level.FACT, f"{what}; no memory limit of a control group", "", "", evidence)
        return
    what += f"; the group's limit is {size(limit)}"
    worst = max(peak, used or 0)
    if worst < NEAR * limit:
        yield Finding(TOPIC, Level.FACT, what, "", "", evidence)
        return
    yield Finding(
        TOPIC,
        Level.WARNING,
        f"{what}, of which {max(resident, used or 0) / limit:.0%} is used",
        f"{beyond('cgroup')}; unused memory that the allocator keeps counts as used",
        f"hew advise {facts.pid} tells what holds it and what to set",
        evidence,
    )


def _address_space(facts: ProcessFacts) -> Iterator[Finding]:
    used = facts.memory.virtual
    kind = facts.provider.code.kind if facts.provider else None
    for name, limit in (("RLIMIT_AS", facts.limits.address_space), ("RLIMIT_DATA", facts.limits.data)):
        if limit is None:
            continue
        near = used > NEAR * limit
        reserver = RESERVERS.get(kind or "", "") or (
            "each thread arena reserves 64 MiB, 128 MiB for a moment"
            if kind == GLIBC
            else "allocators reserve more than they use"
        )
        yield Finding(
            TOPIC,
            Level.WARNING if near else Level.NOTE,
            f"{name} allows {size(limit)} of address space, of which {size(used)} is taken",
            f"malloc fails at that limit though memory is free: {reserver}",
            "limit memory by a control group (memory.max) instead, and set this one to unlimited",
            {"limit": name, "limit_bytes": limit, "virtual_bytes": used, "resident_bytes": facts.memory.resident},
        )


def _reserved(facts: ProcessFacts) -> Iterator[Finding]:
    """Explains the large virtual size of a process on hew, which may alarm its operators."""
    virtual, code = facts.memory.virtual, facts.provider.code if facts.provider else None
    if code is None or code.kind != HEW or virtual < MAPS:
        return
    yield Finding(
        TOPIC,
        Level.FACT,
        f"the virtual size (VIRT) is {size(virtual)}, of which {code.title} reserves 9 GiB for its maps",
        f"reserved address space is no memory: RSS, {size(facts.memory.resident)}, is what the process uses",
        "HEW_CONF=reserve_maps:false takes it piece by piece, where VIRT is watched or limited",
        {"virtual_bytes": virtual, "resident_bytes": facts.memory.resident},
    )


def _locked(facts: ProcessFacts) -> Iterator[Finding]:
    """Locked pages cannot be returned while they stay mapped."""
    locked, limit = facts.memory.locked, facts.limits.locked
    evidence = {"locked_bytes": locked, "limit_bytes": limit}
    allowed = "without limit" if limit is None else f"up to {size(limit)}"
    if not locked:
        yield Finding(TOPIC, Level.FACT, f"no memory is locked (RLIMIT_MEMLOCK: {allowed})", "", "", evidence)
        return
    yield Finding(
        TOPIC,
        Level.WARNING,
        f"{size(locked)} is locked in memory (mlock or mlockall; RLIMIT_MEMLOCK: {allowed})",
        "madvise fails on locked pages: what an allocator wants to return stays resident until it is unmapped",
        "lock only what has to be; under mlockall expect RSS to stay at its peak, and choose few arenas",
        evidence,
    )
