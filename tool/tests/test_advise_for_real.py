# SPDX-License-Identifier: MIT
"""Every rule on real allocators: a program that provokes it, the same program under the advised setting, and programs
that must provoke nothing."""

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from conftest import PATIENCE, build
from hew.analysis.advice.rules import advise
from hew.model.advice import Advice, Case, Certainty
from hew.model.errors import HewError
from hew.model.statistics import Snapshot
from hew.sources.discovery import find_library, library_folders
from hew.sources.library import built_peers, find_hew
from hew.sources.statistics.stream import find_reports

ATTEMPTS = 30  # whether threads meet at a lock is the scheduler's choice, and this machine may be busy
SHARE = 0.25  # of the processors that a program works on; with less, threads seldom hold a lock when another comes
ALL = ("jemalloc", "jemalloc-5.3.1", "hew")
JEMALLOC = ALL[:2]


@dataclass(frozen=True)
class Provoking:
    """A program and settings under which a rule must speak; `cured` where the advised setting alone must silence it."""

    rule: str
    words: str
    conf: str = "narenas:8"
    allocators: tuple[str, ...] = ALL
    form: str = ""  # letters of stats_print_opts
    cpus: float | None = None
    cured: bool = True
    settings: dict[str, str] = field(default_factory=dict)  # by allocator, the text of the settings


CASES = [
    Provoking(
        "caches-off", "churn 16 256 100 300", "narenas:1,tcache:false", settings=dict.fromkeys(ALL, "tcache:true")
    ),
    Provoking("caches-off", "churn 1 256 100 300", "tcache:false", settings=dict.fromkeys(ALL, "tcache:true")),
    Provoking(
        "caches-off", "churn 2 1024 10 300", "tcache_max:64", form="J",
        settings=dict.fromkeys(ALL, "tcache_max:32768"),
    ),
    # What hew's threads free goes to depots first: only bursts that are more than these hold meet the arenas' locks.
    Provoking("arenas-too-few", "churn 4 256 400 300", "narenas:1", JEMALLOC, settings={"jemalloc": "narenas:4"}),
    # Depots mix what arenas own: with four arenas threads wait a third as long, and do wait.
    Provoking("arenas-too-few", "churn 4 256 3000 300", "narenas:1", ("hew",), cured=False),
    Provoking(
        "depots", "churn 4 256 3000 300", "narenas:1", ("hew",), settings={"hew": "tcache_ncached_max:256-256:4096"}
    ),
    Provoking("hot-threads", "churn 16 1024 100 300 4", "narenas:4", JEMALLOC, cured=False),
    Provoking("hot-threads", "churn 16 1024 3000 300 4", "narenas:4", ("hew",), cured=False),
    Provoking(
        "extents-contention", "churn 8 40960 100 300", "narenas:1", ("jemalloc", "hew"),
        settings={"jemalloc": "tcache_max:1048576", "hew": "tcache_ncached_max:40960-40960:102"}, cured=False,
    ),
    Provoking(
        "slab-sizes", "churn 2 1024 100 200", allocators=JEMALLOC, form="J",
        settings={"jemalloc": "slab_sizes:1024-1024:8"},
    ),
    Provoking("cache-depth", "churn 2 256 300 200", allocators=JEMALLOC, form="J"),
    Provoking(
        "decay-too-short", "churn 2 65536 20 300", "dirty_decay_ms:0", form="J", allocators=JEMALLOC,
        settings=dict.fromkeys(ALL, "dirty_decay_ms:1000"),
    ),
    Provoking(  # else its depots come to hold all of that, and no page goes back
        "decay-too-short", "churn 2 65536 20 300", "dirty_decay_ms:0", form="J", allocators=("hew",),
        settings={"hew": "dirty_decay_ms:1000"},
    ),
    Provoking("oversize", "churn 2 16777216 1 300", "oversize_threshold:8388608", form="J"),
    Provoking("decay-too-long", "hold 1 65536 1000 0 10", "dirty_decay_ms:-1", form="J", cured=False),
    Provoking(
        "background-thread", "hold 1 65536 1000 0 700", "dirty_decay_ms:300,background_thread:false", form="J",
        settings=dict.fromkeys(ALL, "background_thread:true"),
    ),
    Provoking(
        "decay-too-long", "hold 1 65536 1000 0 10", "dirty_decay_ms:-1,muzzy_decay_ms:-1", form="J", cured=False,
        settings=dict.fromkeys(ALL, "dirty_decay_ms:10000,muzzy_decay_ms:0"),
    ),
    Provoking(
        "thread-caches", "hold 64 28672 20 0 1", allocators=JEMALLOC, form="J",
        settings={"jemalloc": "tcache_max:4096", "jemalloc-5.3.1": "tcache_max:4096"},
    ),
    Provoking(
        "thread-caches", "hold 500 224 300 0 1", allocators=JEMALLOC, form="J",
        settings={"jemalloc": "lg_tcache_nslots_mul:0"}, cured=False,
    ),
    Provoking("external-fragmentation", "hold 1 128 400000 8 1", form="J", cured=False),
    Provoking(
        "internal-fragmentation", "hold 1 1030 50000 1 1", "prof:true,prof_stats:true,lg_prof_sample:12",
        ("jemalloc",), "J", cured=False,
    ),
    Provoking("cache-oblivious", "hold 1 16384 5000 1 1", allocators=("jemalloc",), form="J", cured=False),
    Provoking("cache-oblivious", "hold 1 16384 5000 1 1", allocators=("jemalloc-5.3.1",), form="J"),
    Provoking("narenas-limit", "hold 16 1000 100 2 250", form="J", cpus=1, settings={"hew": "narenas:4"}),
    Provoking("metadata", "hold 500 1000 10 2 1", "narenas:500", ("jemalloc", "hew"), "Jblxe", cured=False),
]  # fmt: skip

