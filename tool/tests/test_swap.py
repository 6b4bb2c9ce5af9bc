# SPDX-License-Identifier: MIT
"""`hew swap`: another allocator in a process that runs; when it is refused; how first instructions move."""

import os
import platform
import signal
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import build, may_attach
from hew.model.errors import HewError
from hew.sources.library import find_hew
from hew.sources.swap import swapping
from hew.sources.swap.instructions import Unknown, decode, moved, place_of_jump, returns_into
from hew.sources.swap.swapping import drain, swap, swap_back
from waiting import waiting

Programs = Callable[[str], list[str]]
LONG = 60.0  # seconds in which a moment is found, however busy the machine is
SLEEPS = '#include <stdio.h>\n#include <unistd.h>\nint main(void) { puts("ready"); fflush(stdout); return pause(); }\n'
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
        with pytest.raises(HewError, match="has not been swapped, or has been given back"):
            swap_back(program.pid)
        assert not swap(program.pid, ours, timeout=LONG).loaded
        output, _ = program.communicate("\n", timeout=LONG)
        assert (program.returncode, output.split()[:2]) == (0, ["wrong", "0"])


def test_a_program_that_cannot_be_swapped_is_refused_in_a_line_and_left_alone(
    compiler: str, tmp_path: Path, ours: Path
) -> None:
    program = str(build(compiler, tmp_path / "sleeps", SLEEPS, "-O1"))
    posing = str(build(compiler, tmp_path / "libasan.so.8", "int nothing;\n", "-shared", "-fPIC"))
    limit = 64 << 10  # KiB
    cases: list[tuple[list[str], str | None, str]] = [
        ([program], posing, "runs under a sanitizer"),
        ([program], str(ours), "has been on hew"),
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


def test_a_static_program_is_refused(compiler: str, tmp_path: Path, ours: Path) -> None:
    try:
        program = str(build(compiler, tmp_path / "sleeps", SLEEPS, "-O1", "-static"))
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
