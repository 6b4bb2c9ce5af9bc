# SPDX-License-Identifier: MIT
"""A figure over the baseline's: the median of the per-round ratios, with a bootstrap confidence interval.

Pairing by round cancels what the whole round shared. The median shrugs off single disturbed runs. The interval is the
percentile bootstrap over rounds, with the percentiles moved outwards for few rounds (Hesterberg's expanded percentile
interval): the plain one covers the truth only 87 % of the time with seven rounds where it promises 95 %. The bootstrap
is exact: the median of a resample is one or two of the values, by how many draws fall below them, which is binomial.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from statistics import NormalDist, median

from hew.model.report import Ratio, Verdict

CONFIDENCE = 0.95
MOST_RESAMPLED = 100  # values; of more the exact bootstrap takes a tenth of a second

# Even the whole range of n values covers the median only with probability 1 - 2^(1 - n): 95 % needs six.
FEWEST_PAIRS = 6

# Less than this is not worth a decision, however surely it was measured.
NEGLIGIBLE = 0.005


def paired_ratio(ours: Mapping[int, float], baseline: Mapping[int, float], more_is_better: bool) -> Ratio | None:
    """The ratio of two figures given by round, or None when no round has both (or the baseline's are zero)."""
    per_round = tuple(
        ours[number] / baseline[number] for number in sorted(ours.keys() & baseline.keys()) if baseline[number] > 0
    )
    if not per_round:
        return None
    value = median(per_round)
    low, high = bootstrap_interval(per_round)
    pairs = len(per_round)
    return Ratio(value, low, high, pairs, _verdict(value, low, high, pairs, more_is_better), per_round)


def bootstrap_interval(values: tuple[float, ...]) -> tuple[float, float]:
    """The confidence interval of the median of `values`."""
    if len(values) > MOST_RESAMPLED:
        return order_interval(values)
    margin = tail_probability(len(values))
    return quantiles(resampled_medians(values), margin)


def resampled_medians(values: Sequence[float]) -> list[tuple[float, float]]:
    """Every median that a resample of `values` can have, in order, with its probability."""
    ordered, count = sorted(values), len(values)
    half = count // 2
    if count % 2:
        return list(zip(ordered, _of_order(count, half), strict=True))
    # The median is between the draws number half - 1 and half: exactly `half` draws are at most ordered[i], one of them
    # it, and as many at least ordered[j], one of them it; i and j are the same where more than `half` are.
    lower, found = _of_order(count, half - 1), []
    up = [((i + 1) / count) ** half - (i / count) ** half for i in range(count)]
    down = [(1 - j / count) ** half - (1 - (j + 1) / count) ** half for j in range(count)]
    ways = math.comb(count, half)
    for i in range(count):
        apart = [ways * up[i] * down[j] for j in range(i + 1, count)]
        found.append((ordered[i], max(0.0, lower[i] - sum(apart))))
        found += [((ordered[i] + ordered[i + 1 + step]) / 2, one) for step, one in enumerate(apart)]
    return sorted(found)


def _of_order(count: int, place: int) -> list[float]:
    """The probability of each of `count` values to be the draw number `place`, from 0, of a sorted resample."""

    def at_most(value: int) -> float:  # more than `place` draws are among the lowest `value` values
        share = value / count
        return sum(math.comb(count, k) * share**k * (1 - share) ** (count - k) for k in range(place + 1, count + 1))

    reached = [at_most(value) for value in range(count + 1)]
    return [after - before for before, after in pairwise(reached)]


def quantiles(found: Sequence[tuple[float, float]], margin: float) -> tuple[float, float]:
    """The values between which all but `margin` at either end of a distribution lies; of (value, probability)."""
    reached = list(accumulate(probability for _, probability in found))
    low = next((value for (value, _), sum_ in zip(found, reached, strict=True) if sum_ > margin), found[0][0])
    high = next((value for (value, _), sum_ in zip(found, reached, strict=True) if sum_ >= 1 - margin), found[-1][0])
    return low, high


def order_interval(values: tuple[float, ...]) -> tuple[float, float]:
    """The confidence interval of the median of many values from their order alone: how many lie below the true median
    is binomial. What the bootstrap comes to, without its sums."""
    ordered = sorted(values)
    half = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * math.sqrt(len(ordered)) / 2
    first = max(math.floor(len(ordered) / 2 - half), 0)
    last = min(math.ceil(len(ordered) / 2 + half), len(ordered) - 1)
    return ordered[first], ordered[last]


def tail_probability(count: int) -> float:
    """How much to leave out at either end of the bootstrap distribution of `count` values.

    Phi(-sqrt(n / (n - 1)) t), t being Student's quantile with n - 1 degrees of freedom (by its Cornish-Fisher
    expansion): a bootstrap sample of n values is as narrow as if the spread were known.
    """
    normal = NormalDist()
    z = normal.inv_cdf((1 + CONFIDENCE) / 2)
    if count < 3:
        return normal.cdf(-z)
    freedom = count - 1
    student = (
        z
        + (z**3 + z) / (4 * freedom)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3)
    )
    return normal.cdf(-student * math.sqrt(count / freedom))


def _verdict(value: float, low: float, high: float, pairs: int, more_is_better: bool) -> Verdict:
    if pairs < FEWEST_PAIRS:
        return Verdict.TOO_FEW_RUNS
    if low <= 1 <= high or abs(value - 1) < NEGLIGIBLE:
        return Verdict.NO_DIFFERENCE
    return Verdict.BETTER if (value > 1) == more_is_better else Verdict.WORSE
