# SPDX-License-Identifier: MIT
"""nightly: every job is a target, results are compared with the last run, and no job begins that has no time."""

import re
import subprocess
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
    assert nightly.run_all([JOB], 20, lambda _: result(True), file) == []
    assert nightly.run_all([JOB], 20, lambda _: result(False), file) == ["soak"]
    assert nightly.read_results(file) == {"soak": result(False)}
    assert "soak: FAILED in 1 min: 3 findings\n    passed at abc\n" in capsys.readouterr().out


def test_a_job_without_time_is_not_begun(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert nightly.run_all([JOB], 9, lambda _: result(True), tmp_path / "results.json") == []
    assert "soak: not begun" in capsys.readouterr().out
    assert not (tmp_path / "results.json").exists()


def test_a_job_that_fails_does_not_keep_the_others_from_running(tmp_path: Path) -> None:
    jobs = [nightly.Job(name, "what", 1) for name in ("first", "second", "third")]
    ran: list[str] = []

    def run(job: nightly.Job) -> nightly.Result:
        ran.append(job.name)
        return result(job.name == "third")

    assert nightly.run_all(jobs, 20, run, tmp_path / "results.json") == ["first", "second"]
    assert ran == ["first", "second", "third"]


def test_a_run_that_was_stopped_goes_on_with_what_is_left() -> None:
    jobs = [nightly.Job(name, "what", 1) for name in ("passed", "failed", "of-another-commit", "not-run")]
    results = {
        "passed": result(True),
        "failed": result(False),
        "of-another-commit": nightly.Result(True, 60, "other", ""),
    }
    left = nightly.left_to_do(jobs, results, "abc")
    assert [job.name for job in left] == ["failed", "of-another-commit", "not-run"]


def test_a_job_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nightly, "FOLDER", tmp_path)
    monkeypatch.setattr(nightly, "PATIENCE", 0.001)
    found = nightly.run_job(nightly.Job("1000", "what", 1), ("sleep",))
    assert not found.passed
    assert found.said == "ended after 0.001 minutes"


def test_what_a_job_has_started_is_ended_with_it() -> None:
    words = ("sh", "-c", "(trap '' TERM; echo began; while :; do sleep 1000; done) & wait")
    with subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"began\n"
        nightly.end(process)
        assert process.stdout.read() == b""  # the end of a pipe that all of them had open


def test_an_unknown_name_ends_it() -> None:
    with pytest.raises(SystemExit):
        nightly.main(["no-such-job"])
