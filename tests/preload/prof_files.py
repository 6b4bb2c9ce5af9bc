#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run prof_program under the library and read the profiles that it leaves.

    prof_files.py LIBRARY PROGRAM

Each function below whose name begins with `test_` is one case; its name says what holds.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from prof_readers import HeapV2, read_heap_v2, read_pprof

LIBRARY, PROGRAM = (os.path.abspath(name) for name in sys.argv[1:3])
SMALL, LARGE = 112, 112 << 10  # bytes that malloc(100) and malloc(100 KiB) make usable
EVERY_BYTE = "prof:true,lg_prof_sample:0,prof_final:true"


def run(folder: Path, settings: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The program under the library, with its profiles in `folder`."""
    conf = f"{settings},prof_prefix:{folder}/p"
    environment = {**os.environ, "LD_PRELOAD": LIBRARY, "HEW_TEST_LIBRARY": "libhew", "MALLOC_CONF": conf}
    return subprocess.run(
        [PROGRAM, *arguments], env=environment, capture_output=True, text=True, timeout=250, check=False
    )


def only(folder: Path, pattern: str) -> Path:
    """The one file of that name."""
    found = list(folder.glob(pattern))
    assert len(found) == 1, sorted(path.name for path in folder.iterdir())
    return found[0]


def of_size(profile: HeapV2, size: int) -> dict[str, int]:
    """Objects by thread, of all stacks whose objects have that size."""
    found: dict[str, int] = {}
    for stack in profile.stacks:
        every = stack.threads["*"]
        if every.objects and every.size == every.objects * size:
            assert "preload_prof_program" in profile.file_of(stack.frames[0]), stack
            for thread, counts in stack.threads.items():
                found[thread] = found.get(thread, 0) + counts.objects
    return found


def test_the_final_profile_counts_every_object_by_stack_and_thread(folder: Path) -> None:
    assert run(folder, EVERY_BYTE, "leak").returncode == 0
    profile = read_heap_v2(only(folder, "p.*.0.f.heap"))
    assert profile.interval == 1
    assert of_size(profile, SMALL) == {"*": 1200, "0": 700, "1": 500}, of_size(profile, SMALL)
    assert of_size(profile, LARGE) == {"*": 50, "0": 50}
    assert profile.threads["0"].name == "the main one"
    for stack in profile.stacks:
        parts = [counts.size for thread, counts in stack.threads.items() if thread != "*"]
        assert stack.threads["*"].size == sum(parts)
    assert profile.threads["*"].size == sum(stack.threads["*"].size for stack in profile.stacks)


def test_with_accum_what_was_freed_is_told_too(folder: Path) -> None:
    assert run(folder, EVERY_BYTE + ",prof_accum:true", "leak").returncode == 0
    profile = read_heap_v2(only(folder, "p.*.0.f.heap"))
    ever = [s.threads["*"].ever_objects for s in profile.stacks if s.threads["*"].ever_size == 1000 * SMALL]
    assert ever == [1000], ever


def test_both_formats_say_the_same(folder: Path) -> None:
    run(folder, EVERY_BYTE + ",prof_accum:true", "leak")
    run(folder, EVERY_BYTE + ",prof_accum:true,prof_format:pprof", "leak")
    text, binary = read_heap_v2(only(folder, "p.*.heap")), read_pprof(only(folder, "p.*.f.pb.gz"))
    assert binary.types == ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"]
    assert binary.period == 1
    total = text.threads["*"]
    sums = [sum(sample.values[i] for sample in binary.samples) for i in range(4)]
    assert sums == [total.ever_objects, total.ever_size, total.objects, total.size], (sums, total)
    own = [mapping for mapping in binary.mappings if mapping.name.endswith("preload_prof_program")]
    assert len(own) == 1
    small = [sample for sample in binary.samples if sample.values[2:] == [700, 700 * SMALL]]
    assert len(small) == 1
    assert own[0].begin <= small[0].frames[0] < own[0].end
    assert small[0].labels == {"thread": 0, "thread_name": "the main one"}


def test_without_accum_pprof_has_what_is_live_alone(folder: Path) -> None:
    run(folder, EVERY_BYTE + ",prof_format:pprof", "leak")
    profile = read_pprof(only(folder, "p.*.f.pb.gz"))
    assert profile.types == ["inuse_objects", "inuse_space"]
    assert sum(sample.values[1] for sample in profile.samples) > 50 * LARGE


def test_sampled_profiles_estimate_the_truth(folder: Path) -> None:
    run(folder, "prof:true,lg_prof_sample:16,prof_final:true,prof_format:pprof", "grow", "200")
    profile = read_pprof(only(folder, "p.*.f.pb.gz"))
    found = sum(sample.values[1] for sample in profile.samples)
    assert 0.95 * 200 < found / 2**20 < 1.05 * 200, found  # objects of 16 intervals: nearly all are sampled


def test_a_profile_goes_into_a_file_that_is_there_already(folder: Path) -> None:
    path = folder / "asked"
    assert run(folder, "prof:true,lg_prof_sample:0", "dump", str(path)).returncode == 0
    assert of_size(read_heap_v2(path), LARGE)["*"] == 50
    assert [entry.name for entry in folder.iterdir()] == ["asked"]


def test_an_interval_makes_profiles_on_the_way(folder: Path) -> None:
    run(folder, "prof:true,lg_prof_sample:12,lg_prof_interval:24", "churn", "160")
    names = sorted(path.name.split(".", 2)[2] for path in folder.iterdir())
    assert len(names) in range(8, 13), names  # ten times 16 MiB, by estimate
    assert names[0] == "0.i0.heap"
    assert {int(name.split(".")[0]) for name in names} == set(range(len(names)))


def test_new_peaks_make_profiles(folder: Path) -> None:
    run(folder, "prof:true,lg_prof_sample:12,prof_gdump:true", "grow", "100")
    live = [read_heap_v2(path).threads["*"].size for path in sorted(folder.glob("*.u*.heap"), key=sequence)]
    assert len(live) >= 3
    assert live == sorted(live)


def sequence(path: Path) -> int:
    """The number of a profile in its process."""
    return int(path.name.split(".")[2])


def test_an_empty_prefix_makes_no_profile(folder: Path) -> None:
    environment = {**os.environ, "LD_PRELOAD": LIBRARY, "MALLOC_CONF": EVERY_BYTE + ",prof_prefix:"}
    subprocess.run([PROGRAM, "leak"], env=environment, cwd=folder, timeout=250, check=True)
    assert list(folder.iterdir()) == []


def test_a_profile_that_cannot_be_written_is_told(folder: Path) -> None:
    told = run(folder / "missing", EVERY_BYTE, "leak")
    assert told.returncode == 0
    assert f"<hew>: a heap profile could not be written: {folder}/missing/p." in told.stderr, told.stderr
    assert run(folder / "missing", f"{EVERY_BYTE},abort:true", "leak").returncode == -signal.SIGABRT


def test_a_forked_child_has_a_profile_of_its_own(folder: Path) -> None:
    assert run(folder, EVERY_BYTE, "fork").returncode == 0
    large = sorted(of_size(read_heap_v2(path), LARGE)["*"] for path in folder.glob("p.*.f.heap"))
    assert large == [50, 57], large


def test_a_leak_is_told_and_can_fail_the_program(folder: Path) -> None:
    told = run(folder, EVERY_BYTE + ",prof_leak:true", "leak")
    assert told.returncode == 0
    assert "<hew>: not freed at exit: 5" in told.stderr, told.stderr
    failed = run(folder, EVERY_BYTE + ",prof_leak_error:true", "leak")
    assert failed.returncode == 1
    assert "exit status 1" in failed.stderr


def test_a_pid_namespace_stands_in_the_name(folder: Path) -> None:
    run(folder, EVERY_BYTE + ",prof_pid_namespace:true", "leak")
    name = only(folder, "p.*").name.split(".")
    assert name[3:] == ["0", "f", "heap"]
    assert os.readlink("/proc/self/ns/pid") == f"pid:[{name[1]}]"


def test_stacks_are_cut_at_prof_bt_max(folder: Path) -> None:
    run(folder, EVERY_BYTE + ",prof_bt_max:2", "leak")
    profile = read_heap_v2(only(folder, "p.*"))
    assert max(len(stack.frames) for stack in profile.stacks) == 2


def test_a_log_tells_the_life_of_each_object(folder: Path) -> None:
    assert run(folder, "prof:true,lg_prof_sample:0,prof_log:true", "clean").returncode == 0
    log = json.loads(only(folder, "p.*.0.json").read_text())
    assert len([event for event in log["allocations"] if event["usize"] == SMALL]) == 1500
    assert {thread["thr_name"] for thread in log["threads"]} >= {"the main one"}
    last = log["allocations"][0]
    assert len(log["stack_traces"]) > max(last["alloc_trace"], last["free_trace"])


def test_the_library_says_where_tracers_may_look(_: Path) -> None:
    notes = subprocess.run(["readelf", "-n", LIBRARY], capture_output=True, text=True, check=True).stdout
    words = " ".join(notes.split())
    for name, arguments in (("alloc", 3), ("free", 1)):
        _, _, rest = words.partition(f"Provider: otel_memory Name: {name} ")
        given = rest.partition("Arguments: ")[2].split()[:arguments]
        assert len(given) == arguments, words
        assert all(argument.startswith("8@") for argument in given), given


def main() -> int:
    """Run every case in a folder of its own."""
    failed = 0
    cases = {name: case for name, case in globals().items() if name.startswith("test_")}
    for name, case in cases.items():
        with tempfile.TemporaryDirectory() as folder:
            try:
                case(Path(folder))
                print("ok", name)
            except Exception as error:  # noqa: BLE001 - one case must not end the others
                failed += 1
                print("not ok", name, repr(error))
    print(f"{len(cases)} cases, {failed} failed")
    return int(failed != 0)


if __name__ == "__main__":
    sys.exit(main())
