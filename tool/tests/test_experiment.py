# SPDX-License-Identifier: MIT
"""Walking the schedule."""

from collections.abc import Callable

from hew.analysis.schedule import rotated_schedule
from hew.model.run import Failure, Run, Step
from hew.sources.experiment import run_schedule


def walk(fails: Callable[[Step], bool], runs: int = 4, warmup: int = 1) -> tuple[list[Run], list[tuple[Step, bool]]]:
    told: list[tuple[Step, bool]] = []

    def measure(step: Step) -> Run:
        return Run(step.allocator, step.round, failure=Failure("broke") if fails(step) else None)

    steps = rotated_schedule(["glibc", "other"], runs, warmup)
    return run_schedule(steps, measure, lambda step, done: told.append((step, done))), told


def rounds(runs: list[Run], name: str) -> list[int]:
    return [run.round for run in runs if run.allocator == name]


def test_every_step_is_run_and_told_of_before_and_after() -> None:
    runs, told = walk(lambda _: False)
    assert len(runs) == 10
    assert len(told) == 20


def test_an_allocator_that_fails_in_the_warm_up_is_not_run_again() -> None:
    runs, told = walk(lambda step: step.allocator == "other")
    assert rounds(runs, "other") == [0]
    assert rounds(runs, "glibc") == [0, 1, 2, 3, 4]
    assert sum(done for _, done in told) == 10


def test_one_failure_later_is_forgiven_and_the_second_is_not() -> None:
    runs, _ = walk(lambda step: step.allocator == "other" and step.round in {1, 3})
    assert rounds(runs, "other") == [0, 1, 2, 3]


def test_without_the_baseline_nothing_more_is_run() -> None:
    runs, _ = walk(lambda step: step.allocator == "glibc")
    assert [run.allocator for run in runs] == ["glibc"]