LEAKS = """
#include <stdlib.h>
#include <string.h>
int main(void) {
    for (int i = 0; i < 300000; i++) {
        memset(malloc(200), 1, 200);
        for (int k = 0; k < 2; k++)
            free(memset(malloc(300 + (i + k) % 500), 1, 300));
    }
    return 0;
}
"""

PICTURES = """
#include <stdlib.h>
#include <time.h>
int main(void) {
    for (unsigned seed = 1; clock() < CLOCKS_PER_SEC / 2; ) {
        size_t size = (9u << 20) + (seed = seed * 1103515245 + 12345) % (6u << 20);
        char *picture = malloc(size);
        for (size_t at = 0; at < size; at += 4096)
            picture[at] = 1;
        free(picture);
    }
    return 0;
}
"""

SAWTOOTH = """
#include <stdlib.h>
#include <string.h>
#include <time.h>
static void *kept[30000];
static double
now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}
int main(void) {
    for (double began = now(); now() - began < 1.1;) {
        for (int i = 0; i < 30000; i++)
            kept[i] = memset(malloc(200 + (i * 37) % 1500), 1, 200);
        for (int i = 0; i < 30000; i++)
            free(kept[i]);
    }
    return 0;
}
"""

QUIET = [
    ("churn 4 256 10 300", "narenas:8"),  # caches serve it: no fills, no waiting
    ("churn 2 65536 20 200", "narenas:8"),  # many requests to the arenas, no other thread there
    ("churn 16 1024 10 200 4", "narenas:4"),  # hot threads that their caches serve
    ("churn 2 4194304 1 200", "narenas:8"),  # large, below the threshold
    ("hold 1 65536 1000 1 250", "dirty_decay_ms:100"),  # all of it in use
    ("hold 1 65536 1000 0 500", "dirty_decay_ms:100,background_thread:true"),  # idle, purged
    ("hold 7 1000 500 1 250", "narenas:8"),  # slabs full
    ("hold 64 1024 20 0 1", "narenas:8"),  # small caches
    ("hold 1 1280 50000 1 1", "narenas:8"),  # sizes that are classes
]


def library_of(name: str) -> Path:
    """The allocator's library, or a skip that says how to have it."""
    if name == "hew":
        try:
            return find_hew(None, os.environ)
        except HewError as error:
            pytest.skip(f"libhew.so is not built: {error}")
    found = built_peers().get(name) if "-" in name else find_library(name, library_folders({}))
    if found is None:
        pytest.skip(f"{name} is not here: " + ("make peers" if "-" in name else "apt-get install libjemalloc2"))
    return found


