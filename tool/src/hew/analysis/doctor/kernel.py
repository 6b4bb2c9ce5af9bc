# SPDX-License-Identifier: MIT
"""The kernel's part: huge pages, overcommit, the number of mappings."""

import re
from collections.abc import Iterator

from hew.model.finding import Finding, Level
from hew.model.process import ProcessFacts
from hew.model.quantity import size

TOPIC = "kernel"
STRICT = 2  # vm.overcommit_memory: no more address space than there is memory
NEAR = 0.8
MANY = 64 << 20
SHARE = 0.2
MEANING = {
    "always": "the kernel gives them to any memory that is large enough",
    "madvise": "the kernel gives them where a program asks",
    "never": "the kernel gives none",
}


def kernel_findings(facts: ProcessFacts) -> Iterator[Finding]:
    """What the kernel's settings mean for this process."""
    yield _huge_pages(facts)
    yield from _asked_in_vain(facts)
    yield from _overcommit(facts)
    yield from _mappings(facts)


def _huge_pages(facts: ProcessFacts) -> Finding:
    mode, huge, anonymous = facts.system.huge_pages, facts.memory.huge, facts.memory.anonymous
    evidence: dict[str, object] = {
        "mode": mode,
        "huge_bytes": huge,
        "anonymous_bytes": anonymous,
        "max_ptes_none": facts.system.huge_page_fill,
    }
    has = (
        "how much of this process they hold may not be read"
        if huge is None
        else f"this process has {size(huge) if huge else 'nothing'} in them"
    )
    what = f"transparent huge pages: {mode}; {has}"
    if mode == "always" and huge is not None and huge >= MANY and huge >= SHARE * anonymous:
        return Finding(
            TOPIC,
            Level.NOTE,
            what,
            f"of {size(anonymous)} of anonymous memory; a page of 2 MiB is resident as a whole though one byte is used",
            "compare RSS and time under thp:never (hew, jemalloc) or under mode madvise; huge pages save time",
            evidence,
        )
    return Finding(TOPIC, Level.FACT, what, MEANING.get(mode, ""), "", evidence)


def _asked_in_vain(facts: ProcessFacts) -> Iterator[Finding]:
    """Settings that ask for huge pages where the kernel gives none."""
    code = facts.provider.code if facts.provider else None
    if facts.system.huge_pages not in {"never", "absent"} or code is None:
        return
    for setting in facts.settings:
        asks = re.search(r"(?:^|,)(?:thp:always|metadata_thp:(?:auto|always))|hugetlb=1", setting.value)
        if asks:
            yield Finding(
                TOPIC,
                Level.WARNING,
                f"{setting.variable} asks {code.title} for huge pages ({asks[0].lstrip(',')}) in vain",
                "/sys/kernel/mm/transparent_hugepage/enabled says never: the kernel gives none",
                "have the host's owner set it to madvise, or take the setting away",
                {"variable": setting.variable},
            )


def _overcommit(facts: ProcessFacts) -> Iterator[Finding]:
    mode, limit, committed = facts.system.overcommit, facts.system.commit_limit, facts.system.committed
    if mode is None:
        return
    evidence = {"mode": mode, "commit_limit_bytes": limit, "committed_bytes": committed}
    if mode != STRICT:
        yield Finding(TOPIC, Level.FACT, f"overcommit: mode {mode}, reserved address space is free", "", "", evidence)
        return
    near = committed > NEAR * limit
    yield Finding(
        TOPIC,
        Level.WARNING if near else Level.NOTE,
        f"overcommit: mode 2, {size(committed)} of {size(limit)} is promised; mapped: {size(facts.memory.virtual)}",
        "the kernel counts writable address space as if it were used: malloc and fork fail long before memory is full",
        "set vm.overcommit_memory to 0 or 1, or a larger vm.overcommit_ratio",
        evidence,
    )


def _mappings(facts: ProcessFacts) -> Iterator[Finding]:
    most = facts.system.most_areas
    if most is None or facts.areas < NEAR * most:
        return
    yield Finding(
        TOPIC,
        Level.WARNING,
        f"the process has {facts.areas:,} mappings of at most {most:,} (vm.max_map_count)",
        "at the limit mmap, munmap and madvise fail: malloc returns NULL though memory is free",
        "raise vm.max_map_count; small mappings come from protecting or giving back memory piece by piece",
        {"areas": facts.areas, "limit": most},
    )
