# SPDX-License-Identifier: MIT
"""gen_pages locks: the page's table is the one of locks.def, and no lock is without a rank."""

from pathlib import Path

import gen_pages
import pytest
from pages import locks

ROWS = 'LOCK(outer, "hew_outer_lock", "all")\nLOCK(inner, "an inner lock", "one")\n'
OUTER = "struct hew_mutex hew_outer_lock = HEW_MUTEX(outer);\n"
INNER = "void f(void) { HEW_MUTEX_PLACE(&thing->lock, inner, 3); }\n"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    source = tmp_path / "src"
    (source / "os").mkdir(parents=True)
    (source / "os" / "locks.def").write_text(ROWS)
    (source / "README.md").write_text(f"before\n{locks.SECTION.text(['old'])}\nafter\n")
    (source / "a.c").write_text(OUTER + INNER)
    (source / "a.h").write_text(
        "struct thing {\n    struct hew_mutex lock;\n};\nextern struct hew_mutex hew_outer_lock;\n"
    )
    return source


def run(source: Path, *arguments: str) -> int:
    return gen_pages.main(["locks", "--root", str(source.parent), *arguments])


def test_an_old_table_is_found_and_made_anew(source: Path) -> None:
    assert run(source, "--check") == 1
    assert run(source) == 0
    assert run(source, "--check") == 0
    page = (source / "README.md").read_text()
    assert "| 1 | `hew_outer_lock` | all |\n| 2 | an inner lock | one |\n" in page
    assert page.startswith("before\n")
    assert page.endswith("\nafter\n")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (OUTER + INNER + "static struct hew_mutex bare;\n", "bare has no rank"),
        (INNER, "outer: no lock has this rank"),
        (OUTER, "inner: no lock has this rank"),
        (OUTER + INNER + "struct hew_mutex more = HEW_MUTEX(other);\n", "no row for the rank other"),
        (OUTER + OUTER.replace("hew_outer", "second") + INNER, "which is hew_outer_lock's"),
        (OUTER + INNER + "HEW_MUTEX_PLACE(&outer, outer, 0);\n", "both a variable and members"),
    ],
)
def test_a_lock_that_the_table_does_not_know_is_found(
    source: Path, text: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run(source)
    (source / "a.c").write_text(text)
    capsys.readouterr()
    assert run(source, "--check") == 1
    assert words in capsys.readouterr().err


def test_a_crooked_row_is_told_with_its_line(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (source / "os" / "locks.def").write_text(ROWS + "LOCK(third)\n")
    assert run(source) == 2
    assert "locks.def:3: write LOCK" in capsys.readouterr().err
