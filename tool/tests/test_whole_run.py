# SPDX-License-Identifier: MIT
"""`hew profile` of a trace: each figure against what a program counts of itself, and against heaptrack's."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import PROGRAMS, HewRunner, build, is_as_described
from hew.model.errors import HewError
from hew.sources.library import find_part

Programs = Callable[[str], list[str]]
MADE, MADE_BYTES, LIVE, LIVE_BYTES, TEMPORARY, TEMPORARY_BYTES = range(6)


@pytest.fixture(scope="module", autouse=True)
def _built() -> None:
    pytest.importorskip("numpy")
    try:
        find_part("libhewtrace.so"), find_part("hew-replay")
    except HewError as error:
        pytest.skip(str(error))


@pytest.fixture
def run(hew: HewRunner, programs: Programs, tmp_path: Path) -> tuple[Path, Any]:
    """A trace, and what the program has counted meanwhile."""
    done = hew("record", "--stacks", "all", "-o", str(tmp_path / "t"), "--", *programs("whole"))
    assert done.returncode == 0, done.stderr
    return tmp_path / "t", json.loads(done.stdout)


def profiled(hew: HewRunner, *words: str) -> Any:
    """The document that it prints."""
    done = hew("profile", "--json", "--rows", "1000", *words)
    assert done.returncode == 0, done.stderr
    return is_as_described(done.stdout, "profile")


def flat(document: Any, kind: str) -> dict[str, int]:
    """By function, what there is of a kind."""
    return {one["name"]: one["flat"][kind] for one in document["functions"] if one["flat"][kind]}


def counted(counts: dict[str, list[int]], column: int) -> dict[str, int]:
    """The program's own numbers, likewise."""
    return {name: one[column] for name, one in counts.items() if one[column]}


def test_the_peak_is_what_the_program_has_counted(hew: HewRunner, run: tuple[Path, Any]) -> None:
    trace, own = run
    document = profiled(hew, str(trace))
    assert [document["run"]["peak"]["objects"], document["run"]["peak"]["bytes"]] == own["peak"]
    assert document["run"]["operations"] == own["operations"]
    assert flat(document, "inuse_space") == counted(own["at_peak"], LIVE_BYTES)
    assert flat(document, "inuse_objects") == counted(own["at_peak"], LIVE)
    assert flat(document, "alloc_space") == counted(own["at_peak"], MADE_BYTES)


def test_what_was_lost_made_and_freed_at_once_is_what_the_program_has_counted(
    hew: HewRunner, run: tuple[Path, Any]
) -> None:
    trace, own = run
    leaks = profiled(hew, "--leaks", str(trace))
    assert flat(leaks, "inuse_space") == counted(own["at_end"], LIVE_BYTES)
    assert flat(leaks, "inuse_objects") == counted(own["at_end"], LIVE)
    every = profiled(hew, "--count", str(trace))
    assert flat(every, "alloc_objects") == counted(own["at_end"], MADE)
    assert flat(every, "alloc_space") == counted(own["at_end"], MADE_BYTES)
    temporary = profiled(hew, "--temporary", str(trace))
    assert flat(temporary, "alloc_objects") == counted(own["at_end"], TEMPORARY)
    assert flat(temporary, "alloc_space") == counted(own["at_end"], TEMPORARY_BYTES)
    assert temporary["run"]["temporary"]["objects"] == sum(counted(own["at_end"], TEMPORARY).values())
    within = profiled(hew, "--temporary", "--within", "1000000", str(trace))
    assert flat(within, "alloc_objects")["fill_cache"] == own["at_end"]["fill_cache"][MADE]


def test_moments_and_what_grew_between_them(hew: HewRunner, run: tuple[Path, Any]) -> None:
    trace, own = run
    end = profiled(hew, "--at", "1000000", str(trace))
    assert flat(end, "inuse_space") == counted(own["at_end"], LIVE_BYTES)
    peak = profiled(hew, str(trace))["run"]["peak"]["seconds"]
    grown = profiled(hew, "--between", str(peak + 1), "1000000", str(trace))
    assert not flat(grown, "inuse_space")
    lines = hew("profile", "--between", "0", "1000000", str(trace)).stdout
    assert re.search(r"\+977 KiB +100\.0%.* leaks_here", lines)
    same = profiled(hew, "--diff", str(trace), str(trace))
    assert set(same["totals"].values()) == {0}


