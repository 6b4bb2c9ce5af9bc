# SPDX-License-Identifier: MIT
"""From rounds to ratios, and from their intervals to verdicts. Nothing here measures or writes.

A goal is met when the whole interval lies within it, not met when the whole interval lies beyond it, and else the runs
do not tell. Fewer rounds than an interval needs give no verdict.
"""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from hew.analysis.bench import geometric_mean
from hew.analysis.ratios import FEWEST_PAIRS, bootstrap_interval, paired_ratio
from hew.model.figures import CPU, PEAK_RSS
from hew.model.report import Ratio
from hew.views.text import interval
from self_tuning.plan import OFF
from self_tuning.runs import FIGURES, Rounds

NEAR = 1.03  # to the best setting by hand, in time
LEAN = 1.02  # so much more memory is not more
PICKED = 4
HAND = "by hand"  # what is best in the other half of the rounds


class Verdict(StrEnum):
    """What the page says of a goal."""

    MET = "met"
    NOT_MET = "**not met**"
    OPEN = "not told apart"
    FEW = "too few rounds"
    NONE = "not measured"


def within(low: float, high: float, most: float, count: int) -> Verdict:
    """Whether an interval of so many values lies within a limit."""
    if count < FEWEST_PAIRS:
        return Verdict.FEW
    if high <= most:
        return Verdict.MET
    return Verdict.NOT_MET if low > most else Verdict.OPEN


def judged(ratio: Ratio | None, most: float) -> Verdict:
    """The same of a ratio."""
    return within(ratio.low, ratio.high, most, ratio.pairs) if ratio else Verdict.NONE


def all_of(verdicts: Iterable[Verdict]) -> Verdict:
    """One that is not met is enough; else the least that is known."""
    found = list(verdicts)
    order = (Verdict.NOT_MET, Verdict.NONE, Verdict.FEW, Verdict.OPEN)
    return next((one for one in order if one in found), Verdict.MET) if found else Verdict.NONE


def compared(rounds: Rounds, ours: str, base: str = OFF) -> dict[str, Ratio]:
    """The ratio of each figure, paired by round."""
    found = {}
    for one in FIGURES:
        mine, theirs = ({at: run[one.key] for at, run in enumerate(rounds[way], 1)} for way in (ours, base))
        ratio = paired_ratio(mine, theirs, more_is_better=False)
        if ratio is not None:
            found[one.key] = ratio
    return found


def mean_ratio(several: Sequence[Rounds], ours: str, key: str, base: str = OFF) -> Ratio | None:
    """The geometric mean over workloads, of each round, as far as all have rounds."""
    least = min((len(one[way]) for one in several for way in (ours, base)), default=0)
    means = {at: geometric_mean([one[ours][at][key] / one[base][at][key] for one in several]) for at in range(least)}
    return paired_ratio(means, dict.fromkeys(means, 1.0), more_is_better=False)


def difference(ours: Sequence[float], base: Sequence[float]) -> tuple[float, float, float]:
    """The median of what ours is more, round by round, and its interval."""
    each = tuple(mine - theirs for mine, theirs in zip(ours, base, strict=True))
    return (statistics.median(each), *bootstrap_interval(each))


def memory_of(rounds: Rounds, way: str) -> float:
    """Peak RSS over that of tuning:off, by medians."""
    mine, off = (statistics.median(run[PEAK_RSS.key] for run in rounds[one]) for one in (way, OFF))
    return mine / off


def picks(first: Rounds) -> list[str]:
    """Who comes into the second pass: the fastest settings, and the fastest that takes no more memory than tuning:off.

    Of each the best run counts, since what disturbs a run makes it slower.
    """
    ranked = sorted((way for way in first if way != OFF), key=lambda way: min(run[CPU.key] for run in first[way]))
    lean = [way for way in ranked if memory_of(first, way) <= LEAN]
    return list(dict.fromkeys([*ranked[:PICKED], *lean[:1]]))


def best(rounds: Rounds, hand: Iterable[str], lean: bool) -> str:
    """The setting by hand with the least CPU time, or tuning:off; if asked, of those that take no more memory."""
    ways = [OFF, *(way for way in hand if not lean or memory_of(rounds, way) <= LEAN)]
    return min(ways, key=lambda way: compared(rounds, way)[CPU.key].value)


def against_best(rounds: Rounds, ours: str, hand: Sequence[str], lean: bool) -> dict[str, Ratio]:
    """The ratio of each figure to the best setting by hand, paired by round.

    Each half of the rounds is compared with what is best in the other half: what is best in some rounds owes a part of
    that to chance, and looks better in those than it is.
    """
    count = len(rounds[ours])
    halves = [[at for at in range(count) if at % 2 == half] for half in (0, 1)]
    chosen = [best({way: [runs[at] for at in half] for way, runs in rounds.items()}, hand, lean) for half in halves]
    other = [rounds[chosen[(at + 1) % 2]][at] for at in range(count)]
    return compared({ours: rounds[ours], HAND: other}, ours, HAND)


def as_good(ratios: Mapping[str, Ratio]) -> Verdict:
    """Near the best setting in time, at no more memory than it takes."""
    return all_of([judged(ratios.get(CPU.key), NEAR), judged(ratios.get(PEAK_RSS.key), LEAN)])


def cell(ratio: Ratio | None) -> str:
    """A ratio with its interval, where there are rounds enough for one."""
    if ratio is None:
        return "–"
    return f"{ratio.value:.2f} ({interval(ratio)})" if ratio.pairs >= FEWEST_PAIRS else f"{ratio.value:.2f}"


def beyond(workloads: Mapping[str, Rounds], ours: str, most: float) -> tuple[list[str], list[str]]:
    """Who is above a limit for certain, and who is above it but not for certain: name, figure, ratio."""
    certain: list[str] = []
    perhaps: list[str] = []
    for name, rounds in workloads.items():
        ratios = compared(rounds, ours)
        for one in FIGURES:
            ratio = ratios.get(one.key)
            if ratio and ratio.value > most:
                sure = judged(ratio, most) is Verdict.NOT_MET
                (certain if sure else perhaps).append(f"{name}: {one.label} {cell(ratio)}")
    return certain, perhaps


def worst(workloads: Mapping[str, Rounds], ours: str, keys: Sequence[str]) -> str:
    """The workload and figure that is furthest above the base."""
    found = [
        (ratios[one.key].value, f"{name}: {one.label} {cell(ratios[one.key])}")
        for name, rounds in workloads.items()
        for ratios in [compared(rounds, ours)]
        for one in FIGURES
        if one.key in keys and one.key in ratios
    ]
    return max(found)[1] if found else "–"
