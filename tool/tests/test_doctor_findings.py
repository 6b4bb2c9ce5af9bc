# SPDX-License-Identifier: MIT
"""What the doctor makes of facts that this machine does not have: limits, modes of the kernel, hostile texts."""

import io
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from hew.analysis.coverage import coverage
from hew.analysis.doctor import examine
from hew.commands.advising import without_settings
from hew.model.advice import Case
from hew.model.coverage import Outcome
from hew.model.finding import Finding, Level
from hew.model.process import Code, HeapRegion, Inside, Limits, ProcessFacts, Provider, Setting, System
from hew.model.statistics import Snapshot
from hew.sources.patient import _tells_more
from hew.sources.process_facts import read_process
from hew.views.doctor import show_findings, to_document

LIMITS = Limits(
    None, None, 8 << 20, cpus_allowed=64, cpus_of_group=None, memory_of_group=None, memory_used_by_group=None
)
SYSTEM = System("madvise", 511, 0, 1 << 34, 1 << 30, 65530, None)


def code(kind: str, **changes: object) -> Code:
    plain = Code(Path(f"/lib/lib{kind}.so"), kind, "5.3.0", "", None, True, False, None, (), (), None)
    return Code(**{**vars(plain), **changes})


JEMALLOC = code("jemalloc", variable="MALLOC_CONF")
GLIBC = code("glibc")
PROGRAM = replace(GLIBC, kind=None, path=Path("/bin/name"), serves=False, interpreter="/lib/ld.so")


@pytest.fixture
def facts() -> ProcessFacts:
    """A process on jemalloc on 64 CPUs, with nothing wrong."""
    memory = replace(
        read_process(os.getpid()).memory, locked=0, huge=0, resident=1 << 30, peak=1 << 30, anonymous=1 << 30
    )
    return ProcessFacts(
        1, "name", ("name",), 4, False, {}, PROGRAM,
        (JEMALLOC,), Provider(JEMALLOC, "slot", False), (), (), memory, 100, LIMITS, SYSTEM, (), (),
    )  # fmt: skip


def asking(facts: ProcessFacts) -> list[Finding]:
    return [finding for finding in examine(facts) if finding.level is not Level.FACT]


def on_glibc(facts: ProcessFacts, **changes: object) -> ProcessFacts:
    changed = replace(facts, provider=Provider(GLIBC, "slot", False), others=(GLIBC,))
    return ProcessFacts(**{**vars(changed), **changes})


def test_nothing_is_asked_for_where_nothing_is_wrong(facts: ProcessFacts) -> None:
    assert asking(facts) == []
    assert asking(on_glibc(facts)) == []


def test_a_large_virtual_size_is_explained_where_it_is_hews(facts: ProcessFacts) -> None:
    def said(virtual: int, provider: Code) -> list[str]:
        large = replace(facts.memory, virtual=virtual)
        found = examine(replace(facts, memory=large, provider=Provider(provider, "slot", False)))
        return [one.next for one in found if "VIRT" in one.what]

    (advice,) = said(10 << 30, code("hew"))
    assert "HEW_CONF=reserve_maps:false" in advice
    assert said(1 << 30, code("hew")) == said(10 << 30, JEMALLOC) == []


def test_a_quota_below_the_cpus_asks_for_fewer_arenas(facts: ProcessFacts) -> None:
    facts = replace(facts, limits=replace(LIMITS, cpus_of_group=1.5), threads=40)
    (found,) = asking(facts)
    assert "256 arenas" in found.what
    assert "MALLOC_CONF=narenas:8" in found.next
    (found,) = asking(on_glibc(facts))
    assert "MALLOC_ARENA_MAX=2" in found.next


def test_arenas_that_could_be_are_no_fault_of_a_program_with_one_thread(facts: ProcessFacts) -> None:
    facts = replace(facts, limits=replace(LIMITS, cpus_of_group=1.0), threads=1)
    assert asking(facts) == []
    assert asking(on_glibc(facts)) == []


def test_one_number_of_arenas_is_advised(facts: ProcessFacts) -> None:
    regions = tuple(HeapRegion(at << 26, 64 << 20, at) for at in range(1, 10))
    busy = on_glibc(facts, regions=regions, threads=40, limits=replace(LIMITS, cpus_of_group=1.0))
    advised = [one for finding in asking(busy) for one in re.findall(r"MALLOC_ARENA_MAX=\d+", finding.next)]
    assert len(advised) == 2
    assert set(advised) == {"MALLOC_ARENA_MAX=2"}