def test_sizes_and_lifetimes_add_up(hew: HewRunner, run: tuple[Path, Any]) -> None:
    trace, own = run
    found = profiled(hew, "--sizes", str(trace))["run"]
    assert sum(one[0] for one in found["sizes"]) == sum(counted(own["at_end"], MADE).values())
    assert sum(one[1] for one in found["sizes_at_peak"]) == own["peak"][1]
    left = own["at_end"]["leaks_here"][LIVE]
    assert sum(one[0] for one in found["lifetimes"]) == sum(counted(own["at_end"], MADE).values()) - left
    table = hew("profile", "--sizes", str(trace)).stdout
    assert re.search(r"512 to 1,023 +1,001 +977 KiB +0 +0\.00 B +1,000", table)
    assert re.search(r"to the end +1,000 +977 KiB", table)


def test_other_forms_have_the_same_sums(hew: HewRunner, run: tuple[Path, Any], tmp_path: Path) -> None:
    trace, own = run
    stacks = hew("profile", "--leaks", "--collapsed", str(trace)).stdout.splitlines()
    assert [line.rsplit(" ", 1)[1] for line in stacks] == ["1000000"]
    assert "main;leaks_here" in stacks[0]
    assert hew("profile", "--pprof", str(tmp_path / "p.pb.gz"), str(trace)).returncode == 0
    again = profiled(hew, str(tmp_path / "p.pb.gz"))
    assert again["totals"]["inuse_space"] == own["peak"][1]


SAMPLE = 64 << 10
HELD = ("fill_cache", "peak_here", "leaks_here")  # functions that hold enough to be sampled often


def sampled(hew: HewRunner, programs: Programs, trace: Path, seed: int) -> Any:
    """A sample of the program's run; what the program has counted of all of it."""
    words = ("record", "--sample", "64K", "-o", str(trace), "--", *programs("whole"))
    done = hew(*words, HEW_TRACE_SEED=str(seed))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def is_within(document: Any, kind: str, own: dict[str, int]) -> None:
    """Each function's estimate is as near to the program's own number as it says of itself."""
    off = {one["name"]: one["by_chance"]["flat"][kind] for one in document["functions"]}
    found = flat(document, kind)
    for name, exact in own.items():
        assert abs(found.get(name, 0) - exact) <= max(off.get(name, 0), 3 * SAMPLE), (name, exact, found, off)
    assert abs(document["totals"][kind] - sum(own.values())) <= document["by_chance"][kind]


def test_a_sample_is_right_within_its_interval(hew: HewRunner, programs: Programs, tmp_path: Path) -> None:
    own = sampled(hew, programs, tmp_path / "t", seed=1)
    assert (tmp_path / "t").stat().st_size < 100_000
    peak, every = (profiled(hew, *words, str(tmp_path / "t")) for words in ([], ["--count"]))
    assert peak["sampled_every_bytes"] == peak["run"]["sample_bytes"] == SAMPLE
    assert peak["run"]["operations"] == own["operations"]  # these are counted, not estimated
    is_within(peak, "inuse_space", counted(own["at_peak"], LIVE_BYTES))
    is_within(every, "alloc_space", counted(own["at_end"], MADE_BYTES))
    is_within(profiled(hew, "--leaks", str(tmp_path / "t")), "inuse_space", counted(own["at_end"], LIVE_BYTES))
    is_within(profiled(hew, "--temporary", str(tmp_path / "t")), "alloc_space", counted(own["at_end"], TEMPORARY_BYTES))
    run, off = every["run"], every["run"]["by_chance"]
    made = sum(counted(own["at_end"], MADE).values())
    assert abs(run["allocations"]["objects"] - made) <= off["allocations"]["objects"]
    assert abs(run["peak"]["objects"] - own["peak"][0]) <= off["peak"]["objects"]
    assert abs(run["peak"]["bytes"] - own["peak"][1]) <= off["peak"]["bytes"]


