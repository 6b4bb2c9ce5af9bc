# SPDX-License-Identifier: MIT
"""The order of runs."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from hew.analysis.schedule import rotated_schedule

NAMES = st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=6, unique=True)


@given(NAMES, st.integers(1, 12), st.integers(0, 3))
def test_every_round_runs_each_allocator_exactly_once(names: list[str], runs: int, warmup: int) -> None:
    steps = rotated_schedule(names, runs, warmup)
    assert Counter((step.round, step.allocator) for step in steps) == Counter(
        (number, name) for number in range(1 - warmup, runs + 1) for name in names
    )


@given(NAMES, st.integers(1, 12), st.integers(0, 3))
def test_rounds_follow_one_another_and_only_the_first_are_warm_up(names: list[str], runs: int, warmup: int) -> None:
    steps = rotated_schedule(names, runs, warmup)
    assert [step.round for step in steps] == sorted(step.round for step in steps)
    assert sum(step.is_warmup for step in steps) == warmup * len(names)


@given(NAMES, st.integers(1, 4))
def test_over_full_turns_each_allocator_is_first_equally_often(names: list[str], turns: int) -> None:
    steps = rotated_schedule(names, turns * len(names), 0)
    firsts = Counter(steps[at].allocator for at in range(0, len(steps), len(names)))
    assert set(firsts.values()) == {turns}
