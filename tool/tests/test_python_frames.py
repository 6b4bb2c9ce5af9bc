# SPDX-License-Identifier: MIT
"""`hew record --stacks all` of a program in Python: its frames by file, function and line, and its small objects."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import HewRunner, is_as_described
from hew.model.errors import HewError
from hew.sources.library import find_part

PROGRAM = """\
import threading
held = []
def hold(n):
    for i in range(n):
        held.append(bytes(100_000))
def small(n):
    return [object() for i in range(n)]
class Thing:
    def grow(self, n):
        self.name = "\\u00fc" * n
def made():
    yield bytearray(70_000)
def deep(n):
    return deep(n - 1) if n else bytes(60_000)
hold(100)
things = small(10_000)
thing = Thing()
thing.grow(50_000)
kept = [*made(), deep(200)]
one = threading.Thread(target=hold, args=(7,))
one.start()
one.join()
"""


@pytest.fixture(scope="module", autouse=True)
def _built() -> None:
    pytest.importorskip("numpy")
    if sys.implementation.name != "cpython" or not (3, 11) <= sys.version_info[:2] <= (3, 13):
        pytest.skip("frames of CPython 3.11 to 3.13 are known")
    try:
        find_part("libhewtrace.so"), find_part("hew-replay")
    except HewError as error:
        pytest.skip(str(error))


@pytest.fixture
def trace(hew: HewRunner, tmp_path: Path) -> Path:
    (tmp_path / "prog.py").write_text(PROGRAM)
    done = hew("record", "--stacks", "all", "-o", str(tmp_path / "t"), "--", sys.executable, str(tmp_path / "prog.py"))
    assert done.returncode == 0, done.stderr
    return tmp_path / "t"


def functions(hew: HewRunner, *words: str) -> dict[str, Any]:
    done = hew("profile", "--json", "--rows", "10000", *words)
    assert done.returncode == 0, done.stderr
    return {one["name"]: one for one in is_as_described(done.stdout, "profile")["functions"]}


def test_each_line_has_what_it_allocated(hew: HewRunner, trace: Path) -> None:
    found = functions(hew, str(trace))
    head = sys.getsizeof(b"")
    assert found["prog.py:hold:5"]["flat"]["inuse_objects"] >= 107
    assert found["prog.py:hold:5"]["cum"]["inuse_space"] >= 107 * (100_000 + head)
    assert found["prog.py:hold:5"]["cum"]["inuse_space"] < 107 * (100_000 + head) + 4096  # the list grows as well
    assert found["prog.py:Thing.grow:10"]["flat"]["inuse_space"] == sys.getsizeof("\u00fc" * 50_000)
    assert 70_000 <= found["prog.py:made:12"]["flat"]["inuse_space"] < 70_500
    assert found["prog.py:deep:14"]["flat"]["inuse_space"] >= 60_000 + head


def test_small_objects_of_the_interpreters_own_allocator_are_counted(hew: HewRunner, trace: Path) -> None:
    name = "prog.py:small.<locals>.<listcomp>:7" if sys.version_info < (3, 12) else "prog.py:small:7"
    assert 10_000 <= functions(hew, "--count", str(trace))[name]["flat"]["alloc_objects"] < 20_200  # and an int each
    replayed = hew("replay", "--runs", "1", "--warmup", "0", str(trace))
    assert "objects of CPython's own allocator" in replayed.stdout + replayed.stderr


def test_frames_stand_where_they_were_called(hew: HewRunner, trace: Path) -> None:
    stacks = hew("profile", "--collapsed", str(trace)).stdout.splitlines()
    deep = next(line for line in stacks if "prog.py:deep:14" in line)
    assert "prog.py:<module>:19;" + "prog.py:deep:14;" * 200 + "prog.py:deep:14 " in deep
    thread = [line for line in stacks if re.search(r"threading\.py:Thread\.run:\d+;prog\.py:hold:5 ", line)]
    assert sum(int(line.rsplit(" ", 1)[1]) for line in thread) >= 7 * 100_000
    assert not any("_PyEval_EvalFrameDefault" in line for line in stacks if "prog.py" in line)


def test_nearly_all_bytes_that_a_program_allocates_have_a_line(hew: HewRunner, trace: Path) -> None:
    stacks = hew("profile", "--collapsed", "--focus", "Py_RunMain|prog.py", str(trace)).stdout.splitlines()
    amounts = [(re.search(r"(\.py|>):[^;]+:\d+[; ]", line), int(line.rsplit(" ", 1)[1])) for line in stacks]
    assert sum(amount for found, amount in amounts if found) >= 0.99 * sum(amount for _, amount in amounts)


@pytest.mark.parametrize("allocator", ["malloc", "debug", "pymalloc"])
def test_the_interpreter_may_have_any_allocator(hew: HewRunner, tmp_path: Path, allocator: str) -> None:
    (tmp_path / "prog.py").write_text(PROGRAM)
    words = ["record", "--stacks", "all", "-o", str(tmp_path / "t"), "--", sys.executable, str(tmp_path / "prog.py")]
    done = hew(*words, PYTHONMALLOC=allocator)
    assert done.returncode == 0, done.stderr
    hold = functions(hew, str(tmp_path / "t"))["prog.py:hold:5"]
    assert hold["cum"]["inuse_space"] >= 107 * 100_000


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_each_version_has_its_layout(hew: HewRunner, tmp_path: Path, version: str) -> None:
    (tmp_path / "prog.py").write_text(PROGRAM)
    ask = [f"python{version}", "-c", "import sys; print(sys.executable, sys.version_info >= (3, 11))"]
    try:
        python, _, known = (
            subprocess.run(ask, check=True, capture_output=True, text=True).stdout.strip().rpartition(" ")
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip(f"no python{version} on this machine")
    assert known == "True"
    done = hew("record", "--stacks", "all", "-o", str(tmp_path / "t"), "--", python, str(tmp_path / "prog.py"))
    assert done.returncode == 0, done.stderr
    found = functions(hew, str(tmp_path / "t"))
    assert found["prog.py:hold:5"]["cum"]["inuse_space"] >= 107 * 100_000
    stacks = hew("profile", "--collapsed", str(tmp_path / "t")).stdout
    assert "prog.py:<module>:19;" + "prog.py:deep:14;" * 200 + "prog.py:deep:14 " in stacks