def test_samples_are_unbiased(hew: HewRunner, programs: Programs, tmp_path: Path) -> None:
    """The mean of eight samples is nearer to the truth than one of them has to be; and seeds make different ones."""
    found: dict[str, list[int]] = {}
    for seed in range(2, 10):
        own = sampled(hew, programs, tmp_path / str(seed), seed)
        for name, value in flat(profiled(hew, "--count", str(tmp_path / str(seed))), "alloc_space").items():
            found.setdefault(name, []).append(value)
    for name in ("fill_cache", "churn"):
        exact = own["at_end"][name][MADE_BYTES]
        assert len(set(found[name])) == 8
        assert abs(sum(found[name]) / 8 - exact) <= 1.96 * (SAMPLE * exact / 8) ** 0.5


def test_every_view_of_a_sample_says_the_interval(hew: HewRunner, programs: Programs, tmp_path: Path) -> None:
    sampled(hew, programs, tmp_path / "t", seed=1)
    for view in ("--peak", "--leaks", "--temporary", "--count", "--at=1000", "--sizes"):
        done = hew("profile", view, str(tmp_path / "t"))
        assert re.search(r"peak [\d.]+ MiB ± [\d.]+ MiB in [\d,]+ ± [\d,]+ objects", done.stdout)
        table = done.stdout.split("\n\n")[1]
        assert " ± " in table.splitlines()[1]
    lines = hew("profile", "--collapsed", str(tmp_path / "t"))
    assert "a sample, one byte in 64.0 KiB" in lines.stderr
    exact = hew("profile", "--leaks", "--", *programs("whole"))
    assert "±" not in exact.stdout


def test_temporary_is_of_all_operations_not_of_those_in_the_sample(
    hew: HewRunner, programs: Programs, tmp_path: Path
) -> None:
    """Between a cached object and its free there are hundreds of thousands of operations, of which few are recorded."""
    sampled(hew, programs, tmp_path / "t", seed=1)
    temporary = flat(profiled(hew, "--temporary", "--within", "1000", str(tmp_path / "t")), "alloc_space")
    assert temporary.keys() >= {"churn"}
    assert "fill_cache" not in temporary


def test_a_replay_of_a_sample_says_that_it_is_one(hew: HewRunner, programs: Programs, tmp_path: Path) -> None:
    sampled(hew, programs, tmp_path / "t", seed=1)
    done = hew("replay", "--runs", "1", "--warmup", "0", str(tmp_path / "t"))
    assert "it is a sample" in done.stdout + done.stderr
    for words in (["--sample", "0"], ["--sample", "much"], ["--sample", "1K", "--stacks", "5"]):
        assert hew("record", *words, "-o", str(tmp_path / "no"), "--", "true").returncode == 2


THREE_THREADS = """
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static void *volatile last;
static void take(int count, size_t size) { for (int i = 0; i < count; i++) last = malloc(size); }
static void *run(void *argument) {
    take(1000, 50);
    pthread_setname_np(pthread_self(), argument);
    if (*(char *)argument == 's') for (;;) pause();
    return argument;
}
int main(void) {
    pthread_t thread[2];
    take(300, 70);
    pthread_create(&thread[0], NULL, run, "leaver");
    pthread_join(thread[0], NULL);
    pthread_create(&thread[1], NULL, run, "stayer; \\"2\\"");
    char name[16] = "";
    while (*name != 's') pthread_getname_np(thread[1], name, sizeof(name));
    return 0;
}
"""


