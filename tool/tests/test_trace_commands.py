# SPDX-License-Identifier: MIT
"""`hew record` and `hew replay`: what is in a trace, however its program ended, and what becomes of bad ones."""

import io
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import HewRunner, is_as_described
from hew.model.errors import HewError
from hew.sources.library import find_part
from hew.sources.trace.blocks import HEADER, OPERATIONS, is_packed, read_blocks, read_header, unpack
from hew.sources.trace.planning import planned

Programs = Callable[[str], list[str]]
OBJECTS = 20_000


@pytest.fixture(scope="module", autouse=True)
def _built() -> None:
    try:
        find_part("libhewtrace.so"), find_part("hew-replay")
    except HewError as error:
        pytest.skip(str(error))


def operations(trace: Path, folder: Path) -> list[str]:
    """A trace's operations as text."""
    plain = folder / "plain"
    with plain.open("wb") as to:
        unpack(trace, to)
    done = subprocess.run([find_part("hew-replay"), "list", plain], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def recorded(hew: HewRunner, words: list[str], trace: Path, *options: str, **changes: str) -> str:
    """What `hew record` says of a command that ends well."""
    done = hew("record", "-o", str(trace), *options, "--", *words, **changes)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_objects_that_pass_between_threads_are_made_before_they_end(
    hew: HewRunner, programs: Programs, tmp_path: Path
) -> None:
    trace = tmp_path / "t.trace"
    said = recorded(hew, programs("passes_on"), trace)
    assert re.search(r"t\.trace: [\d,]+ operations of 2 threads", said), said
    assert "hew replay" in said
    lines = operations(trace, tmp_path)
    handed = [line for line in lines if re.fullmatch(r"1 free 0\.\d+", line)]
    assert len(handed) == OBJECTS
    assert sum(" realloc " in line for line in lines) == OBJECTS // 5
    assert sum(" calloc 100 " in line for line in lines) == OBJECTS // 3 + 1
    with planned(trace) as (_, plan):
        assert (plan.threads, plan.unknown, plan.damaged, plan.missing, plan.cut_off) == (2, 0, 0, 0, 0)


def test_what_is_recorded_is_the_same_under_every_allocator(
    hew: HewRunner, hew_library: Path, programs: Programs, tmp_path: Path
) -> None:
    under = {}
    for name, options in (("glibc", ()), ("hew", ("--alloc", f"hew={hew_library}"))):
        trace = tmp_path / f"{name}.trace"
        recorded(hew, programs("passes_on"), trace, *options)
        lines = operations(trace, tmp_path)
        first = next(index for index, line in enumerate(lines) if "calloc 100 " in line)
        own = [re.sub(r"\d+\.\d+", "object", line) for line in lines[first:] if line.startswith("0 ")]
        under[name] = [line for line in own if re.search(r"calloc 100 |malloc 100\d |realloc", line)]
    assert len(under["glibc"]) == OBJECTS + OBJECTS // 5
    assert under["glibc"] == under["hew"]


def test_files_of_earlier_recordings_are_left_alone(hew: HewRunner, programs: Programs, tmp_path: Path) -> None:
    for name in ("t.1", "t.4711"):
        (tmp_path / name).write_bytes(b"former")
    said = recorded(hew, programs("passes_on fork"), tmp_path / "t")
    assert "t.4711" not in said
    assert [(tmp_path / name).read_bytes() for name in ("t.1", "t.4711")] == [b"former"] * 2


@pytest.mark.parametrize("status", [0, 3])
def test_exit_status_and_streams_pass_through(hew: HewRunner, tmp_path: Path, status: int) -> None:
    done = hew("record", "-o", str(tmp_path / "t"), "--", "sh", "-c", f"cat; exit {status}", stdin="words\n")
    assert (done.returncode, done.stdout) == (status, "words\n")


def test_a_command_in_the_working_folder_is_found(
    hew: HewRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy("/bin/ls", "beside")
    assert "operations of 1 thread" in recorded(hew, ["./beside"], tmp_path / "t.trace")


def test_a_killed_process_leaves_all_its_operations(hew: HewRunner, programs: Programs, tmp_path: Path) -> None:
    trace = tmp_path / "t.trace"
    done = hew("record", "-o", str(trace), "--", *programs("passes_on kill"))
    assert done.returncode == -signal.SIGKILL
    assert "was killed" in done.stderr
    assert sum("1 free 0." in line for line in operations(trace, tmp_path)) == OBJECTS


def test_a_forked_child_and_the_next_program_write_files_of_their_own(
    hew: HewRunner, programs: Programs, tmp_path: Path
) -> None:
    recorded(hew, programs("passes_on fork"), tmp_path / "fork.trace")
    (child,) = (tmp_path / "fork.trace.others").iterdir()
    assert re.fullmatch(r"passes_on\.\d+", child.name)
    assert sum(" malloc 77 " in line for line in operations(child, tmp_path)) == 500
    assert not any(" malloc 77 " in line for line in operations(tmp_path / "fork.trace", tmp_path))
    recorded(hew, programs("passes_on exec"), tmp_path / "exec.trace")
    assert len(list((tmp_path / "exec.trace.others").iterdir())) == 1
    recorded(hew, programs("passes_on fork"), tmp_path / "alone.trace", "--no-children")
    assert not (tmp_path / "alone.trace.others").exists()


def test_through_a_wrapper_the_trace_is_that_of_the_program_with_most_operations(
    hew: HewRunner, programs: Programs, tmp_path: Path
) -> None:
    """As pyenv's: a shell that starts some programs and at last becomes the one that was meant."""
    wrapper = tmp_path / "wrapper"
    wrapper.write_text('#!/bin/sh\nfor i in 1 2 3; do ls / | cat | sort >/dev/null; done\nexec "$@"\n')
    wrapper.chmod(0o755)
    folder = tmp_path / "recording"
    folder.mkdir()
    said = recorded(hew, [str(wrapper), *programs("passes_on")], folder / "t.trace")
    assert sorted(path.name for path in folder.iterdir()) == ["t.trace", "t.trace.others"]
    first = said.splitlines()[0]
    assert re.search(r"t\.trace: [\d,]+ operations of 2 threads of passes_on in ", first), said
    assert {path.name.partition(".")[0] for path in (folder / "t.trace.others").iterdir()} >= {"ls", "sort"}
    assert said.rstrip().endswith(f"hew replay {folder / 't.trace'}")
    counted = hew("simulate", "--json", str(folder / "t.trace"))
    assert json.loads(counted.stdout)["trace"]["threads"] == 2
    again = hew("record", "-o", str(folder / "t.trace"), "--", "true")
    assert again.returncode == 1
    assert "is there already" in again.stderr


def test_a_program_that_allocates_nothing_is_said_to(hew: HewRunner, tmp_path: Path) -> None:
    done = hew("record", "-o", str(tmp_path / "t.trace"), "--", "true")
    assert (done.returncode, list(tmp_path.iterdir())) == (0, [])
    assert "the program allocates nothing" in done.stderr


def test_max_stops_the_recording_and_not_the_program(hew: HewRunner, tmp_path: Path) -> None:
    code = "for i in range(1000000): x = bytes(600 + i % 9)\nprint(i + 1)"
    done = hew("record", "-o", str(tmp_path / "t"), "--max", "1M", "--", sys.executable, "-c", code)
    assert (done.returncode, done.stdout) == (0, "1000000\n")
    assert "--max, or the disk is full" in done.stderr
    with planned(tmp_path / "t") as (_, plan):
        assert plan.flags & 2
        assert plan.operations > 10_000


def test_one_thread_of_some_is_recorded_with_all_that_becomes_of_its_objects(
    hew: HewRunner, programs: Programs, tmp_path: Path
) -> None:
    recorded(hew, programs("passes_on"), tmp_path / "t", "--threads", "2")
    lines = operations(tmp_path / "t", tmp_path)
    assert sum("1 free 0." in line for line in lines) == OBJECTS
    assert not any(re.match(r"1 (malloc|calloc)", line) for line in lines)


def test_replay_measures_the_trace_under_the_allocators(
    hew: HewRunner, hew_library: Path, programs: Programs, tmp_path: Path
) -> None:
    trace = tmp_path / "t.trace"
    recorded(hew, programs("passes_on"), trace)
    done = hew("replay", "--runs", "1", "--warmup", "0", "--json", "--alloc", f"hew={hew_library}", str(trace))
    assert done.returncode == 0, done.stderr
    assert "2 threads" in done.stderr
    report = is_as_described(done.stdout, "compare")
    assert {one["name"] for one in report["allocators"]} == {"glibc", "hew"}
    assert all("peak heap, bytes" in json.dumps(one) for one in report["allocators"])
    for touch in ("none", "first", "all"):
        done = hew(
            "replay", "--runs", "1", "--warmup", "0", "--touch", touch, "--alloc", f"hew={hew_library}", str(trace)
        )
        assert done.returncode == 0, done.stderr
        assert "operations/s" in done.stdout


def test_what_was_not_touched_in_life_is_not_touched_in_a_replay(hew: HewRunner, tmp_path: Path) -> None:
    """Of 64 MiB the program writes ten pages; of what lives to the end as well as of what is freed."""
    code = (
        "import ctypes\nc = ctypes.CDLL(None)\n"
        "c.malloc.restype = ctypes.c_void_p\nc.free.argtypes = [ctypes.c_void_p]\n"
        "def use():\n    p = c.malloc(ctypes.c_size_t(64 << 20)); ctypes.memset(p, 1, 40960); return p\n"
        "c.free(use()); kept = use()"
    )
    trace = tmp_path / "t"
    recorded(hew, [sys.executable, "-S", "-c", code], trace)
    told = [line.split() for line in operations(trace, tmp_path) if " touched " in line]
    large = [int(words[-2]) for words in told if int(words[-2]) >= 10]
    assert sum(10 <= pages <= 12 for pages in large) == 2, told
    with planned(trace) as (plan, _):
        peak = {}
        for touch in ("recorded", "pages"):
            words = [str(find_part("hew-replay")), "run", str(plan), touch, "fast"]
            said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
            peak[touch] = int(re.search(r"peak heap (\d+)", said)[1])  # type: ignore[index]
    assert peak["recorded"] < 32 << 20 < 64 << 20 <= peak["pages"]


def test_a_trace_cut_at_any_length_is_read_as_far_as_it_goes_or_refused(
    hew: HewRunner, programs: Programs, tmp_path: Path
) -> None:
    trace = tmp_path / "t.trace"
    recorded(hew, programs("passes_on"), trace)
    whole = trace.read_bytes()
    cut = tmp_path / "cut"
    drawn = random.Random(1)  # noqa: S311
    with planned(trace) as (_, plan):
        most = plan.operations
    for length in (0, 1, 8, HEADER.size - 1):
        cut.write_bytes(whole[:length])
        with pytest.raises(HewError, match="no trace of hew record"), planned(cut):
            pass
    for length in (
        HEADER.size,
        HEADER.size + 1,
        127,
        len(whole) - 1,
        *drawn.sample(range(HEADER.size, len(whole)), 12),
    ):
        cut.write_bytes(whole[:length])
        with planned(cut) as (_, plan):
            assert plan.operations <= most


def test_damage_is_counted_and_harms_nobody(hew: HewRunner, programs: Programs, tmp_path: Path) -> None:
    trace = tmp_path / "t.trace"
    recorded(hew, programs("passes_on"), trace)
    whole = trace.read_bytes()
    drawn = random.Random(2)  # noqa: S311
    damaged = tmp_path / "damaged"
    for _ in range(20):
        changed = bytearray(whole)
        for _ in range(4):
            changed[drawn.randrange(HEADER.size, len(changed))] = drawn.randrange(256)
        damaged.write_bytes(changed)
        with planned(damaged) as (path, plan):
            run = subprocess.run([find_part("hew-replay"), "run", path, "pages", "fast"], check=False, timeout=120)
            assert run.returncode == 0
            assert plan.damaged + plan.missing + plan.cut_off > 0 or changed == whole


def test_a_frame_that_unpacks_to_more_than_its_header_says_is_refused(
    hew: HewRunner, programs: Programs, tmp_path: Path
) -> None:
    trace = tmp_path / "t.trace"
    recorded(hew, programs("passes_on"), trace)
    with trace.open("rb") as file:
        header = read_header(file, trace)
        block, payload = max(read_blocks(file, header), key=lambda pair: pair[0].length)
    changed = block.__class__(**{**block.__dict__, "length": block.length // 2})
    trace.write_bytes(
        header.bytes[:12] + b"\x40\0\0\0" + header.bytes[16:] + changed.packed() + payload.ljust(block.room)
    )
    with pytest.raises(HewError, match="unpack"):
        unpack(trace, io.BytesIO())


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda path: path.write_bytes(b""), 'does not begin with "hewtrace"'),
        (lambda path: path.write_bytes(os.urandom(5000)), 'does not begin with "hewtrace"'),
        (
            lambda path: path.write_bytes(b"hewtrace\x09" + bytes(500)),
            "a trace of version 9: this hew reads versions 1 to 4",
        ),
        (lambda path: path.write_bytes(b"hewtrace\x01\0\0\0\0\0\0\x7f" + bytes(500)), "lie outside of the file"),
        (lambda path: path.mkdir(), "no file, as a trace is"),
        (lambda _: None, "no such file"),
    ],
)
def test_what_is_no_trace_is_refused_in_one_line(
    hew: HewRunner, tmp_path: Path, make: Callable[[Path], object], says: str
) -> None:
    make(tmp_path / "x")
    done = hew("replay", str(tmp_path / "x"))
    assert done.returncode == 1
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["-o", "{}/there", "--", "true"], "is there already"),
        (["-o", "{}/none/t", "--", "true"], "is no folder"),
        (["-o", "{}/t", "--max", "1k", "--", "true"], "is not a size of 1M or more"),
        (["-o", "{}/t", "--", "no-such-program-is-here"], "no-such-program-is-here"),
        (["-o", "{}/t", "--alloc", "hew=/none", "--", "true"], "/none is not a file"),
    ],
)
def test_what_cannot_be_recorded_is_said_before_the_command_runs(
    hew: HewRunner, tmp_path: Path, words: list[str], says: str
) -> None:
    (tmp_path / "there").touch()
    done = hew("record", *(word.format(tmp_path) for word in words))
    assert done.returncode != 0
    assert says in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"there"}


