# SPDX-License-Identifier: MIT
"""just_booted: both clocks begin at one second, and the command's status is passed on."""

import subprocess
import sys
import time
from pathlib import Path

import just_booted
import pytest

SCRIPT = Path(just_booted.__file__)


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, SCRIPT, *command], capture_output=True, text=True, check=False)


def test_the_offsets_take_both_clocks_back_to_one_second() -> None:
    lines = [line.split() for line in just_booted.offsets().splitlines()]
    assert [line[0] for line in lines] == ["monotonic", "boottime"]
    for line, clock in zip(lines, (time.CLOCK_MONOTONIC, time.CLOCK_BOOTTIME), strict=True):
        assert 1 <= time.clock_gettime(clock) + int(line[1]) < 60


def test_the_command_sees_young_clocks_and_its_status_is_passed_on() -> None:
    code = "import sys, time; print(time.clock_gettime(time.CLOCK_BOOTTIME)); sys.exit(7)"
    run_there = run(sys.executable, "-c", code)
    if "left out" in run_there.stdout:
        pytest.skip(run_there.stdout.strip())
    assert float(run_there.stdout) < 60
    assert run_there.returncode == 7


def test_without_a_command_it_says_how() -> None:
    assert run().returncode == 2