def test_threads_are_told_apart_and_have_their_names(hew: HewRunner, compiler: str, tmp_path: Path) -> None:
    program = build(compiler, tmp_path / "three", THREE_THREADS, "-O1", "-fno-builtin", "-fno-inline", "-pthread")
    done = hew("record", "--stacks", "all", "-o", str(tmp_path / "t"), "--", str(program))
    assert done.returncode == 0, done.stderr
    whole, by_thread = (profiled(hew, "--leaks", *words, str(tmp_path / "t")) for words in ([], ["--by", "thread"]))
    assert by_thread["totals"] == whole["totals"]
    stacks = hew("profile", "--leaks", "--by", "thread", "--collapsed", str(tmp_path / "t")).stdout.splitlines()
    taken: dict[str, int] = {}
    for line in stacks:
        thread = line.split(";")[1]  # below [lost] or, the last object of all, [still reachable]
        if ";take " in line:
            taken[thread] = taken.get(thread, 0) + int(line.rsplit(" ", 1)[1])
    expected = {"three (thread 0)": 300 * 70, "leaver (thread 1)": 1000 * 50, 'stayer: "2" (thread 2)': 1000 * 50}
    assert taken == expected
    assert hew("profile", "--by", "age", str(tmp_path / "t")).returncode == 1


def told_apart(hew: HewRunner, trace: Path) -> dict[str, dict[str, list[int]]]:
    """By whether something points to it, and by function: objects and bytes that were never freed."""
    found: dict[str, dict[str, list[int]]] = {"lost": {}, "reachable": {}}
    for column, kind in enumerate(("--inuse_objects", "--inuse_space")):
        for line in hew("profile", "--leaks", "--collapsed", kind, str(trace)).stdout.splitlines():
            stack, amount = line.rsplit(" ", 1)
            outer, *_ = names = stack.split(";")
            function = next(name for name in names[::-1] if name.startswith(("by_", "large_by_", "lost_", "[", "pth")))
            found["lost" if outer == "[lost]" else "reachable"].setdefault(function, [0, 0])[column] += int(amount)
    return found


@pytest.mark.parametrize("words", ["lost", "lost thread"])
def test_what_nothing_points_to_is_told_apart(hew: HewRunner, programs: Programs, tmp_path: Path, words: str) -> None:
    """A global, an inner pointer, thread data, a mapping and a waiting thread's stack reach an object. Rings, freed
    memory and malloc's own lists do not."""
    done = hew("record", "--stacks", "all", "-o", str(tmp_path / "t"), "--", *programs(words))
    assert done.returncode == 0, done.stderr
    own, found = json.loads(done.stdout), told_apart(hew, tmp_path / "t")
    assert found["lost"] == own["lost"]
    assert found["reachable"].items() >= own["reachable"].items()
    run = profiled(hew, "--leaks", str(tmp_path / "t"))["run"]
    assert run["lost"]["bytes"] == sum(one[1] for one in own["lost"].values())
    assert " of it lost; " in hew("profile", str(tmp_path / "t")).stdout


def test_children_are_in_the_same_report(hew: HewRunner, programs: Programs, tmp_path: Path) -> None:
    """The process that forks, its child, and the program that another child has become."""
    folder = tmp_path / "traces"
    folder.mkdir()
    words = [*programs("forks"), *programs("whole")]
    assert hew("record", "--stacks", "all", "-o", str(folder / "t"), "--", *words).returncode == 0
    for place in (folder, folder / "t"):
        done = hew("profile", "--json", str(place))
        assert json.loads(done.stdout)["run"]["program"] == "whole"
        others = dict(re.findall(r"forks (\d+) \((\d+) operation", done.stderr))
        assert len(others) == 2
    parent, child = sorted(others, key=lambda pid: -int(others[pid]))
    for process, expected in (("forks", ("parent_here", 500 * 3000)), (child, ("child_here", 70 * 4000))):
        found = flat(profiled(hew, "--leaks", "--process", process, str(folder)), "inuse_space")
        assert found[expected[0]] == expected[1]
    assert flat(profiled(hew, "--process", parent, str(folder)), "inuse_space")["parent_here"] == 500 * 3000
    none = hew("profile", "--process", "1", str(folder))
    assert none.returncode == 1
    assert "no process 1 was recorded: there are whole" in none.stderr
    (tmp_path / "empty").mkdir()
    assert "there is no trace" in hew("profile", str(tmp_path / "empty")).stderr


