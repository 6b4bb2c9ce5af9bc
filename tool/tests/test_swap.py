# SPDX-License-Identifier: MIT
"""`hew swap`: another allocator in a process that runs; when it is refused; how first instructions move."""

import json
import os
import platform
import shutil
import signal
import struct
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import PATIENCE, PROGRAMS, HewRunner, build, may_attach
from hew.model.errors import HewError
from hew.sources.attach import kernel, reading
from hew.sources.attach.looks import FRAME_CS, USER_CODE_64, has_frame
from hew.sources.library import find_hew
from hew.sources.process_facts import read_process
from hew.sources.processes import tree
from hew.sources.swap import swapping
from hew.sources.swap.checks import check_program
from hew.sources.swap.instructions import Unknown, decode, moved, place_of_jump, returns_into
from hew.sources.swap.places import places_in, sites_of
from hew.sources.swap.service import processes_of
from hew.sources.swap.swapping import drain, swap, swap_back
from waiting import waiting

Programs = Callable[[str], list[str]]
SOAK = Path(__file__).resolve().parents[2] / "scripts" / "swap_soak.py"
LONG = 60.0  # seconds in which a moment is found, however busy the machine is
WAYS = ("direct", "stored", "dlsym", "dlvsym", "realloc", "aligned", "libc", "plugin", "thread", "child")
PLUGIN = "#include <stdlib.h>\nvoid *make(size_t size) { return malloc(size); }\n"
SLEEPS = """#include <stdio.h>
#include <unistd.h>
{head}
int main(void) {{ {before} puts("ready"); fflush(stdout); return pause(); }}
"""
FILTERED = """#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
static struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
static struct sock_fprog program = {1, &all};
"""
OWN_MALLOC = """#include <stddef.h>
static _Alignas(16) char memory[1 << 20];
static size_t used;
void *malloc(size_t size) { used += size + 15 & -16; return &memory[used - (size + 15 & -16)]; }
void *calloc(size_t count, size_t size) { return malloc(count * size); }
void *realloc(void *object, size_t size) { return object ? NULL : malloc(size); }
void free(void *object) { (void)object; }
size_t malloc_usable_size(void *object) { return object ? 16 : 0; }
"""


PREFIXED = """static const char *volatile text = "<jemalloc>: Malformed conf string";
int my_mallctlnametomib(void) { return text[0]; }
"""
NOBODY = 65534


def sleeps(head: str = "", before: str = "") -> str:
    """A program that does something, says "ready" and sleeps."""
    return SLEEPS.format(head=head, before=before)


