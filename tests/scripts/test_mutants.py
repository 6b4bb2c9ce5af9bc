# SPDX-License-Identifier: MIT
"""mutants: which changes are made, which are left alone, and what a list of equivalent ones must say."""

import os
from pathlib import Path

import judging
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
        ('file = "a.c"\nline = "x = 1;"\nmutant = "x = 2;"\nreason = "x is not read"', []),
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


class Asking(judging.Judge):
    """Writes down which tests are asked, one of which notices."""

    noticing = ""

    def fails(self, build: judging.Build, test: str, object_file: Path) -> bool:  # noqa: ARG002
        self.asked = [*getattr(self, "asked", []), test]
        return test == self.noticing


def judge_of_bin(tmp_path: Path) -> Asking:
    known = reach.Reach.__new__(reach.Reach)
    known.known = {"slab/bin.c": {10}}
    names = ["model_alloc_all", "unit_cache_owner", "unit_slab_slab", "unit_slab_bin"]
    known.programs = {name: Path(name) for name in names}
    known.ran = {name: {"slab/bin.c": {10}} for name in names}
    known.seconds = {name: float(at) for at, name in enumerate(names)}
    return Asking([judging.Build.__new__(judging.Build)], known, tmp_path, longest=100)


def test_the_files_own_test_is_asked_first_then_its_layer_then_the_others_and_oom_at_last(tmp_path: Path) -> None:
    judge = judge_of_bin(tmp_path)
    assert judge.killer(Mutant("slab/bin.c", 9, "statement", ";"), [tmp_path / "x.o"], "") is None
    assert judge.asked == ["unit_slab_bin", "unit_slab_slab", "model_alloc_all", "unit_cache_owner", judging.OOM]


def test_nobody_is_asked_after_the_one_who_notices(tmp_path: Path) -> None:
    judge = judge_of_bin(tmp_path)
    judge.noticing = "unit_slab_slab"
    assert judge.killer(Mutant("slab/bin.c", 9, "statement", ";"), [tmp_path / "x.o"], "") == "unit_slab_slab"
    assert judge.asked == ["unit_slab_bin", "unit_slab_slab"]


def test_a_program_that_does_not_end_in_time_does_not_end_well(tmp_path: Path) -> None:
    assert judging.ends_well(["true"], 60, tmp_path)
    assert not judging.ends_well(["false"], 60, tmp_path)
    assert not judging.ends_well(["sleep", "60"], 0.1, tmp_path)


def test_what_a_program_has_forked_ends_with_it(tmp_path: Path) -> None:
    """What is forked holds the pipe open as long as it lives."""
    os.mkfifo(tmp_path / "pipe")
    reading = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    assert judging.ends_well(["sh", "-c", "sleep 1000 > pipe & :"], 60, tmp_path)
    assert not judging.ends_well(["sh", "-c", "sleep 1000 > pipe & wait"], 0.1, tmp_path)
    os.set_blocking(reading, True)
    assert os.read(reading, 1) == b""
    os.close(reading)
