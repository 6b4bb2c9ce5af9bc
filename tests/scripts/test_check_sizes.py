# SPDX-License-Identifier: MIT
"""check_sizes: what is too long, too wide or too deep fails unless a reason is given."""

from pathlib import Path

import check_sizes
import pytest


def function(name: str, lines: int, parameters: str = "void") -> str:
    """A C function in our style with that many lines between and including its braces."""
    return f"static int\n{name}({parameters})\n{{\n" + "    work();\n" * (lines - 2) + "}\n"


def run(root: Path, *more: str) -> int:
    return check_sizes.main(["--root", str(root), *more])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for folder in ["src/base", "scripts", "tool/src/hew/commands"]:
        (tmp_path / folder).mkdir(parents=True)
    return tmp_path


def test_small_code_passes(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "src/base/bits.c").write_text(function("bits_one", 40))
    assert run(root) == 0
    assert "0 over a soft one" in capsys.readouterr().out


def test_an_extent_hook_has_the_parameters_that_jemalloc_gave_it(root: Path) -> None:
    hook = function("hook", 5, "extent_hooks_t *hooks, void *a, size_t b, size_t c, size_t d, unsigned e")
    (root / "src/base/a.c").write_text(hook)
    assert run(root) == 0


@pytest.mark.parametrize(
    ("path", "text", "line"),
    [
        ("src/base/a.c", function("f", 61), "src/base/a.c:f: 61 lines, limit 60"),
        ("src/base/a.c", "int x;\n" * 601, "src/base/a.c: 601 lines, limit 600"),
        ("src/base/a.h", "int x;\n" * 301, "src/base/a.h: 301 lines, limit 300"),
        (
            "src/base/a.c",
            function("f", 5, "int a, int (*b)(int, int), int c,\n  int d, int e, int g"),
            "src/base/a.c:f: 6 parameters, limit 5",
        ),
        (
            "src/base/a.c",
            "int\nf(void)\n{\n if (a) { for (;;) { if (b) { while (c) { } } } }\n}\n",
            "src/base/a.c:f: 4 blocks, limit 3",
        ),
        (
            "src/base/a.c",
            "TEST(a_long_test)\n{\n" + "x();\n" * 60 + "}\n",
            "src/base/a.c:a_long_test: 62 lines, limit 60",
        ),
        ("scripts/a.py", "def f():\n" + "    pass\n" * 50, "scripts/a.py:f: 51 lines, limit 50"),
        ("tool/src/hew/commands/a.py", "x = 1\n" * 201, "tool/src/hew/commands/a.py: 201 lines, limit 200"),
    ],
)
def test_what_is_too_large_is_named(
    root: Path, capsys: pytest.CaptureFixture[str], path: str, text: str, line: str
) -> None:
    (root / path).write_text(text)
    assert run(root) == 1
    assert line in capsys.readouterr().out


def test_braces_in_strings_and_comments_are_no_blocks(root: Path) -> None:
    (root / "src/base/a.c").write_text("int\nf(void)\n{\n    say(\"{{{{\", '{'); /* {{{{ */\n}\n")
    assert run(root) == 0


def test_the_soft_limit_is_listed_on_request(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "src/base/a.c").write_text(function("f", 41))
    assert run(root, "--soft") == 0
    assert "src/base/a.c:f: 41 lines, better 40" in capsys.readouterr().out


def test_an_exception_with_a_reason_lets_one_measure_pass(root: Path) -> None:
    (root / "src/base/a.c").write_text(function("f", 70))
    exceptions = root / "scripts/size_exceptions.txt"
    exceptions.write_text("# why\nsrc/base/a.c:f lines 70 one table of cases, read top to bottom\n")
    assert run(root) == 0
    exceptions.write_text("src/base/a.c:f parameters 70 the wrong measure\n")
    assert run(root) == 1


def test_an_exception_that_nothing_needs_fails(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "scripts/size_exceptions.txt").write_text("src/base/a.c:f lines 70 it was long once\n")
    assert run(root) == 1
    assert "src/base/a.c:f: the exception for lines is not needed any more" in capsys.readouterr().out


def test_an_exception_without_a_reason_is_refused(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "scripts/size_exceptions.txt").write_text("src/base/a.c:f lines 70\n")
    assert run(root) == 2
    assert "size_exceptions.txt:1: write PATH" in capsys.readouterr().err