pytestmark = [
    pytest.mark.skipif(platform.machine() != "x86_64", reason="hew swap works on x86-64 only"),
    pytest.mark.skipif(not may_attach(), reason="kernel.yama.ptrace_scope lets only root attach"),
]


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is tested here must hold on a machine with too much to do, where 20 ms are not enough for a stop."""
    monkeypatch.setattr(swapping, "LONGEST_STOP", 2.0)


@pytest.fixture
def ours() -> Path:
    """The library."""
    return find_hew(None, os.environ)


@pytest.mark.parametrize("preload", ["", "libjemalloc.so.2"])
def test_objects_of_both_allocators_live_on_through_swaps_back_and_forth(
    preload: str, programs: Programs, ours: Path
) -> None:
    folder = Path("/usr/lib/x86_64-linux-gnu")
    if preload and not (folder / preload).exists():
        pytest.skip("jemalloc is not here: apt-get install libjemalloc2")
    with waiting(programs("swaps 3"), {"LD_PRELOAD": str(folder / preload) if preload else None}) as program:
        first = swap(program.pid, ours, timeout=LONG)
        assert first.loaded
        with pytest.raises(HewError, match="has been swapped already"):
            swap(program.pid, ours)
        assert drain(program.pid, timeout=LONG).frees > 0
        assert not swap_back(program.pid, timeout=LONG).loaded
        with pytest.raises(HewError, match="has not been swapped, or is back already"):
            swap_back(program.pid)
        assert not swap(program.pid, ours, timeout=LONG).loaded
        output, _ = program.communicate("\n", timeout=LONG)
        assert (program.returncode, output.split()[:2]) == (0, ["wrong", "0"])


@pytest.mark.parametrize(
    ("flags", "variables"),
    [
        ((), {}),
        (("-Wl,-z,relro", "-Wl,-z,now", "-fcf-protection=full"), {}),
        (("-no-pie", "-Wl,-z,lazy"), {}),
        (("-Wl,-z,norelro", "-Wl,-z,lazy"), {}),
        ((), {"LD_BIND_NOW": "1"}),
    ],
    ids=["usual", "read-only words and CET", "fixed address, bound at the first call", "no RELRO", "bound at start"],
)
def test_every_way_to_malloc_leads_to_hew_and_back(
    flags: tuple[str, ...], variables: dict[str, str | None], compiler: str, tmp_path: Path, ours: Path
) -> None:
    text = (PROGRAMS / "swap_corners.c").read_text()
    program = build(compiler, tmp_path / "corners", text, "-O1", "-fno-builtin", "-pthread", *flags)
    plugin = build(compiler, tmp_path / "plugin.so", PLUGIN, "-shared", "-fPIC", "-fno-builtin")
    with waiting([str(program), str(ours), str(plugin)], variables) as child:

        def served() -> set[tuple[str, str]]:
            """Each way with the allocator that it led to."""
            assert child.stdin is not None
            assert child.stdout is not None
            child.stdin.write("\n")
            child.stdin.flush()
            words = child.stdout.readline().split()
            return set(zip(words[::2], words[1::2], strict=True))

        assert served() == {(way, "old") for way in WAYS}
        swap(child.pid, ours, timeout=LONG)
        assert served() == {(way, "hew") for way in WAYS}
        swap_back(child.pid, timeout=LONG)
        assert served() == {(way, "old") for way in WAYS}
        child.communicate("", timeout=LONG)
        assert child.returncode == 0


def test_hew_gets_its_settings_and_its_control_socket(programs: Programs, ours: Path, hew: HewRunner) -> None:
    with waiting(programs("swaps 2"), {}) as program:
        done = hew("swap", "--timeout", "60", "--lib", str(ours), "--conf", "dirty_decay_ms:1234", str(program.pid))
        assert (done.returncode, done.stderr) == (0, "")
        assert hew("ctl", str(program.pid), "arenas.dirty_decay_ms").stdout == "1234\n"


def test_a_server_under_load_gives_right_answers_meanwhile(ours: Path, tmp_path: Path) -> None:
    words = [sys.executable, str(SOAK), "--swaps", "2", "--only", "python", "--library", str(ours)]
    words += ["--results", str(tmp_path / "results.json")]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (0, "")
    assert "2 of 2" in done.stdout


def test_one_command_swaps_and_trims_and_then_trims_alone(programs: Programs, ours: Path, hew: HewRunner) -> None:
    with waiting(programs("hold 1 1000 40000 0 4000000"), {}) as program:
        words = ("swap", "--timeout", "60", "--trim", "--lib", str(ours), str(program.pid))
        first, second = hew(*words).stdout.splitlines(), hew(*words).stdout.splitlines()
        assert "is on hew" in first[0]
        assert "of the old heap returned" in first[1]
        assert "of the old heap returned" in second[0]
        assert hew("swap", "--back", "--timeout", "60", str(program.pid)).returncode == 0


def test_a_program_that_only_sleeps_goes_on_sleeping(programs: Programs, ours: Path) -> None:
    with waiting(programs("hold 1 500 300 3 4000000"), {}) as program:
        swap(program.pid, ours, timeout=LONG)
        drain(program.pid, timeout=LONG)
        swap_back(program.pid, timeout=LONG)
        assert program.poll() is None


def test_descendants_are_swapped_too(programs: Programs, ours: Path, hew: HewRunner) -> None:
    words = " ".join(programs("swaps 2"))
    with waiting(["sh", "-c", f"{words}; echo $?"], {}) as shell:
        done = hew("swap", "--timeout", "60", "--children", "--json", "--lib", str(ours), str(shell.pid))
        swapped = [one["pid"] for one in json.loads(done.stdout)]
        assert swapped == tree(shell.pid)
        assert len(swapped) == 2
        output, _ = shell.communicate("\n", timeout=LONG)
        assert output.split()[-1] == "0"


def test_a_service_is_the_processes_of_its_control_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    systemctl = tmp_path / "systemctl"
    systemctl.write_text('#!/bin/sh\n[ "$5" = busy ] && echo /system.slice/busy.service; exit 0\n')
    systemctl.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    group = tmp_path / "system.slice" / "busy.service"
    (group / "inner").mkdir(parents=True)
    (group / "cgroup.procs").write_text("41\n")
    (group / "inner" / "cgroup.procs").write_text("9\n10\n")
    assert processes_of("busy", tmp_path) == [9, 10, 41]
    with pytest.raises(HewError, match="the service idle does not run"):
        processes_of("idle", tmp_path)


def test_a_program_that_cannot_be_swapped_is_refused_in_a_line_and_left_alone(
    compiler: str, tmp_path: Path, ours: Path
) -> None:
    program = str(build(compiler, tmp_path / "sleeps", sleeps(), "-O1"))
    posing = str(build(compiler, tmp_path / "libasan.so.8", "int nothing;\n", "-shared", "-fPIC"))
    recorder = str(build(compiler, tmp_path / "libhewtrace.so", "int nothing;\n", "-shared", "-fPIC"))
    limit = 64 << 10  # KiB
    cases: list[tuple[list[str], str | None, str]] = [
        ([program], posing, "runs under a sanitizer"),
        ([program], recorder, r"has libhewtrace\.so loaded, which watches its malloc"),
        ([program], str(ours), "has been on hew"),
        (["sh", "-c", f"ulimit -d {limit}; exec {program}"], None, "left below its limit of data"),
        (["sh", "-c", f"ulimit -v {limit}; exec {program}"], None, "left below its limit of address space"),
    ]
    for words, preload, reason in cases:
        with waiting(words, {"LD_PRELOAD": preload}) as child:
            with pytest.raises(HewError, match=reason):
                swap(child.pid, ours)
            assert str(ours) not in Path(f"/proc/{child.pid}/maps").read_text() or preload == str(ours)
    with waiting([program], {}) as child:
        os.kill(child.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
        with pytest.raises(HewError, match="is stopped"):
            swap(child.pid, ours)
        os.kill(child.pid, signal.SIGCONT)
        os.waitid(os.P_PID, child.pid, os.WCONTINUED)
        with pytest.raises(HewError, match="has not been swapped"):
            drain(child.pid)


@pytest.mark.parametrize(
    ("head", "before", "reason"),
    [
        (
            FILTERED,
            "prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);",
            "has a seccomp filter",
        ),
        ("#include <sys/mman.h>", "static char page[4096]; mlock(page, 4096);", r"has locked \d+ KiB of its memory"),
        (OWN_MALLOC, "", r"brings a malloc of its own \(.*sleeps\) that is not known here"),
    ],
    ids=["seccomp", "locked memory", "a malloc of its own"],
)
def test_what_a_program_has_done_may_forbid_it(
    head: str, before: str, reason: str, compiler: str, tmp_path: Path, ours: Path
) -> None:
    program = build(compiler, tmp_path / "sleeps", sleeps(head, before), "-O1", "-fno-builtin", "-rdynamic")
    with waiting([str(program)], {}) as child:
        with pytest.raises(HewError, match=reason):
            swap(child.pid, ours)
        assert str(ours) not in Path(f"/proc/{child.pid}/maps").read_text()


def test_a_program_with_other_rights_than_its_users_is_refused(compiler: str, tmp_path: Path, ours: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make a program that runs with another user's rights")
    tmp_path.chmod(0o755)
    program = build(compiler, tmp_path / "sleeps", sleeps(), "-O1")
    os.chown(program, NOBODY, NOBODY)
    program.chmod(0o4755)
    with waiting([str(program)], {}) as child:
        if str(NOBODY) not in Path(f"/proc/{child.pid}/status").read_text().split():
            pytest.skip("the folder of the tests is mounted nosuid")
        with pytest.raises(HewError, match=r"runs with other rights than its user's .* link its program with hew"):
            swap(child.pid, ours)


def test_a_program_under_another_root_is_refused_unless_it_sees_the_library(
    compiler: str, tmp_path: Path, ours: Path
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may chroot")
    program = build(compiler, tmp_path / "sleeps", sleeps(), "-O1")
    root = tmp_path / "root"
    listed = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True).stdout
    for word in [str(program), *(word for word in listed.split() if word.startswith("/"))]:
        there = root / word.removeprefix("/")
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(word, there)
    with waiting(["chroot", str(root), str(program)], {}) as child:
        with pytest.raises(HewError, match=rf"does not see {ours}: it has another root .* Put the same file there"):
            swap(child.pid, ours)
        assert "libhew" not in Path(f"/proc/{child.pid}/maps").read_text()


def test_a_function_that_a_probe_has_changed_is_named(compiler: str, tmp_path: Path, ours: Path) -> None:
    with waiting([str(build(compiler, tmp_path / "sleeps", sleeps(), "-O1"))], {}) as child:
        places = places_in(child.pid)
        memory = os.open(f"/proc/{child.pid}/mem", os.O_RDWR)
        try:
            calloc = next(one for one in sites_of(places.libc, memory) if one.name == "calloc")
            os.pwrite(memory, b"\xcc", calloc.place)
        finally:
            os.close(memory)
        with pytest.raises(HewError, match=r"calloc of .* has been changed in memory"):
            swap(child.pid, ours)


def test_a_go_program_is_refused_by_name(compiler: str, tmp_path: Path) -> None:
    with waiting([str(build(compiler, tmp_path / "sleeps", sleeps(), "-O1"))], {}) as child:
        facts = read_process(child.pid)
        assert facts.program is not None
        posing = replace(facts, program=replace(facts.program, runtime="Go 1.22"))
        with pytest.raises(HewError, match="is a Go program: its heap is the Go runtime's own"):
            check_program(child.pid, posing)


def test_a_shadow_stack_is_known_by_the_flag_of_the_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "PROC", str(tmp_path))
    status = tmp_path / "41" / "status"
    status.parent.mkdir()
    status.write_text("State:\tS (sleeping)\nTracerPid:\t0\nx86_Thread_features:\tshstk wrss \n")
    with pytest.raises(HewError, match="process 41 has a shadow stack, which forbids the call of its loader"):
        reading.check_calls(41, "hew swap works", "the call of its loader")
    status.write_text("State:\tS (sleeping)\nTracerPid:\t0\nx86_Thread_features:\t\n")
    reading.check_calls(41, "hew swap works", "the call of its loader")


def test_a_copy_of_an_allocator_under_other_names_is_named_and_stays(
    compiler: str, tmp_path: Path, ours: Path, hew: HewRunner
) -> None:
    program = build(compiler, tmp_path / "sleeps", sleeps(PREFIXED), "-O1")
    with waiting([str(program)], {}) as child:
        done = hew("swap", "--timeout", "60", "--lib", str(ours), str(child.pid))
        assert (done.returncode, done.stderr) == (0, "")
        first, second = done.stdout.splitlines()
        assert "is on hew (before: glibc" in first
        assert second == f"  not changed: jemalloc (my_malloc in {program}), which its callers go on using"


def test_what_a_stack_keeps_of_a_past_handler_is_no_handler() -> None:
    restorer, frame = 0x7000_1000, bytearray(4096)
    assert not has_frame(bytes(frame), frozenset({restorer}))
    struct.pack_into("<Q", frame, 1000, restorer)
    assert not has_frame(bytes(frame), frozenset({restorer})), "the rest of it was overwritten"
    struct.pack_into("<H", frame, 1000 + FRAME_CS, USER_CODE_64)
    assert has_frame(bytes(frame), frozenset({restorer}))
    assert not has_frame(bytes(frame), frozenset({restorer + 1}))
    assert has_frame(bytes(frame[: 1000 + FRAME_CS]), frozenset({restorer})), "the rest of it was not read"


def test_a_traced_program_is_refused(compiler: str, tmp_path: Path, ours: Path) -> None:
    with waiting([str(build(compiler, tmp_path / "sleeps", sleeps(), "-O1"))], {}) as child:
        kernel.request(kernel.SEIZE, child.pid)
        with pytest.raises(HewError, match=f"is traced already, by process {os.getpid()}"):
            swap(child.pid, ours)


def test_a_program_on_musl_is_refused(tmp_path: Path, ours: Path) -> None:
    if shutil.which("musl-gcc") is None:
        pytest.skip("no musl here: apt-get install musl-tools")
    with (
        waiting([str(build("musl-gcc", tmp_path / "sleeps", sleeps(), "-O1"))], {}) as child,
        pytest.raises(HewError, match="runs on musl"),
    ):
        swap(child.pid, ours)


def test_a_static_program_is_refused(compiler: str, tmp_path: Path, ours: Path) -> None:
    try:
        program = str(build(compiler, tmp_path / "sleeps", sleeps(), "-O1", "-static"))
    except subprocess.CalledProcessError:
        pytest.skip("no static C library here")
    with waiting([program], {}) as child, pytest.raises(HewError, match="is a static program"):
        swap(child.pid, ours)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("415455534889fb", "4154555348"),  # push r12; push rbp; push rbx; mov rbx, rdi
        ("488d0510000000c3", "488d05"),  # lea rax, [rip+16]
        ("803d460b140000750a", "803d"),  # cmp byte [rip+..], 0
    ],
)
def test_first_instructions_move(code: str, expected: str) -> None:
    assert moved(bytes.fromhex(code), 0x1000, 0x9000).hex().startswith(expected)


def test_what_counts_from_its_place_reaches_the_same_address_from_another() -> None:
    code = bytes.fromhex("488d0510000000" + "90" * 8)  # lea rax, [rip+16]
    there = moved(code, 0x1000, 0x9000)
    assert struct.unpack_from("<i", there, 3)[0] == 0x1000 + 7 + 16 - (0x9000 + 7)
    assert struct.unpack_from("<i", there, 8)[0] == 0x1000 + 7 - (0x9000 + 12)
    short = bytes.fromhex("4885ff742b488b4ff8")  # test rdi, rdi; je +43
    there = moved(short, 0x1000, 0x9000)
    assert there[3:5] == b"\x0f\x84"
    assert struct.unpack_from("<i", there, 5)[0] == 0x1000 + 5 + 43 - (0x9000 + 9)


def test_what_is_not_known_does_not_move() -> None:
    for code in ("e810000000", "c3", "ff2500000000", "48", "0f0b9090909090"):
        with pytest.raises(Unknown):
            moved(bytes.fromhex(code), 0x1000, 0x9000)
    assert len(decode(bytes.fromhex("f30f1efa")).data) == place_of_jump(bytes.fromhex("f30f1efa90")) == 4
    assert returns_into(bytes.fromhex("905390909090ebf9"), 0)  # jmp to its second byte
    assert not returns_into(bytes.fromhex("905390909090ebf8"), 0)  # to its first