def test_settings_of_malloc_are_not_advised_where_nobody_reads_them(facts: ProcessFacts) -> None:
    musl = replace(facts, provider=Provider(code("musl"), "slot", False))
    go = replace(facts, provider=None, program=replace(PROGRAM, runtime="Go 1.21"))
    assert "reads no settings" in without_settings(musl)
    assert "Go's heap" in without_settings(go)
    assert without_settings(facts) == ""


def test_what_nobody_is_linked_with_is_not_called_linked(facts: ProcessFacts) -> None:
    """The environment may not be readable, and /etc/ld.so.preload is not in it."""
    found = next(one for one in examine(facts) if one.what.startswith("malloc is"))
    assert "preloaded" in found.what
    linked = replace(facts, program=replace(PROGRAM, needed=(JEMALLOC.path.name,)))
    found = next(one for one in examine(linked) if one.what.startswith("malloc is"))
    assert "a library that the program is linked with" in found.what


def test_a_linked_malloc_that_a_preload_goes_before_is_no_fault(facts: ProcessFacts) -> None:
    hew = code("hew")
    program = replace(PROGRAM, needed=(JEMALLOC.path.name,))
    both = replace(facts, program=program, others=(JEMALLOC, hew), provider=Provider(hew, "slot", False))
    assert asking(both) == []
    assert "jemalloc" not in str(coverage([Case(None, both, None)], 0).unseen)
    (found,) = asking(replace(both, program=PROGRAM))  # two that no library is linked with
    assert "take one of the two away" in found.next


def test_why_an_environment_is_not_there_is_told_apart(facts: ProcessFacts) -> None:
    gone = replace(facts, environment=None)
    (found,) = asking(gone)
    assert "title" in found.why
    assert "root" not in found.next
    (found,) = asking(replace(gone, unreadable=("environ",)))
    assert "another user's" in found.why
    assert "root" in found.next


def test_an_allocator_without_statistics_is_not_seen_and_how_to_have_them_is_said(facts: ProcessFacts) -> None:
    """Rust's crate builds jemalloc so: what it answers are its settings alone."""
    silent = Snapshot("JSON", version="5.3.1-0-g81034ce", config={"stats": False})
    seen = coverage([Case(silent, facts, None)], 0)
    assert seen.outcome is Outcome.NOT_SEEN
    assert seen.rules == 0
    assert "without statistics" in seen.unseen[0].why
    assert "feature stats" in seen.unseen[0].next
    assert coverage([Case(replace(silent, config={"stats": True}), facts, None)], 0).rules > 0


def test_in_the_document_one_malloc_serves(facts: ProcessFacts) -> None:
    document = to_document(replace(facts, others=(JEMALLOC, GLIBC)), [])
    assert [one["kind"] for one in document["allocators"] if one["serves"]] == ["jemalloc"]


