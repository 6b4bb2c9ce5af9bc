# SPDX-License-Identifier: MIT
"""Ratios, intervals and verdicts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hew.analysis.ratios import FEWEST_PAIRS, bootstrap_interval, paired_ratio, tail_probability
from hew.model.report import Ratio, Verdict

POSITIVE = st.floats(1e-6, 1e9)


def ratio_of(ours: list[float], baseline: list[float], more_is_better: bool = False) -> Ratio:
    found = paired_ratio(dict(enumerate(ours)), dict(enumerate(baseline)), more_is_better)
    assert found is not None
    return found


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(POSITIVE, POSITIVE), min_size=1, max_size=20))
def test_the_interval_holds_the_ratio_and_stays_within_the_rounds(pairs: list[tuple[float, float]]) -> None:
    found = ratio_of([ours for ours, _ in pairs], [baseline for _, baseline in pairs])
    assert min(found.per_round) <= found.low <= found.value <= found.high <= max(found.per_round)


@settings(max_examples=30, deadline=None)
@given(st.lists(POSITIVE, min_size=FEWEST_PAIRS, max_size=20))
def test_equal_figures_are_no_difference_however_they_vary_between_rounds(values: list[float]) -> None:
    found = ratio_of(values, values)
    assert (found.value, found.verdict) == (1.0, Verdict.NO_DIFFERENCE)


def test_pairing_by_round_cancels_a_drift_that_all_share() -> None:
    drift = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]
    found = ratio_of([0.9 * value for value in drift], drift)
    assert (found.low, found.high) == pytest.approx((0.9, 0.9))
    assert found.verdict is Verdict.BETTER


def test_one_disturbed_round_does_not_decide() -> None:
    assert ratio_of([0.9] * 9 + [50.0], [1.0] * 10).verdict is Verdict.BETTER


@pytest.mark.parametrize(
    ("value", "more_is_better", "verdict"),
    [
        (0.8, False, Verdict.BETTER),
        (1.2, False, Verdict.WORSE),
        (0.8, True, Verdict.WORSE),
        (1.2, True, Verdict.BETTER),
        (1.004, False, Verdict.NO_DIFFERENCE),
    ],
)
def test_a_sure_difference_is_better_or_worse_unless_it_is_negligible(
    value: float, more_is_better: bool, verdict: Verdict
) -> None:
    assert ratio_of([value] * 8, [1.0] * 8, more_is_better).verdict is verdict


def test_an_interval_that_contains_one_is_no_difference() -> None:
    found = ratio_of([0.8, 1.2, 0.9, 1.1, 0.85, 1.15, 0.95, 1.3], [1.0] * 8)
    assert found.low < 1 < found.high
    assert found.verdict is Verdict.NO_DIFFERENCE


def test_fewer_than_six_rounds_give_no_verdict_however_clear_they_look() -> None:
    assert ratio_of([0.5] * 5, [1.0] * 5).verdict is Verdict.TOO_FEW_RUNS
    assert ratio_of([0.5] * 6, [1.0] * 6).verdict is Verdict.BETTER


def test_only_rounds_that_both_finished_are_paired() -> None:
    found = paired_ratio({1: 2.0, 2: 3.0, 4: 9.0}, {1: 1.0, 3: 1.0, 4: 3.0}, more_is_better=False)
    assert found is not None
    assert found.per_round == (2.0, 3.0)


def test_without_a_common_round_or_with_a_zero_baseline_there_is_no_ratio() -> None:
    assert paired_ratio({1: 1.0}, {2: 1.0}, more_is_better=False) is None
    assert paired_ratio({1: 1.0}, {1: 0.0}, more_is_better=False) is None


@pytest.mark.parametrize("rounds", [6, 7, 10])
def test_the_interval_misses_the_truth_no_more_often_than_promised(rounds: int) -> None:
    generator = np.random.default_rng(rounds)
    samples = [tuple(np.exp(generator.normal(0, 0.05, rounds))) for _ in range(100)]
    hits = sum(low <= 1 <= high for low, high in map(bootstrap_interval, samples))
    assert hits >= 93


def test_the_percentiles_move_outwards_for_few_rounds_and_reach_the_plain_ones_for_many() -> None:
    assert tail_probability(6) < tail_probability(10) < tail_probability(30) < 0.025
    assert tail_probability(10_000) == pytest.approx(0.025, abs=1e-4)


def test_the_same_runs_always_give_the_same_interval() -> None:
    values = (0.9, 1.1, 1.0, 1.2, 0.95, 1.05)
    assert bootstrap_interval(values) == bootstrap_interval(values)
