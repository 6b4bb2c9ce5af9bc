# SPDX-License-Identifier: MIT
"""scripts/bench_limits.py: which runs it makes, and what its table says of them."""

from pathlib import Path

import bench_limits
import pytest
from bench_limits import ROOT, WORKLOADS, Row, Run

GIB = 1 << 30


def test_the_five_workloads_are_programs_of_ours() -> None:
    found = bench_limits.commands(ROOT / "bench/suites.toml", Path("/programs"))
    assert set(found) == set(WORKLOADS)
    assert all(words[0].startswith("/programs/apps/") for words in found.values())


def test_a_row_counts_the_killed_and_the_refused_and_compares_those_that_ended_well() -> None:
    row = Row("one", GIB, [Run(0, 2.0, 1.0, GIB * 2)] * 3)
    row.limited = [Run(0, 3.0, 1.5, GIB // 2), Run(-9, 0.1, 0.1, GIB), Run(1, 0.1, 0.1, GIB)]
    assert row.bad == 2
    assert row.ratio("seconds") == 1.5
    assert str(row).split() == ["one", "1024.0", "2.00", "1.00", "3", "1", "1", "1.500", "1.500"]


def test_no_ratio_is_told_where_every_limited_run_was_killed() -> None:
    row = Row("one", GIB, [Run(0, 2.0, 1.0, GIB)], [Run(-9, 0.1, 0.1, GIB)])
    assert row.ratio("seconds") is None
    assert str(row).split()[-2:] == ["-", "-"]


def test_settings_stand_in_for_the_group_and_a_refused_run_is_a_bad_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "apps").mkdir()
    (tmp_path / "suites.toml").write_text(
        '[[workloads]]\nname = "store"\ncommand = ["{programs}/apps/one"]\nin = { quick = [] }\n'
    )
    program = tmp_path / "apps/one"
    program.write_text('#!/bin/sh\ncase "$HEW_CONF" in *limit_hard:*) exit 3;; esac\n')
    program.chmod(0o755)
    words = ["--settings", "--runs", "2", "--suites", str(tmp_path / "suites.toml"), "--programs", str(tmp_path)]
    assert bench_limits.main([*words, "--library", str(tmp_path / "none.so")]) == 1
    last = capsys.readouterr().out.splitlines()[-1].split()
    assert last[0] == "store"
    assert last[4:7] == ["2", "0", "2"]
