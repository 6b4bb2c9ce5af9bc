# SPDX-License-Identifier: MIT
"""bench_weeks: what it reads out of a run, and a short fortnight."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

import bench_weeks
import pytest

from hew.model.allocator import Allocator

CLOSING = {"status": 0, "cpu": 12.5, "faults": 1234}


def written(path: Path, over: list[float], closing: Mapping[str, float]) -> Path:
    lines = [
        json.dumps({"day": day + 1, "live_mib": 50, "resident_mib": 50 * one, "peak_resident_mib": 60 + day})
        for day, one in enumerate(over)
    ]
    path.write_text(
        "\n".join([*lines, "resident 1.2 of live; day 2 1.1, the last day 1.3; 7 late ticks", json.dumps(closing)])
    )
    return path


def test_a_run_is_read_and_drift_leaves_weekends_out(tmp_path: Path) -> None:
    week = [1.0, 1.2, 1.2, 1.2, 1.2, 9.0, 9.0]
    outcome = bench_weeks.read_outcome(written(tmp_path / "hew.txt", week + [1.5] * 5 + [9.0, 9.0], CLOSING))
    assert (outcome.name, outcome.late, outcome.cpu, outcome.faults, outcome.peak) == ("hew", 7, 12.5, 1234, 73)
    assert outcome.drift == pytest.approx(1.25)
    assert bench_weeks.table_of([outcome])[2].startswith("| **hew** | 3.5")


def test_a_run_that_ended_badly_ends_the_script(tmp_path: Path) -> None:
    bad = written(tmp_path / "hew.txt", [1.0, 1.0], {**CLOSING, "status": 9})
    with pytest.raises(SystemExit, match="hew did not end well"):
        bench_weeks.read_outcome(bad)


def test_the_program_has_the_same_to_do_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(__file__).resolve().parent.parent.parent
    program = tmp_path / "weeks"
    subprocess.run(
        ["cc", "-O2", "-D_GNU_SOURCE", "-pthread", "-o", program, root / "bench/apps/weeks.c", "-lm"], check=True
    )
    monkeypatch.setattr(bench_weeks, "FOLDER", tmp_path / "said")
    words = [str(program), "--days", "2", "--day", "1", "--peak", "8"]
    bench_weeks.run_all([Allocator("glibc")], words)
    outcome = bench_weeks.read_outcome(tmp_path / "said/glibc.txt")
    assert len(outcome.over) == 2
    assert outcome.cpu > 0
    one, two = (subprocess.run(words, capture_output=True, check=True).stdout for _ in range(2))
    assert one == two
    assert one.startswith(b"weeks: ")
