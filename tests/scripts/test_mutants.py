# SPDX-License-Identifier: MIT
"""mutants: which changes are made, which are left alone, and what a list of equivalent ones must say."""

from pathlib import Path

import mutants
import pytest
import reach
from mutating import Mutant, changed, checks_in, mutants_of

LINES = """\
static int
fill(int count)
{
    HEW_ASSERT(1, count > 0 &&
                  count < 100);
    if (count == 0) { /* count > 1 */
        return 1;
    }
    count += 2;
    give(count);
    return count;
}""".splitlines()


def texts(lines: list[str]) -> set[tuple[int, str]]:
    return {(mutant.line, mutant.text.strip()) for mutant in mutants_of("slab/bin.c", lines)}


def test_each_kind_of_change_is_made() -> None:
    found = texts(LINES)
    assert (5, "if (count != 0) {") in found
    assert (5, "if (count == 1) {") in found
    assert (5, "if (!(count == 0)) {") in found
    assert (6, "return 0;") in found
    assert (8, "count -= 2;") in found
    assert (9, ";") in found


def test_checks_and_comments_and_ends_of_functions_stay() -> None:
    found = texts(LINES)
    assert not {line for line, _ in found} & {3, 4, 10}
    assert checks_in("slab/bin.c", LINES) == 1
    assert mutants_of("slab/bin_valid.c", LINES) == []
    assert checks_in("slab/bin_valid.c", LINES) == len(LINES)


def test_a_mutant_differs_in_one_line() -> None:
    mutant = Mutant("slab/bin.c", 9, "statement", ";")
    after = changed(LINES, mutant).splitlines()
    assert [at for at, line in enumerate(after) if line != LINES[at]] == [9]


@pytest.mark.parametrize(
    ("row", "wrong"),
    [
        ('file = "a.c"\nline = "x = 1;"\nmutant = "x = 2;"\nreason = "nobody reads x"', []),
        ('file = "a.c"\nline = "x = 1;"\nmutant = "x = 2;"', ["a.c: x = 1;"]),
        ('file = "a.c"\nline = "x = 3;"\nmutant = "x = 2;"\nreason = "as it is"', ["a.c: x = 3;"]),
        ('file = "b.c"\nline = "x = 1;"\nmutant = "x = 2;"\nreason = "as it is"', ["b.c: x = 1;"]),
    ],
)
def test_a_row_without_a_reason_or_a_line_that_is_there_is_wrong(tmp_path: Path, row: str, wrong: list[str]) -> None:
    (tmp_path / "a.c").write_text("    x = 1; /* why */\n")
    (tmp_path / "rows.toml").write_text(f"[[equivalent]]\n{row}\n")
    assert mutants.equivalents(tmp_path / "rows.toml", tmp_path)[1] == wrong


def test_the_list_of_the_project_fits_its_sources() -> None:
    assert mutants.equivalents(mutants.EQUIVALENT, mutants.ROOT / "src")[1] == []


def test_a_line_belongs_to_the_code_before_it() -> None:
    known = object.__new__(reach.Reach)
    known.programs = {"unit_slab_bin": Path(), "unit_slab_slab": Path(), "model_slab_bin": Path()}
    known.known = {"slab/bin.c": {10, 14}}
    known.ran = {"unit_slab_bin": {}, "unit_slab_slab": {"slab/bin.c": {10}}, "model_slab_bin": {"slab/bin.c": {14}}}
    known.seconds = {"unit_slab_bin": 2, "unit_slab_slab": 1, "model_slab_bin": 0}
    assert known.tests("slab/bin.c", 12) == ["unit_slab_slab", "unit_slab_bin"]
    assert known.tests("slab/bin.c", 14) == ["model_slab_bin", "unit_slab_bin"]


def test_lines_are_told_by_their_file_under_src(tmp_path: Path) -> None:
    lines = [{"line_number": 3, "count": 0}, {"line_number": 3, "count": 2}, {"line_number": 5, "count": 0}]
    files = [{"file": "src/page/heap.c", "lines": lines}, {"file": "/usr/include/x.h", "lines": lines}]
    report = {"current_working_directory": str(tmp_path), "files": files}
    assert reach.lines_of(report, tmp_path / "src") == {"page/heap.c": {3: 2, 5: 0}}
