# SPDX-License-Identifier: MIT
"""call_cycles: files of one layer that call each other in a ring are found in their object files."""

import subprocess
from pathlib import Path

import call_cycles
import pytest

CALLS = "int {other}(void);\nint {name}(void);\nint {name}(void) {{ return {other}(); }}\n"


def build(folder: Path, sources: dict[str, str]) -> Path:
    """Object files where CMake would leave them."""
    for name, text in sources.items():
        target = folder / "CMakeFiles" / f"hew_{name.split('/')[0]}_objects.dir" / "src" / f"{name}.o"
        target.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["gcc", "-x", "c", "-c", "-", "-o", str(target)], input=text, text=True, check=True)
    return folder


def run(folder: Path, allowed: str = "") -> int:
    (folder / "allowed.txt").write_text(allowed)
    return call_cycles.main(["--build", str(folder), "--allowed", str(folder / "allowed.txt")])


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    """a calls b, b calls c, c calls a; d calls a."""
    pairs = {"a": "b", "b": "c", "c": "a", "d": "a"}
    return build(tmp_path, {f"slab/{name}.c": CALLS.format(name=name, other=other) for name, other in pairs.items()})


def test_a_ring_is_printed_with_its_calls(ring: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(ring) == 1
    output = capsys.readouterr().out
    assert "cycle: slab/a.c slab/b.c slab/c.c\n" in output
    assert "  slab/c.c calls slab/a.c: a\n" in output
    assert "slab/d.c" not in output


def test_an_allowed_ring_passes_and_a_stale_entry_fails(ring: Path) -> None:
    reason = "slab/a.c slab/b.c slab/c.c: they are one state machine\n"
    assert run(ring, reason) == 0
    assert run(ring, reason + "slab/d.c slab/a.c: gone\n") == 1


def test_an_entry_without_a_reason_is_refused(ring: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(ring, "slab/a.c slab/b.c slab/c.c\n") == 2
    assert "write FILE FILE ... : REASON" in capsys.readouterr().err


def test_calls_between_layers_and_data_are_no_cycle(tmp_path: Path) -> None:
    data = "extern int shared; int a(void); int own; int a(void) { return shared; }\n"
    other = "extern int own; int shared; int b(void); int b(void) { return own; }\n"
    up = CALLS.format(name="x", other="y")
    down = CALLS.format(name="y", other="x")
    build(tmp_path, {"slab/a.c": data, "slab/b.c": other, "slab/x.c": up, "page/y.c": down})
    assert run(tmp_path) == 0


def test_an_empty_build_is_told_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path) == 2
    assert "no object files" in capsys.readouterr().err