def test_in_one_step_with_the_command(hew: HewRunner, programs: Programs) -> None:
    done = hew("profile", "--peak", "--", *programs("whole"))
    assert done.returncode == 0, done.stderr
    assert re.search(r"54\.4 MiB .* peak_here", done.stdout)
    assert '"at_peak"' in done.stderr
    failed = hew("profile", "--leaks", "--", "sh", "-c", "exit 3")
    assert failed.returncode == 3


def test_what_cannot_be_told_is_refused(hew: HewRunner, programs: Programs, tmp_path: Path) -> None:
    hew("record", "-o", str(tmp_path / "bare"), "--", *programs("whole"))
    bare = hew("profile", str(tmp_path / "bare"))
    assert bare.returncode == 1
    assert "a trace without stacks" in bare.stderr
    (tmp_path / "no").write_text("heap_v2/1\n")
    other = hew("profile", "--leaks", str(tmp_path / "no"))
    assert other.returncode == 1
    assert "is no trace" in other.stderr
    assert hew("profile", "--peak", "1").returncode == 2


@pytest.mark.skipif(shutil.which("heaptrack") is None, reason="heaptrack is not here")
def test_the_figures_are_those_of_heaptrack(hew: HewRunner, compiler: str, tmp_path: Path) -> None:
    """heaptrack brings the C++ runtime, which keeps memory for exceptions: the program has it as well. heaptrack has
    that freed at the end; so what is compared is what the program's own function lost."""
    source = (PROGRAMS / "whole.c").read_text()
    flags = ("-O1", "-fno-builtin", "-Wl,--no-as-needed", "-lstdc++")
    try:
        program = str(build(compiler, tmp_path / "whole", source, *flags))
    except subprocess.CalledProcessError:
        pytest.skip("no C++ runtime to link with")
    assert hew("record", "--stacks", "all", "-o", str(tmp_path / "t"), "--", program).returncode == 0
    found = profiled(hew, "--leaks", str(tmp_path / "t"))
    words = ["heaptrack", "-o", str(tmp_path / "h"), program]
    said = subprocess.run(words, check=True, capture_output=True, text=True).stderr
    assert re.search(rf"\sallocations:\s+{found['run']['allocations']['objects']}\n", said)
    assert re.search(rf"temporary allocations:\s+{found['run']['temporary']['objects']}\n", said)
    (file,) = tmp_path.glob("h.*")
    said = subprocess.run(["heaptrack_print", str(file)], check=True, capture_output=True, text=True).stdout
    assert f"peak heap memory consumption: {found['run']['peak']['bytes'] / 1e6:.2f}M" in said
    assert f"total memory leaked: {flat(found, 'inuse_space')['leaks_here'] / 1e3:.2f}K" in said


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not here")
def test_the_peak_is_that_of_massif(hew: HewRunner, run: tuple[Path, Any], programs: Programs, tmp_path: Path) -> None:
    """By function as well: massif has the stacks of its exact peak."""
    trace, _ = run
    exact = ("--peak-inaccuracy=0", "--threshold=0", "--heap-admin=0")
    words = ["valgrind", "--tool=massif", *exact, f"--massif-out-file={tmp_path / 'm'}", *programs("whole")]
    subprocess.run(words, check=True, capture_output=True)
    (peak,) = re.findall(r"mem_heap_B=(\d+)\n(?:.*\n){2}heap_tree=peak\n((?: *n.*\n)*)", (tmp_path / "m").read_text())
    found = profiled(hew, str(trace))
    assert int(peak[0]) == found["run"]["peak"]["bytes"]
    by_function = dict.fromkeys(("fill_cache", "peak_here"), 0)
    for size, name in re.findall(r"^ n\d+: (\d+) 0x\w+: (\w+) ", peak[1], re.MULTILINE):
        by_function[name] += int(size)
    assert by_function == flat(found, "inuse_space")
