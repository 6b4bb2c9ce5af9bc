# SPDX-License-Identifier: MIT
"""Walks a schedule: one run after another, dropping an allocator that keeps failing."""

from collections import Counter
from collections.abc import Callable, Iterable

from hew.model.allocator import BASELINE
from hew.model.run import Run, Step

FAILURES_UNTIL_DROPPED = 2


def run_schedule(
    steps: Iterable[Step], measure: Callable[[Step], Run], on_step: Callable[[Step, bool], None]
) -> list[Run]:
    """Every run of the schedule, the warm-up included.

    An allocator that fails in the warm-up, or twice later, is not run again; when the baseline is dropped there is
    nothing to compare with and the schedule ends. `on_step` hears of each step before it (False) and after it (True).
    """
    runs: list[Run] = []
    failures: Counter[str] = Counter()
    dropped: set[str] = set()
    for step in steps:
        if BASELINE in dropped:
            break
        if step.allocator not in dropped:
            on_step(step, False)
            run = measure(step)
            runs.append(run)
            if run.failure:
                failures[step.allocator] += 1
                if step.is_warmup or failures[step.allocator] >= FAILURES_UNTIL_DROPPED:
                    dropped.add(step.allocator)
        on_step(step, True)
    return runs