def report(library: Path, words: list[str], conf: str, form: str) -> Snapshot:
    """What the program's allocator wrote at its end."""
    settings = f"stats_print:true,stats_print_opts:{form},{conf}"
    environment = {**os.environ, "LD_PRELOAD": str(library), "MALLOC_CONF": settings}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=True)
    found = find_reports(done.stderr, "stderr").snapshots
    assert len(found) == 1, done.stderr[:500]
    assert found[0].whole
    return found[0]


class Processors:
    """Whether programs had processors to work on. On a machine that gives them few, threads do not meet."""

    def __init__(self) -> None:
        self.had = False

    @contextmanager
    def watch(self, words: list[str]) -> Iterator[None]:
        """`churn` works all the time, with two threads or more; the others wait for the most part."""
        before = os.times()
        yield
        after = os.times()
        used = after.children_user - before.children_user + after.children_system - before.children_system
        wanted = (after.elapsed - before.elapsed) * min(2, len(os.sched_getaffinity(0)))
        self.had |= Path(words[0]).name != "churn" or used > SHARE * wanted


def rules(advice: tuple[Advice, ...]) -> list[str]:
    return [one.rule for one in advice]


def heard(
    library: Path, words: list[str], conf: str, form: str, cpus: float | None, unwanted: set[str] | None
) -> list[str]:
    """The rules that speak, of the first attempt in which none of the unwanted does (None: any), else of the last."""
    found: list[str] = []
    for _ in range(ATTEMPTS):
        found = rules(advise(Case(report(library, words, conf, form), None, cpus)))
        if not found or (unwanted is not None and unwanted.isdisjoint(found)):
            break
    return found


@pytest.mark.parametrize(
    ("case", "allocator"),
    [pytest.param(case, name, id=f"{case.rule}-{name}") for case in CASES for name in case.allocators],
)
def test_a_rule_speaks_when_provoked_and_not_when_its_advice_is_followed(
    case: Provoking, allocator: str, programs: Callable[[str], list[str]]
) -> None:
    library, words = library_of(allocator), programs(case.words)
    found: dict[str, Advice] = {}
    processors = Processors()
    for _ in range(ATTEMPTS):
        with processors.watch(words):
            snapshot = report(library, words, case.conf, case.form)
        found = {one.rule: one for one in advise(Case(snapshot, None, case.cpus))}
        if case.rule in found:
            break
    if case.rule not in found and not processors.had:
        pytest.skip("the machine is too busy for threads to meet")
    assert case.rule in found
    advice = found[case.rule]
    assert advice.subject.startswith(allocator.partition("-")[0])
    assert advice.evidence
    if allocator in case.settings:
        assert ",".join(one.text for one in advice.settings) == case.settings[allocator]
    if case.cured:
        conf = f"{case.conf},{advice.conf()}"
        assert case.rule not in heard(library, programs(case.words), conf, case.form, case.cpus, {case.rule})


def unused(snapshot: Snapshot) -> int:
    """Unused pages that are resident; jemalloc leaves the muzzy ones out of what it calls resident."""
    arena = snapshot.all_arenas
    return (arena.pdirty or 0) + (arena.pmuzzy or 0) if arena else 0


@pytest.mark.parametrize("allocator", ALL)
def test_pages_leave_only_when_muzzy_decay_is_shortened_too(
    allocator: str, programs: Callable[[str], list[str]]
) -> None:
    """The advice of decay-too-long, at a hundredth of its time so that the program need not run for long."""
    words, library = programs("hold 1 65536 1000 0 700"), library_of(allocator)
    kept = "dirty_decay_ms:-1,muzzy_decay_ms:-1,background_thread:true"
    advice = {one.rule: one for one in advise(Case(report(library, words, kept, "J")))}["decay-too-long"]
    half = report(library, words, f"{kept},dirty_decay_ms:100", "J")
    whole = report(library, words, f"{kept},{advice.conf().replace(':10000', ':100')}", "J")
    assert unused(half) > 10_000
    assert unused(whole) < 1000


