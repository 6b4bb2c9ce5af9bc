# SPDX-License-Identifier: MIT
"""What a comparison says to choose: the winner of each axis, ties as ties, and one piece of advice.

Two allocators tie where the interval of the one over the other, paired by round, contains 1, or where they differ
by less than NEAR. Among equals the allocator that runs today stays, since a change has a cost; else the one that holds
least is named first.
"""

import math
from collections.abc import Sequence

from hew.analysis.ratios import bootstrap_interval
from hew.model.figures import CLIENT_WALL, PEAK_RSS, SERVER_RSS, WALL, Figure
from hew.model.lazy_dataclass import dataclass
from hew.model.report import AllocatorResult, Choice, Ratio, Report, Verdict

NEAR = 0.01  # a difference of less is a tie, however surely it was measured


@dataclass(frozen=True)
class _Axis:
    """One figure and the names of the allocators that are best in it, the least costly first."""

    figure: Figure
    best: tuple[str, ...]


def choice(report: Report) -> Choice:
    """The winners and the advice. An allocator that failed, or wrote something else than under glibc, cannot win."""
    sound = [one for one in report.results if one.ratios and not one.failures and not one.output_differs]
    if not report.baseline.good_runs or not sound:
        return Choice("Nothing can be chosen: no allocator ran it as glibc does.")
    figures = _speed(report), _memory(report)
    verdicts = {one.ratios[key.key].verdict for one in sound for key in figures if key.key in one.ratios}
    if verdicts <= {Verdict.TOO_FEW_RUNS}:
        return Choice("Too few rounds to choose: give --runs 6 or more.")
    found = {one.allocator.name: one for one in (report.baseline, *sound)}
    speed, memory = (_Axis(figure, _best(list(found.values()), figure)) for figure in figures)
    axes = tuple(_axis_text(axis, found) for axis in (speed, memory))
    return Choice(_advice(speed, memory, found, report), axes)


def _advice(speed: _Axis, memory: _Axis, found: dict[str, AllocatorResult], report: Report) -> str:
    today = report.today
    both = [name for name in memory.best if name in speed.best]
    labels = f"{speed.figure.label} or {memory.figure.label}"
    if today in both:
        others = [name for name in both if name != today]
        also = f"; {_names(others)} {'is' if len(others) == 1 else 'are'} as good" if others else ""
        return f"Stay with {today}: no other allocator is better in {labels} beyond noise{also}."
    if not both:
        return (
            f"For {speed.figure.label} {_verb(speed, found, today)}; for {memory.figure.label} "
            f"{_verb(memory, found, today)}."
        )
    first, *others = both
    result = found[first]
    also = f" {_names(others)} {'is' if len(others) == 1 else 'are'} as good." if others else ""
    return f"Choose {first}: {_figures(result, (speed.figure, memory.figure))}, against glibc.{also}"


def _verb(axis: _Axis, found: dict[str, AllocatorResult], today: str) -> str:
    """The recommendation for one axis, and its effect on that axis."""
    if today in axis.best:
        return f"stay with {today}"
    name = axis.best[0]
    changes = ", ".join(_change(ratio, figure) for figure, ratio in _ratios(found[name], axis.figure))
    return f"choose {name} ({changes})"


def _ratios(result: AllocatorResult, figure: Figure) -> list[tuple[Figure, Ratio]]:
    ratio = result.ratios.get(figure.key)
    return [(figure, ratio)] if ratio else []


def _axis_text(axis: _Axis, found: dict[str, AllocatorResult]) -> str:
    """Which allocators are best in one figure, and by how much."""
    ratios = [(name, _ratio(found[name], axis.figure)) for name in axis.best]
    alone = len(ratios) == 1
    head = f"best {axis.figure.label}: {_names(axis.best)}"
    said = [_percent(ratio) for _, ratio in ratios if ratio is not None]
    if not said:  # glibc alone
        return f"{head}; every other allocator is worse"
    spread = said[0] if len(set(said)) == 1 else f"{said[0]} to {said[-1]}"
    return f"{head}{'' if alone else ', a tie'} ({spread} of glibc's)"


def _percent(ratio: Ratio) -> str:
    return f"{ratio.value:.0%}".replace("%", " %") if ratio.value < 2 else f"{ratio.value:.1f}×"


def _names(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _speed(report: Report) -> Figure:
    """What the program itself tells of its work, else how long it took."""
    told = next((one for one in report.figures if one.key.startswith(("metric.", "client."))), None)
    plain = next((one for one in report.figures if one in {WALL, CLIENT_WALL}), report.figures[0])
    return told or plain


def _memory(report: Report) -> Figure:
    return next((one for one in report.figures if one in {PEAK_RSS, SERVER_RSS}), report.figures[-1])


def _ratio(result: AllocatorResult, figure: Figure) -> Ratio | None:
    return result.ratios.get(figure.key)


def _value(result: AllocatorResult, figure: Figure) -> float | None:
    """Its ratio to glibc; glibc's own is 1; None where it was not measured."""
    ratio = _ratio(result, figure)
    return 1.0 if result.allocator.is_baseline else ratio.value if ratio else None


def _best(results: Sequence[AllocatorResult], figure: Figure) -> tuple[str, ...]:
    """The names of the best in a figure and of those that tie with it, the least costly first."""

    def cost(result: AllocatorResult) -> float:
        found = _value(result, figure)
        if found is None:
            return math.inf
        return -found if figure.more_is_better else found

    first, *others = sorted(results, key=cost)
    tied = [one for one in others if _ties(first, one, figure)]
    return tuple(one.allocator.name for one in (first, *tied))


def _ties(best: AllocatorResult, other: AllocatorResult, figure: Figure) -> bool:
    ours, theirs = _value(best, figure), _value(other, figure)
    if not ours or not theirs:
        return False
    low, high = _between(best, other, figure)
    return low <= 1 <= high or abs(theirs / ours - 1) < NEAR


def _between(best: AllocatorResult, other: AllocatorResult, figure: Figure) -> tuple[float, float]:
    """The interval of the other's figure over the best's. Where they have not run in the same rounds, the widest one
    that their intervals to glibc allow."""
    mine, theirs = _ratio(best, figure), _ratio(other, figure)
    if mine is None or theirs is None:  # one of them is glibc
        return (1 / mine.high, 1 / mine.low) if mine else (theirs.low, theirs.high) if theirs else (1.0, 1.0)
    if len(mine.per_round) != len(theirs.per_round):
        return theirs.low / mine.high, theirs.high / mine.low
    return bootstrap_interval(tuple(b / a for a, b in zip(mine.per_round, theirs.per_round, strict=True)))


def _figures(result: AllocatorResult, figures: Sequence[Figure]) -> str:
    return " and ".join(_change(result.ratios[figure.key], figure) for figure in figures if figure.key in result.ratios)


def _change(ratio: Ratio, figure: Figure) -> str:
    if ratio.verdict not in {Verdict.BETTER, Verdict.WORSE}:
        return f"the same {figure.label}"
    if ratio.value >= 2:
        return f"{ratio.value:.1f} times the {figure.label}"
    return f"{abs(ratio.value - 1):.0%} {'more' if ratio.value > 1 else 'less'} {figure.label}".replace("%", " %")
