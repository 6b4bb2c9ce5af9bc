# SPDX-License-Identifier: MIT
"""What `hew swap` refuses, in a line, and leaves as it was."""

import os
import shutil
import signal
import struct
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import HewRunner, build
from hew.model.errors import HewError
from hew.sources.attach import kernel, reading
from hew.sources.process_facts import read_process
from hew.sources.swap import places
from hew.sources.swap.checks import check_program, checked
from hew.sources.swap.places import places_in, sites_of
from hew.sources.swap.swapping import drain, swap, swap_back
from swapped import LONG, MARKS, sleeps
from waiting import waiting

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
# A library that is jemalloc to a reader of its file, and lacks what a swap needs, or begins its functions so.
LIKE_JEMALLOC = """#include <stddef.h>
const char *volatile text = "<jemalloc>: Malformed conf string";
int mallctlnametomib(void) {{ return text[0]; }}
static _Alignas(16) char memory[1 << 20];
static size_t used;
void *malloc(size_t size) {{ used += size + 15 & -16; return &memory[used - (size + 15 & -16)]; }}
void *calloc(size_t count, size_t size) {{ return malloc(count * size); }}
void *realloc(void *object, size_t size) {{ return object ? NULL : malloc(size); }}
{rest}
"""
USABLE = "size_t malloc_usable_size(void *object) { return object ? 16 : 0; }\n"
FREE = "void free(void *object) { static void *volatile last; last = object; }\n"
SHORT_FREE = '__attribute__((naked)) void free(void *object) { __asm__("ret"); }\n'
CALLING_FREE = """static void note(void) { }
__attribute__((naked)) void free(void *object) { __asm__("call *%%rax; ret; nop; nop; nop; nop" : : "i"(note)); }
"""
pytestmark = MARKS


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


def test_a_program_with_file_capabilities_is_refused(compiler: str, ours: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a program capabilities")
    with tempfile.TemporaryDirectory() as folder:  # pytest's own is closed to other users
        Path(folder).chmod(0o755)
        program = build(compiler, Path(folder) / "sleeps", sleeps(), "-O1")
        effective, bind_service = 0x02000001, 1 << 10
        try:
            os.setxattr(program, "security.capability", struct.pack("<5I", effective, bind_service, 0, 0, 0))
        except OSError as error:
            pytest.skip(f"the folder of the tests has no file capabilities: {error}")
        as_nobody = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", str(program)]
        reason = r"runs with other rights than its user's .* link its program with hew"
        with waiting(as_nobody, {}) as child, pytest.raises(HewError, match=reason):
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
        there = places_in(child.pid)
        memory = os.open(f"/proc/{child.pid}/mem", os.O_RDWR)
        try:
            calloc = next(one for one in sites_of(there.libc, memory) if one.name == "calloc")
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
        first, _, second, last = done.stdout.splitlines()
        assert "is on hew (before: glibc" in first
        assert second == f"  not changed: jemalloc (my_malloc in {program}), which its callers go on using"
        assert "hew run" in last


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
    ("rest", "reason"),
    [
        (FREE, "has no symbol for malloc_usable_size: its malloc cannot be replaced as a whole"),
        (SHORT_FREE + USABLE, "free of .* has no room for a jump at its start"),
        (
            CALLING_FREE + USABLE,
            "free of jemalloc cannot be moved: its code begins with an instruction",
        ),
    ],
    ids=["no malloc_usable_size", "no room", "an instruction that is not known"],
)
def test_an_allocator_that_cannot_be_replaced_is_refused(
    rest: str, reason: str, compiler: str, tmp_path: Path, ours: Path
) -> None:
    text = LIKE_JEMALLOC.format(rest=rest)
    like = build(
        compiler, tmp_path / "like.so", text, "-shared", "-fPIC", "-O1", "-fno-builtin", "-fcf-protection=none"
    )
    program = build(compiler, tmp_path / "sleeps", sleeps(), "-O1")
    with waiting([str(program)], {"LD_PRELOAD": str(like)}) as child:
        with pytest.raises(HewError, match=reason):
            swap(child.pid, ours)
        assert str(ours) not in Path(f"/proc/{child.pid}/maps").read_text()


def test_a_sanitizer_in_the_program_itself_is_known(compiler: str, tmp_path: Path, ours: Path) -> None:
    program = build(compiler, tmp_path / "sleeps", sleeps("void __asan_init(void) { }"), "-O1", "-rdynamic")
    with waiting([str(program)], {}) as child, pytest.raises(HewError, match=r"runs under a sanitizer \(a sanitizer\)"):
        swap(child.pid, ours)


def test_an_older_glibc_is_refused(compiler: str, tmp_path: Path, ours: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with waiting([str(build(compiler, tmp_path / "sleeps", sleeps(), "-O1"))], {}) as child:
        usual = places.address_of
        monkeypatch.setattr(places, "address_of", lambda file, name: None if name == "dlopen" else usual(file, name))
        with pytest.raises(HewError, match=r"has no glibc of 2\.34 or newer, whose loader can be called"):
            swap(child.pid, ours)


def test_a_process_of_another_user_is_refused(compiler: str, tmp_path: Path, ours: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    with waiting([str(build(compiler, tmp_path / "sleeps", sleeps(), "-O1"))], {}) as child:
        checked(child.pid)  # whatever it needs is loaded
        read, write = os.pipe()
        other = os.fork()
        if other == 0:
            try:
                os.setresuid(NOBODY, NOBODY, NOBODY)
                swap(child.pid, ours)
            except HewError as error:
                os.write(write, str(error).encode())
            finally:
                os._exit(0)
        os.close(write)
        os.waitpid(other, 0)
        with open(read, "rb") as said:  # noqa: PTH123 - a descriptor
            assert said.read().decode() == f"process {child.pid} may not be changed: run this as its user, or as root"


def test_a_number_without_a_process_is_refused(ours: Path) -> None:
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
    with pytest.raises(HewError, match=f"there is no process {gone.pid}"):
        swap(gone.pid, ours)


def test_a_file_that_is_no_library_of_hew_leaves_the_process_as_it_was(
    compiler: str, tmp_path: Path, ours: Path
) -> None:
    text = tmp_path / "libhew.so.text"
    text.write_text("no library")
    other = build(compiler, tmp_path / "libhew.so.other", "int nothing;\n", "-shared", "-fPIC")
    with waiting([str(build(compiler, tmp_path / "sleeps", sleeps(), "-O1"))], {}) as child:
        with pytest.raises(HewError, match=r"loader of process .* refused .*; the process is as it was"):
            swap(child.pid, text, timeout=LONG)
        swap(child.pid, ours, timeout=LONG)
    with waiting([str(tmp_path / "sleeps")], {}) as child:
        with pytest.raises(HewError, match="is of a version that cannot be swapped in"):
            swap(child.pid, other, timeout=LONG)
        assert child.poll() is None


def test_settings_that_come_too_late_or_are_too_long_are_refused(compiler: str, tmp_path: Path, ours: Path) -> None:
    with waiting([str(build(compiler, tmp_path / "sleeps", sleeps(), "-O1"))], {}) as child:
        with pytest.raises(HewError, match="the settings are longer than 4095 bytes"):
            swap(child.pid, ours, "narenas:1," * 500)
        swap(child.pid, ours, timeout=LONG)
        swap_back(child.pid, timeout=LONG)
        with pytest.raises(HewError, match=r"hew has read its settings .* already; hew ctl --conf changes what can"):
            swap(child.pid, ours, "narenas:1")
