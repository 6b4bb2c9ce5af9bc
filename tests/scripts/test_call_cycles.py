# SPDX-License-Identifier: MIT
"""call_cycles: modules of one layer that need each other in a ring are found, whatever was inlined."""

import subprocess
from pathlib import Path

import call_cycles
import pytest

CALLS = "int {other}(void);\nint {name}(void);\n\nint\n{name}(void)\n{{\n    return {other}();\n}}\n"


def build(folder: Path, sources: dict[str, str]) -> Path:
    """Sources, and object files where CMake would leave them."""
    for name, text in sources.items():
        source = folder / "src" / name
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(text)
    for name in sources:
        if name.endswith(".c"):
            target = folder / "CMakeFiles" / f"hew_{name.split('/')[0]}_objects.dir" / "src" / f"{name}.o"
            target.parent.mkdir(parents=True, exist_ok=True)
            command = ["gcc", "-O2", "-I", str(folder / "src"), "-c", str(folder / "src" / name), "-o", str(target)]
            subprocess.run(command, check=True)
    return folder


def run(folder: Path, allowed: str = "") -> int:
    (folder / "allowed.txt").write_text(allowed)
    return call_cycles.main(
        ["--build", str(folder), "--source", str(folder / "src"), "--allowed", str(folder / "allowed.txt")]
    )


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    """a calls b, b calls c, c calls a; d calls a."""
    pairs = {"a": "b", "b": "c", "c": "a", "d": "a"}
    return build(tmp_path, {f"slab/{name}.c": CALLS.format(name=name, other=other) for name, other in pairs.items()})


def test_a_ring_is_printed_with_its_calls(ring: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(ring) == 1
    output = capsys.readouterr().out
    assert "circle: slab/a slab/b slab/c\n" in output
    assert "  slab/c needs slab/a: a\n" in output
    assert "slab/d" not in output


def test_an_allowed_ring_passes_and_a_stale_entry_fails(ring: Path) -> None:
    reason = "slab/a slab/b slab/c : they are one state machine\n"
    assert run(ring, reason) == 0
    assert run(ring, reason + "slab/d slab/a : gone\n") == 1


def test_an_entry_without_a_reason_is_refused(ring: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(ring, "slab/a slab/b slab/c\n") == 2
    assert "write MODULE MODULE ... : REASON" in capsys.readouterr().err


INLINE = "int b(void);\nstatic inline int\nb_twice(void)\n{\n    return 2 * b();\n}\n"
USES_INLINE = '#include "slab/b.h"\nint a_of(void);\nint a(void);\n\nint\na(void)\n{\n    return b_twice();\n}\n'


def test_calls_that_were_inlined_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = "int a(void);\nint b(void);\n\nint\nb(void)\n{\n    return a();\n}\n"
    build(tmp_path, {"slab/b.h": INLINE, "slab/a.c": USES_INLINE, "slab/b.c": other})
    assert run(tmp_path) == 1
    assert "slab/a needs slab/b: b_twice\n" in capsys.readouterr().out


def test_the_body_of_a_macro_counts_where_it_is_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    header = "int b(void);\n#define EACH_B(x) \\\n    (x) + b()\n"
    user = '#include "slab/b.h"\nint a(void);\n\nint\na(void)\n{\n    return EACH_B(1);\n}\n'
    other = CALLS.format(name="b", other="a")
    build(tmp_path, {"slab/b.h": header, "slab/a.c": user, "slab/b.c": other})
    assert run(tmp_path) == 1
    assert "slab/a needs slab/b: b\n" in capsys.readouterr().out


def test_variables_of_each_other_are_a_circle(tmp_path: Path) -> None:
    data = "extern int shared;\nint a(void);\nint own;\nint\na(void)\n{\n    return shared;\n}\n"
    other = "extern int own;\nint shared;\nint b(void);\nint\nb(void)\n{\n    return own;\n}\n"
    build(tmp_path, {"slab/a.c": data, "slab/b.c": other})
    assert run(tmp_path) == 1


QUIET = """#include "slab/a.h"
extern int b(void);
int b(void);
int a(void);
/* b() */

int
a(void)
{
    struct b x = {sizeof "b()"};
    return x.c;
}
"""


def test_declarations_types_comments_and_other_layers_bind_nobody(tmp_path: Path) -> None:
    sources = {
        "slab/a.h": "struct b {\n    int c;\n};\n",
        "slab/a.c": QUIET,
        "slab/b.c": CALLS.format(name="b", other="a"),
        "slab/x.c": CALLS.format(name="x", other="y"),
        "page/y.c": CALLS.format(name="y", other="x"),
    }
    build(tmp_path, sources)
    assert run(tmp_path) == 0


def test_an_empty_build_is_told_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path) == 2
    assert "no object files" in capsys.readouterr().err
