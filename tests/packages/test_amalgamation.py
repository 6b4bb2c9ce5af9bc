# SPDX-License-Identifier: MIT
"""hew.c by every compiler that is here; tests/scripts/test_amalgamate.py has what one compiler can tell."""

import importlib.util
import shutil
import sys
from pathlib import Path

import pytest
from packaged import PROGRAM, need, run_command

pytestmark = pytest.mark.timeout(3600)  # zig builds a libc first
WARNINGS = ("-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror")
ZIG = (sys.executable, "-m", "ziglang")
COMPILERS = {
    "gcc": ("gcc", "-O2", *WARNINGS),
    "gcc, C11 and fortified": ("gcc", "-O2", "-std=c11", "-fPIC", "-D_FORTIFY_SOURCE=2", *WARNINGS),
    "gcc -flto": ("gcc", "-O2", "-flto=1", "-fno-strict-aliasing"),
    "clang": ("clang", "-O2", "-fno-strict-aliasing", *WARNINGS),
    "musl, static": ("musl-gcc", "-O2", "-static", *WARNINGS),
    "aarch64, static": ("aarch64-linux-gnu-gcc", "-O2", "-static", *WARNINGS),
    "zig, musl": (*ZIG, "cc", "-target", "x86_64-linux-musl", "-O2", "-fno-strict-aliasing"),
    "zig, aarch64, musl": (*ZIG, "cc", "-target", "aarch64-linux-musl", "-O2", "-fno-strict-aliasing"),
}


@pytest.mark.parametrize("how", list(COMPILERS))
def test_programs_run_on_it(how: str, amalgamation: Path, tmp_path: Path) -> None:
    compiler = COMPILERS[how]
    need(compiler[0])
    if compiler[:3] == ZIG and importlib.util.find_spec("ziglang") is None:
        pytest.skip("ziglang is not installed: make packages brings it")
    emulator = ("qemu-aarch64",) if "aarch64" in how else ()
    need(*emulator)
    for file in ("hew.c", "hew.h"):
        shutil.copy(amalgamation / file, tmp_path)
    compile_only = [word for word in compiler if word != "-static"]
    run_command(*compile_only, "-c", "hew.c", folder=tmp_path)
    run_command(*compiler, "-I.", "-o", "program", PROGRAM, "hew.o", "-pthread", folder=tmp_path)
    assert run_command(*emulator, tmp_path / "program").startswith("hew ")
