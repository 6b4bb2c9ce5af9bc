# SPDX-License-Identifier: MIT
"""Two saved runs of a suite: how an allocator's ratio to glibc has changed.

It is ratios to glibc that are compared, not figures: what has changed in the machine between the two runs has changed
for glibc too. The rounds of the two runs belong to no pairs, so each side is resampled for itself.
"""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from hew.analysis.ratios import FEWEST_PAIRS, NEGLIGIBLE, quantiles, resampled_medians, tail_probability
from hew.model.bench import Change
from hew.model.report import Ratio, Verdict

Document = Mapping[str, Any]
MOST = 400


def changes(before: Document, after: Document, allocator: str, figures: Sequence[str]) -> list[Change]:
    """One for each workload and figure that both documents have of the allocator, in the order of `after`."""
    old = {one["name"]: _ratios(one["report"], allocator) for one in before["workloads"]}
    found = []
    for workload in after["workloads"]:
        ours = _ratios(workload["report"], allocator)
        theirs = old.get(workload["name"], {})
        for key in figures:
            if key in ours and key in theirs:
                ratio = unpaired_ratio(ours[key], theirs[key])
                pair = median(theirs[key]), median(ours[key])
                found.append(Change(workload["name"], key, *pair, ratio))
    return found


def _ratios(report: Document, allocator: str) -> dict[str, list[float]]:
    """The ratio of every round, by figure."""
    mine: Mapping[str, Any] = next((one for one in report["allocators"] if one["name"] == allocator), {"ratios": {}})
    return {key: ratio["per_round"] for key, ratio in mine["ratios"].items()}


def unpaired_ratio(ours: Sequence[float], theirs: Sequence[float]) -> Ratio:
    """The ratio of two medians, with its bootstrap interval; less is better."""
    fewest = min(len(ours), len(theirs))
    mine, other = (_spread(resampled_medians(one)) for one in (ours, theirs))
    found = sorted((above / below, p * q) for above, p in mine for below, q in other if below > 0)
    low, high = quantiles(found, tail_probability(fewest))
    value = median(ours) / median(theirs)
    return Ratio(value, low, high, fewest, _verdict(value, low, high, fewest), ())


def _verdict(value: float, low: float, high: float, fewest: int) -> Verdict:
    if fewest < FEWEST_PAIRS:
        return Verdict.TOO_FEW_RUNS
    if low <= 1 <= high or abs(value - 1) < NEGLIGIBLE:
        return Verdict.NO_DIFFERENCE
    return Verdict.WORSE if value > 1 else Verdict.BETTER


def _spread(found: Sequence[tuple[float, float]]) -> Sequence[tuple[float, float]]:
    """A distribution by MOST values of it at most, each for as much of it: the pairs of two stay few."""
    if len(found) <= MOST:
        return found
    kept, reached = [], 0.0
    for value, probability in found:
        before, reached = reached, reached + probability
        steps = int(reached * MOST) - int(before * MOST)
        if steps:
            kept.append((value, steps / MOST))
    return kept