@pytest.mark.parametrize("allocator", JEMALLOC)
def test_thread_caches_of_small_objects_shrink_by_the_advice(
    allocator: str, programs: Callable[[str], list[str]]
) -> None:
    words, library = programs("hold 500 224 300 0 1"), library_of(allocator)
    before = report(library, words, "narenas:8", "J")
    advice = {one.rule: one for one in advise(Case(before))}["thread-caches"]
    after = report(library, words, f"narenas:8,{advice.conf()}", "J")
    cached = [one.all_arenas.tcache_bytes or 0 for one in (before, after) if one.all_arenas]
    assert cached[1] < 0.85 * cached[0]


@pytest.mark.parametrize("allocator", JEMALLOC)
def test_waiting_is_told_from_a_report_that_is_written_when_the_workers_have_gone(
    allocator: str, programs: Callable[[str], list[str]]
) -> None:
    library = library_of(allocator)
    found: dict[str, Advice] = {}
    words, processors = programs("churn 4 256 400 300 1 1"), Processors()
    for _ in range(ATTEMPTS):
        with processors.watch(words):
            snapshot = report(library, words, "narenas:1", "")
        assert snapshot.all_arenas is not None
        assert snapshot.all_arenas.nthreads in {0, 1}
        found = {one.rule: one for one in advise(Case(snapshot))}
        if "arenas-too-few" in found:
            break
    if not found and not processors.had:
        pytest.skip("the machine is too busy for threads to meet")
    advice = found["arenas-too-few"]
    assert advice.certainty is Certainty.LIKELY
    assert [one.text for one in advice.settings] == ["narenas:4"]
    assert "stats_interval" in (advice.change or "")


@pytest.mark.parametrize("allocator", ALL)
def test_a_leak_in_one_size_is_named(allocator: str, compiler: str, tmp_path: Path) -> None:
    leaky = build(compiler, tmp_path / "leaks", LEAKS, "-O0", "-fno-builtin")
    (advice,) = advise(Case(report(library_of(allocator), [str(leaky)], "narenas:8", "J")))
    assert advice.rule == "never-freed"
    assert advice.certainty is Certainty.LIKELY
    assert advice.title.startswith(("objects of 208 bytes", "objects of 224 bytes"))


def test_no_threshold_is_advised_to_a_program_of_the_first_arena_alone(compiler: str, tmp_path: Path) -> None:
    """That arena gives its large pages back at once, whatever the threshold is: following the advice gained nothing."""
    pictures = build(compiler, tmp_path / "pictures", PICTURES, "-O0", "-fno-builtin")
    (advice,) = advise(Case(report(library_of("jemalloc"), [str(pictures)], "oversize_threshold:8388608", "J")))
    assert advice.rule == "oversize"
    assert advice.settings == ()
    assert "thread.arena" in (advice.change or "")


@pytest.mark.parametrize("allocator", ALL)
def test_pages_that_are_wanted_again_are_not_called_idle(allocator: str, compiler: str, tmp_path: Path) -> None:
    """A cache that fills and is dropped, and filled again before decay is due, for a little more than two decay times.
    A round is 10 ms of work, so even a machine fifty times as slow fills it once in a decay time."""
    sawtooth = build(compiler, tmp_path / "sawtooth", SAWTOOTH, "-O0", "-fno-builtin")
    conf = "dirty_decay_ms:500,background_thread:false"
    snapshot = report(library_of(allocator), [str(sawtooth)], conf, "J")
    assert unused(snapshot) * snapshot.page >= 16 << 20
    # A fast machine fills so often that larger caches are advised, rightly.
    assert "background-thread" not in {advice.rule for advice in advise(Case(snapshot))}


@pytest.mark.parametrize("allocator", ALL)
@pytest.mark.parametrize(("words", "conf"), QUIET)
def test_nothing_is_said_when_all_is_well(
    words: str, conf: str, allocator: str, programs: Callable[[str], list[str]]
) -> None:
    assert heard(library_of(allocator), programs(words), conf, "J", 2, None) == []
