# SPDX-License-Identifier: MIT
"""nightly: every job is a target, results are compared with the last run, and no job begins that has no time."""

import re
from pathlib import Path

import nightly
import pytest

JOB = nightly.Job("soak", "what", 10)


def result(passed: bool, said: str = "3 findings") -> nightly.Result:
    return nightly.Result(passed, 60, "abc", said)


def test_every_job_is_a_target_of_the_makefiles() -> None:
    targets = set(re.findall(r"^([\w -]+):", (nightly.ROOT / "scripts/nightly.mk").read_text(), re.MULTILINE))
    names = {name for words in targets for name in words.split()}
    assert {job.name for job in nightly.JOBS} <= names
    assert len({job.name for job in nightly.JOBS}) == len(nightly.JOBS)


def test_no_target_of_the_makefile_is_left_out_of_ci_and_the_night() -> None:
    phony = re.findall(r"^\.PHONY: (.+)$", (nightly.ROOT / "scripts/nightly.mk").read_text(), re.MULTILINE)
    alone = {"aarch64", "peers", "bench-fleet", "programs-quick", "programs-count", "scaling"}  # parts, or to be read
    assert {name for line in phony for name in line.split()} == {job.name for job in nightly.JOBS} | alone


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        (None, result(True), "first run"),
        (result(True), result(False), "passed at abc"),
        (result(False), result(True), "failed at abc"),
        (result(True), result(True, "4 findings"), "said before: 3 findings"),
        (result(True), result(True), ""),
    ],
)
def test_a_change_is_named(before: nightly.Result | None, now: nightly.Result, said: str) -> None:
    assert nightly.change(before, now) == said


def test_results_are_kept_for_the_next_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "results.json"
    assert nightly.run_all([JOB], 20, lambda _: result(True), file) == 0
    assert nightly.run_all([JOB], 20, lambda _: result(False), file) == 1
    assert nightly.read_results(file) == {"soak": result(False)}
    assert "soak: FAILED in 1 min: 3 findings\n    passed at abc\n" in capsys.readouterr().out


def test_a_job_without_time_is_not_begun(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert nightly.run_all([JOB], 9, lambda _: result(True), tmp_path / "results.json") == 0
    assert "soak: not begun" in capsys.readouterr().out
    assert not (tmp_path / "results.json").exists()


def test_an_unknown_name_ends_it() -> None:
    with pytest.raises(SystemExit):
        nightly.main(["no-such-job"])
