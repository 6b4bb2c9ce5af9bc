# SPDX-License-Identifier: MIT
"""fast_path: the walk takes the way that allocates, and a path that grew fails."""

import platform
import subprocess
from pathlib import Path

import fast_path
import pytest

LISTING = """
0000000000001000 <malloc@@Base>:
    1000:\tcmp    rdi,0x3800
    1007:\tja     1040 <malloc@@Base+0x40>
    1009:\tmov    rax,QWORD PTR [rip+0x7441]        # 8451 <x>
    1010:\tmov    rcx,QWORD PTR fs:[rax]
    1014:\ttest   rcx,rcx
    1017:\tjne    1020 <malloc@@Base+0x20>
    1019:\tjmp    2000 <malloc_slow>
    1020:\tlock xadd DWORD PTR [rcx],edx
    1024:\tmov    QWORD PTR [rcx],rdi
    1027:\tret
    1040:\tcall   2000 <malloc_slow>
    1045:\tret

0000000000002000 <malloc_slow>:
    2000:\tmov    QWORD PTR [rdi],rdi
    2003:\tret

0000000000003000 <free>:
    3000:\ttest   rdi,rdi
    3003:\tjne    3006 <free+0x6>
    3005:\tret
    3006:\tpush   rbx
    3007:\tadd    QWORD PTR [rdi],0x8
    300b:\tpop    rbx
    300c:\tret

0000000000004000 <calloc>:
    4000:\tjmp    2000 <malloc_slow>
"""


def cost(start: int) -> fast_path.Cost:
    code = fast_path.parse_disassembly(LISTING)
    return fast_path.cost_of(fast_path.walk(code, start, "x86_64"), "x86_64")


def test_the_walk_leaves_out_slow_exits_and_takes_a_branch_when_only_it_returns() -> None:
    assert cost(0x1000) == fast_path.Cost(instructions=9, loads=3, stores=2, branches=2, atomics=1, calls=0)


def test_an_early_return_that_stores_nothing_is_not_the_hot_path() -> None:
    assert cost(0x3000) == fast_path.Cost(instructions=6, loads=2, stores=2, branches=1, atomics=0, calls=0)


def test_a_function_that_is_all_exit_counts_one_call() -> None:
    assert cost(0x4000) == fast_path.Cost(instructions=1, calls=1)


@pytest.mark.parametrize(
    ("text", "accesses"),
    [
        ("mov rax,QWORD PTR [rdi]", (1, 0)),
        ("mov QWORD PTR [rdi],rax", (0, 1)),
        ("cmp QWORD PTR [rdi],rax", (1, 0)),
        ("sub DWORD PTR [rdi],0x1", (1, 1)),
        ("lea rax,[rdi+8]", (0, 0)),
        ("mov rax,fs:0x0", (1, 0)),
        ("nop WORD PTR cs:[rax+rax*1+0x0]", (0, 0)),
        ("call QWORD PTR [rip+0x10]", (0, 0)),
        ("push rbx", (0, 1)),
    ],
)
def test_x86_accesses(text: str, accesses: tuple[int, int]) -> None:
    assert fast_path.accesses_of(fast_path.parse_instruction(0, text), "x86_64") == accesses


@pytest.mark.parametrize(
    ("text", "accesses"),
    [
        ("ldr x0, [x1]", (1, 0)),
        ("stp x0, x1, [x2]", (0, 1)),
        ("ldaddal x0, x1, [x2]", (1, 1)),
        ("add x0, x1, x2", (0, 0)),
    ],
)
def test_arm_accesses(text: str, accesses: tuple[int, int]) -> None:
    assert fast_path.accesses_of(fast_path.parse_instruction(0, text), "aarch64") == accesses


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A library whose malloc bumps a pointer."""
    source = "char *top; void *malloc(unsigned long n) { char *at = top; top = at + n; return at; }\n"
    target = tmp_path / "libtiny.so"
    command = ["gcc", "-x", "c", "-", "-O2", "-fno-builtin", "-shared", "-fPIC", "-nostdlib", "-o", str(target)]
    subprocess.run(command, input=source, text=True, check=True)
    return target


def test_update_then_compare_passes_and_a_grown_path_fails(
    library: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    golden = tmp_path / "golden.txt"
    arguments = ["--library", str(library), "--golden", str(golden)]
    golden.write_text("riscv/gcc-1 malloc 1 1 1 1 1 1\n")
    assert fast_path.main(arguments) == 0
    assert "not judged: the golden file has no such builder" in capsys.readouterr().out
    assert fast_path.main([*arguments, "--update"]) == 0
    assert "riscv/gcc-1 " in golden.read_text()
    assert fast_path.main(arguments) == 0
    assert "no hot path costs more than before" in capsys.readouterr().out
    line = next(line for line in golden.read_text().splitlines() if line.startswith(platform.machine()))
    builder, name, count, *rest = line.split()
    golden.write_text(" ".join([builder, name, "1", *rest]) + "\n")
    assert fast_path.main(arguments) == 1
    assert f"malloc: {count} instructions on its hot path, 1 before" in capsys.readouterr().out
    golden.write_text(" ".join([builder, "free", count, *rest]) + "\n")
    assert fast_path.main(arguments) == 1
    assert f"malloc: not in the golden file for {builder}" in capsys.readouterr().out


def test_a_missing_library_is_told_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fast_path.main(["--library", str(tmp_path / "none.so")]) == 2
    assert capsys.readouterr().err == f"fast_path: no library {tmp_path}/none.so; build first\n"
