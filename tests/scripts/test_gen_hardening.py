# SPDX-License-Identifier: MIT
"""scripts/gen_hardening.py: what a table says of the runs, and that a wrong run is not measured."""

import subprocess

import gen_hardening
import pytest

COLUMNS = {"off": {"WORD": "a"}, "check": {"WORD": "a"}}


def cost(seconds: float, memory: int) -> gen_hardening.Cost:
    return gen_hardening.Cost(seconds, memory)


def test_a_cell_has_the_medians_of_paired_ratios() -> None:
    off = [cost(1, 1024), cost(2, 1024), cost(4, 1024)]
    check = [cost(1.5, 1024), cost(3, 2048), cost(16, 2048)]
    lines = gen_hardening.figures({"one": {"off": off, "check": check}}, list(COLUMNS))
    assert lines[2] == "| one | 2.00 s, 1 MiB | 1.50, 2.00 |"
    assert lines[3] == "| geometric mean |  | 1.50, 2.00 |"


def test_the_mean_of_programs_is_geometric() -> None:
    costs = {name: {"off": [cost(1, 1)], "check": [cost(ratio, 1)]} for name, ratio in (("one", 2), ("two", 8))}
    assert gen_hardening.figures(costs, list(COLUMNS))[-1] == "| geometric mean |  | 4.00, 1.00 |"


def test_each_column_runs_as_often_and_with_its_environment() -> None:
    program = gen_hardening.Program("cat", ("sh", "-c", "cat; echo $WORD"), "text")
    costs = gen_hardening.measure(program, COLUMNS, 3)
    assert {column: len(runs) for column, runs in costs.items()} == {"off": 3, "check": 3}
    assert all(run.memory > 0 for runs in costs.values() for run in runs)


def test_a_program_that_prints_something_else_is_refused() -> None:
    program = gen_hardening.Program("echo", ("sh", "-c", "echo $WORD"))
    with pytest.raises(ValueError, match="echo does not print the same"):
        gen_hardening.measure(program, COLUMNS | {"full": {"WORD": "b"}}, 1)


def test_a_program_that_fails_is_refused() -> None:
    with pytest.raises(subprocess.CalledProcessError):
        gen_hardening.measure(gen_hardening.Program("sh", ("sh", "-c", "exit 3")), COLUMNS, 1)
