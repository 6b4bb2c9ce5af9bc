# SPDX-License-Identifier: MIT
"""Limits of memory: a real one in hew's report, and made-up ones of control groups, of hew and of glibc."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import PATIENCE, HewRunner, is_as_described, wait_until
from hew.analysis.advice.memory_limit import NAME, rule
from hew.analysis.advice.rules import advise
from hew.analysis.doctor import examine
from hew.model.advice import Advice, Case
from hew.model.finding import Level
from hew.model.glibc_heap import FreeMemory, GlibcHeap, HeapArena
from hew.model.process import Inside, ProcessFacts
from hew.model.statistics import Arena, Depot, Layout, MemoryLimit, Snapshot, Totals
from hew.sources.process_facts import read_process
from hew.sources.statistics.place import asked
from stubs import running
from test_advise_for_real import report

MIB = 1 << 20
JEMALLOC, HEW = "5.3.0-0-g54eaed1d8b56b1aa528be3bdd1877e59c56fa90c", "5.3.1-0-ghew0.1.0"
Programs = Callable[[str], list[str]]


def snapshot(version: str, active: int, idle: int = 0, cached: int = 0, **changes: object) -> Snapshot:
    """A report of a minute, in MiB."""
    arena = Arena("merged", uptime_ns=60 * 10**9, pdirty=idle * 256, pmuzzy=0, tcache_bytes=cached * MIB)
    totals = Totals(allocated=active * MIB, active=active * MIB, resident=(active + idle) * MIB, metadata=0)
    plain = Snapshot("JSON", version, totals=totals, merged=arena, layout=Layout(page=4096, dirty_decay_ms=10_000))
    return Snapshot(**{**vars(plain), **changes})


def process(limit: int, used: int, own: int) -> ProcessFacts:
    """Of a group, in MiB."""
    facts = read_process(os.getpid())
    limits = replace(facts.limits, memory_of_group=limit * MIB, memory_used_by_group=used * MIB)
    memory = replace(facts.memory, anonymous=own * MIB, resident=own * MIB)
    return replace(facts, limits=limits, memory=memory, heap=None)


def spoken(case: Case) -> Advice:
    advice = rule(case)
    assert advice is not None
    return advice


@pytest.mark.parametrize("form", ["", "J"])
def test_a_program_near_its_limit_is_told_which_one_would_do(form: str, programs: Programs, hew_library: Path) -> None:
    words = programs("hold 1 65536 600 1 1")
    tight = report(hew_library, words, f"limit:{32 * MIB}", form)
    assert (tight.limit.source, tight.limit.bytes) == ("limit", 32 * MIB)
    assert (tight.limit.looks or 0) > 0
    advice = spoken(Case(tight))
    assert [one.label for one in advice.evidence[:2]] == ["limit", "used of it"]
    assert "soft" in (advice.otherwise or "")
    assert advice.conf().startswith("limit:")
    assert rule(Case(report(hew_library, words, advice.conf(), form))) is None


def test_a_program_far_from_its_limit_is_left_alone(programs: Programs, hew_library: Path) -> None:
    roomy = report(hew_library, programs("hold 1 65536 100 1 1"), f"limit:{100 * MIB}", "J")
    assert roomy.limit.source == "limit"
    assert rule(Case(roomy)) is None


def test_statistics_and_doctor_show_the_limit_of_a_live_process(
    hew: HewRunner, programs: Programs, hew_library: Path
) -> None:
    conf = f"control:auto,limit_hard:{64 * MIB}"
    changes = {"LD_PRELOAD": str(hew_library), "HEW_CONF": conf}
    with running(programs("hold 1 65536 900 1 600000"), changes) as pid:
        wait_until(lambda: (asked(pid).snapshots[0].limit.held or 0) > 50 * MIB, f"after {PATIENCE} s")
        shown = hew("stats", str(pid)).stdout
        assert "memory limit" in shown
        assert "limit_hard" in shown
        document = is_as_described(hew("stats", "--json", str(pid)).stdout, "stats")
        assert document["snapshots"][0]["limit"]["bytes"] == 64 * MIB
        assert f"hew keeps to limit_hard:{64 * MIB}" in hew("doctor", str(pid)).stdout


def test_the_group_counts_where_hew_does_not_know_it() -> None:
    near = process(limit=100, used=95, own=90)
    advice = spoken(Case(snapshot(JEMALLOC, active=40, idle=45, opt={"background_thread": False}), near))
    assert [one.text for one in advice.settings] == ["dirty_decay_ms:1000", "background_thread:true"]
    assert "ends a process" in (advice.otherwise or "")
    assert "45.0 MiB" in advice.memory
    assert "raise" not in (advice.change or "")
    assert rule(Case(snapshot(JEMALLOC, 40, 45), process(limit=100, used=89, own=80))) is None


def test_where_objects_hold_it_only_a_larger_limit_helps() -> None:
    advice = spoken(Case(snapshot(JEMALLOC, active=90), process(limit=100, used=96, own=95)))
    assert advice.settings == ()
    assert "raise the limit to 120 MiB" in (advice.change or "")


def test_other_processes_of_the_group_are_named() -> None:
    advice = spoken(Case(snapshot(JEMALLOC, active=10), process(limit=100, used=96, own=12)))
    assert {one.label: one.value for one in advice.evidence}[
        "other processes of the group, and the kernel's"
    ] == 84 * MIB
    assert "other processes" in (advice.change or "")


def test_decay_advice_agrees_with_that_of_decay_too_long() -> None:
    kept = snapshot(JEMALLOC, active=40, idle=50, layout=Layout(page=4096, dirty_decay_ms=-1))
    found = {one.rule: one for one in advise(Case(kept, process(limit=100, used=95, own=94)))}
    assert {"decay-too-long", NAME} <= found.keys()
    assert found["decay-too-long"].settings[0] == found[NAME].settings[0]


def test_caches_are_made_smaller_beside_the_rule_about_caches() -> None:
    full = snapshot(JEMALLOC, active=90, cached=40)
    found = {one.rule: one.conf() for one in advise(Case(full, process(limit=100, used=95, own=94)))}
    assert found[NAME] == found["thread-caches"] != ""


def test_what_depots_hold_is_not_laid_to_the_caches_of_threads() -> None:
    full = snapshot(HEW, active=90, cached=40)
    assert "thread-caches" in {one.rule for one in advise(Case(full))}
    shared = replace(full, depot=Depot(bytes=30 * MIB, limit=40 * MIB, depots=1))
    assert "thread-caches" not in {one.rule for one in advise(Case(shared))}
    some = replace(full, depot=Depot(bytes=10 * MIB, limit=40 * MIB, depots=1))
    advice = next(one for one in advise(Case(some)) if one.rule == "thread-caches")
    held = next(one for one in advice.evidence if one.label == "in thread caches")
    assert held.value == 30 * MIB
    assert held.where.endswith(".tcache_bytes - stats.depot.bytes)")


def test_on_hew_unused_pages_count_for_nothing_and_giving_them_back_only_when_it_costs() -> None:
    limit = MemoryLimit("limit", 100 * MIB, held=95 * MIB, looks=9, relieved=4, returned=60 * MIB)
    assert rule(Case(snapshot(HEW, active=60, idle=35, limit=limit))) is None
    costly = replace(limit, returned=60 * 10_000 * 4096)
    advice = spoken(Case(snapshot(HEW, active=60, idle=35, limit=costly)))
    assert advice.cpu.startswith("less: giving back")
    assert advice.conf() == f"limit:{125 * MIB}"


def test_a_hard_limit_says_that_malloc_fails() -> None:
    hard = MemoryLimit("limit_hard", 100 * MIB, held=97 * MIB, looks=9, relieved=0, returned=0)
    advice = spoken(Case(snapshot(HEW, active=96, limit=hard)))
    assert "NULL" in (advice.otherwise or "")
    assert advice.conf() == f"limit_hard:{120 * MIB}"


def test_glibc_is_told_to_trim() -> None:
    free = FreeMemory(free=50 * MIB, top=0, fast=0, whole_pages=50 * MIB, resident=50 * MIB, chunks=9, complete=True)
    heap = GlibcHeap("2.36", (HeapArena(1, True, 90 * MIB, 1, free),), 0, 0, 0, False, "12:00:00")
    advice = spoken(Case(None, replace(process(limit=100, used=95, own=94), heap=heap)))
    assert "malloc_trim" in (advice.change or "")
    assert "50.0 MiB" in advice.memory


def test_the_doctor_says_how_near_hew_is_to_its_limit() -> None:
    limit = MemoryLimit("cgroup", 100 * MIB, held=95 * MIB, looks=9, relieved=4, returned=60 * MIB)
    facts = replace(read_process(os.getpid()), inside=Inside({}, {}, 1, 1, limit))
    (found,) = [one for one in examine(facts) if "keeps to" in one.what]
    assert found.level is Level.NOTE
    assert "returned 60.0 MiB in 4 times" in found.what