def test_a_program_that_nothing_can_be_preloaded_into_is_refused(hew: HewRunner, compiler: str, tmp_path: Path) -> None:
    (tmp_path / "static.c").write_text("int main(void) { return 0; }\n")
    made = subprocess.run([compiler, "-static", "-o", tmp_path / "static", tmp_path / "static.c"], check=False)
    if made.returncode != 0:
        pytest.skip("no static libc")
    done = hew("record", "-o", str(tmp_path / "t"), "--", str(tmp_path / "static"))
    assert done.returncode == 1
    assert "statically linked" in done.stderr


def test_packing_changes_no_operation(hew: HewRunner, programs: Programs, tmp_path: Path) -> None:
    trace = tmp_path / "t.trace"
    recorded(hew, programs("passes_on"), trace)
    assert is_packed(trace)
    plain = tmp_path / "unpacked"
    with plain.open("wb") as to:
        unpack(trace, to)
    assert not is_packed(plain)
    assert trace.stat().st_size < plain.stat().st_size
    assert operations(plain, tmp_path) == operations(trace, tmp_path)


def test_a_trace_that_needs_more_memory_than_there_is_is_refused(hew: HewRunner, tmp_path: Path) -> None:
    code = "import ctypes; ctypes.CDLL(None).malloc.argtypes = [ctypes.c_size_t]; p = ctypes.CDLL(None).malloc(1 << 20)"
    trace = tmp_path / "t"
    recorded(hew, [sys.executable, "-S", "-c", code], trace, "--no-children")
    plain = tmp_path / "plain"
    with plain.open("wb") as to:
        unpack(trace, to)
    # A malloc of 2^46 bytes, in a block of its own: a SYNC, then the code with a number of eight bytes.
    payload = bytes([1 << 3, 1, 1, (31 << 3) | 1]) + (1 << 46).to_bytes(8, "little")
    with plain.open("rb") as file:
        header = read_header(file, plain)
        block, _ = next(pair for pair in read_blocks(file, header) if pair[0].kind == OPERATIONS)
    stored = {"codec": 0, "length": len(payload), "stored": len(payload), "checksum": zlib.crc32(payload)}
    changed = block.__class__(**{**block.__dict__, **stored, "room": 80, "thread": 99, "sequence": 0, "number": 0})
    plain.write_bytes(plain.read_bytes() + changed.packed() + payload.ljust(16, b"\0"))
    done = hew("replay", "--runs", "1", str(plain))
    assert done.returncode == 1
    assert "64.0 TiB live at once, and the machine has" in done.stderr