def test_root_is_not_told_to_be_root(facts: ProcessFacts, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = replace(facts, unreadable=("its memory map",))
    for user, said in ((0, "CAP_SYS_PTRACE"), (1000, "or as root")):
        monkeypatch.setattr("os.geteuid", lambda user=user: user)
        console = Console(file=io.StringIO(), width=100)
        show_findings(facts, [], console)
        assert isinstance(console.file, io.StringIO)
        assert said in console.file.getvalue()


def test_a_look_at_a_process_that_is_just_ending_is_not_kept(facts: ProcessFacts) -> None:
    ending = replace(facts, provider=None, memory=replace(facts.memory, resident=0))
    assert not _tells_more(ending, facts)
    assert _tells_more(facts, None)
    assert not _tells_more(ending, None)


@pytest.mark.parametrize("setting", [Setting("MALLOC_CONF", "narenas:8"), Setting("MALLOC_CONF", "x:1,narenas:8")])
def test_who_has_set_the_arenas_is_left_in_peace(facts: ProcessFacts, setting: Setting) -> None:
    facts = replace(facts, limits=replace(LIMITS, cpus_of_group=2.0), settings=(setting,))
    assert asking(facts) == []


def test_what_the_process_says_is_held_against_what_was_asked_for(facts: ProcessFacts) -> None:
    hew = code("hew", variable="MALLOC_CONF")
    conf = "narenas:3,dirty_decay_ms:10,tcache_max:99999999999,dss:primary,background_thread:false,narenas:4"
    settings: dict[str, bool | int | str]
    settings = {"narenas": 4, "dirty_decay_ms": 10, "tcache_max": 8388608, "dss": "primary", "background_thread": False}
    inside = Inside(settings, {"dirty_decay_ms": 500, "background_thread": False}, 2, 7)
    facts = replace(
        facts,
        provider=Provider(hew, "slot", True),
        others=(hew,),
        inside=inside,
        settings=(Setting("MALLOC_CONF", conf),),
    )
    clipped, idle = asking(facts)
    assert clipped.what == "tcache_max began as 8388608, not 99999999999 as asked for"
    assert idle.next == "hew ctl 1 background_thread true"
    told = [finding.what for finding in examine(facts) if finding.topic == "inside" and finding.level is Level.FACT]
    assert told == [
        "dirty_decay_ms is 500 now; it began as 10",
        "taken as asked for: narenas:4, dirty_decay_ms:10, dss:primary, background_thread:false",
        "2 arenas in use, 4 automatic at most; threads that have allocated: 7",
    ]


def test_a_socket_that_does_not_answer_is_told(facts: ProcessFacts) -> None:
    (found,) = asking(replace(facts, silence="process 1 does not answer (is it stopped?)"))
    assert "is it stopped?" in found.why


def test_hew_reads_the_quota_by_itself(facts: ProcessFacts) -> None:
    hew = code("hew", variable="MALLOC_CONF")
    limits = replace(LIMITS, cpus_of_group=2.0)
    assert asking(replace(facts, provider=Provider(hew, "slot", True), others=(hew,), limits=limits)) == []


def test_a_footprint_near_the_limit_of_the_group_is_said(facts: ProcessFacts) -> None:
    full = replace(LIMITS, memory_of_group=(1 << 30) + 1, memory_used_by_group=1 << 30)
    (found,) = asking(replace(facts, limits=full))
    assert found.level is Level.WARNING
    assert asking(replace(facts, limits=replace(full, memory_of_group=4 << 30))) == []


def test_locked_memory_cannot_go_back(facts: ProcessFacts) -> None:
    (found,) = asking(replace(facts, memory=replace(facts.memory, locked=1 << 20)))
    assert "locked" in found.what


def test_huge_pages_asked_for_in_vain(facts: ProcessFacts) -> None:
    facts = replace(facts, settings=(Setting("MALLOC_CONF", "thp:always"),))
    assert asking(facts) == []
    (found,) = asking(replace(facts, system=replace(SYSTEM, huge_pages="never")))
    assert "in vain" in found.what


def test_much_memory_in_huge_pages_is_noted_only_where_nobody_asked(facts: ProcessFacts) -> None:
    facts = replace(facts, memory=replace(facts.memory, huge=900 << 20))
    assert asking(facts) == []
    (found,) = asking(replace(facts, system=replace(SYSTEM, huge_pages="always")))
    assert found.evidence["huge_bytes"] == 900 << 20


def test_strict_overcommit_and_many_mappings_are_said(facts: ProcessFacts) -> None:
    strict = replace(SYSTEM, overcommit=2, committed=1 << 34)
    assert [finding.level for finding in asking(replace(facts, system=strict))] == [Level.WARNING]
    (found,) = asking(replace(facts, areas=60000))
    assert "max_map_count" in found.what


def test_few_or_cold_arenas_are_no_warning(facts: ProcessFacts) -> None:
    few = tuple(HeapRegion(at << 26, 1 << 20, at) for at in range(1, 200))
    assert asking(on_glibc(facts, regions=few[:30])) == []  # 30 MiB of 1 GiB
    assert asking(on_glibc(facts, regions=tuple(replace(one, resident=20 << 20) for one in few[:20]))) == []  # 64 CPUs
    (found,) = asking(on_glibc(facts, regions=tuple(replace(one, resident=4 << 20) for one in few)))
    assert found.evidence["arenas"] == 200


def test_a_prefixed_build_and_the_variable_that_it_does_not_read(facts: ProcessFacts) -> None:
    inside = code("jemalloc", path=Path("/bin/name"), prefix="_rjem_", variable="_RJEM_MALLOC_CONF", serves=False)
    facts = on_glibc(facts, program=inside, settings=(Setting("MALLOC_CONF", "narenas:2"),))
    found = asking(facts)
    assert ["_rjem_" in finding.what for finding in found] == [True, False]
    assert "_RJEM_MALLOC_CONF" in found[1].next


def test_a_privileged_program_ignores_glibc_s_tunables(facts: ProcessFacts) -> None:
    facts = on_glibc(facts, secure=True, settings=(Setting("MALLOC_ARENA_MAX", "2"),))
    (found,) = asking(facts)
    assert "privileges" in found.why


def test_what_a_process_says_cannot_steer_the_terminal(facts: ProcessFacts) -> None:
    hostile = Setting("MALLOC_CONF", "\x1b]0;owned\x07\x1b[2J[bold]x\n")
    facts = replace(facts, name="na\x1b[31mme", settings=(hostile,))
    out = io.StringIO()
    show_findings(facts, examine(facts), Console(file=out, width=200, highlight=False))
    assert "\x1b" not in out.getvalue()
    assert "\x07" not in out.getvalue()
    assert "[bold]x" in out.getvalue()
