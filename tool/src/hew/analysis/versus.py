# SPDX-License-Identifier: MIT
"""Two saved runs of a suite: how an allocator's ratio to glibc has changed.

It is ratios to glibc that are compared, not figures: what has changed in the machine between the two runs has changed
for glibc too. The rounds of the two runs belong to no pairs, so each side is resampled for itself.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hew.analysis.ratios import FEWEST_PAIRS, NEGLIGIBLE, RESAMPLES, SEED, tail_probability
from hew.model.bench import Change
from hew.model.report import Ratio, Verdict

Document = Mapping[str, Any]


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
                pair = float(np.median(theirs[key])), float(np.median(ours[key]))
                found.append(Change(workload["name"], key, *pair, ratio))
    return found


def _ratios(report: Document, allocator: str) -> dict[str, list[float]]:
    """The ratio of every round, by figure."""
    mine: Mapping[str, Any] = next((one for one in report["allocators"] if one["name"] == allocator), {"ratios": {}})
    return {key: ratio["per_round"] for key, ratio in mine["ratios"].items()}


def unpaired_ratio(ours: Sequence[float], theirs: Sequence[float]) -> Ratio:
    """The ratio of two medians, with its bootstrap interval; less is better."""
    generator = np.random.default_rng(SEED)
    medians = [
        np.median(sample[generator.integers(0, len(sample), size=(RESAMPLES, len(sample)))], axis=1)
        for sample in (np.asarray(ours), np.asarray(theirs))
    ]
    fewest = min(len(ours), len(theirs))
    margin = tail_probability(fewest)
    low, high = (float(one) for one in np.quantile(medians[0] / medians[1], [margin, 1 - margin]))
    value = float(np.median(ours) / np.median(theirs))
    return Ratio(value, low, high, fewest, _verdict(value, low, high, fewest), ())


def _verdict(value: float, low: float, high: float, fewest: int) -> Verdict:
    if fewest < FEWEST_PAIRS:
        return Verdict.TOO_FEW_RUNS
    if low <= 1 <= high or abs(value - 1) < NEGLIGIBLE:
        return Verdict.NO_DIFFERENCE
    return Verdict.WORSE if value > 1 else Verdict.BETTER
