# SPDX-License-Identifier: MIT
"""What a comparison says to choose, in one sentence."""

import math
from collections.abc import Sequence

from hew.model.figures import CLIENT_WALL, PEAK_RSS, SERVER_RSS, WALL, Figure
from hew.model.report import AllocatorResult, Ratio, Report, Verdict


def choice(report: Report) -> str:
    """The sentence. Who failed or wrote something else than under glibc is not chosen."""
    sound = [one for one in report.results if one.ratios and not one.failures and not one.output_differs]
    if not report.baseline.good_runs or not sound:
        return "Nothing can be chosen: no allocator ran it as glibc does."
    speed, memory = _speed(report), _memory(report)
    verdicts = {one.ratios[key].verdict for one in sound for key in (speed.key, memory.key) if key in one.ratios}
    if verdicts <= {Verdict.TOO_FEW_RUNS}:
        return "Too few rounds to choose: give --runs 6 or more."
    fastest, smallest = _best(sound, speed, memory), _best(sound, memory, speed)
    if fastest is None and smallest is None:
        return f"Stay with glibc: no other allocator is better in {speed.label} or {memory.label} beyond noise."
    if fastest is None or fastest is smallest:
        assert smallest is not None  # noqa: S101 - one of the two is there
        return f"Choose {smallest.allocator.name}: {_figures(smallest, (speed, memory))}, against glibc."
    if smallest is None or _verdict(fastest, memory) is Verdict.BETTER:
        return f"Choose {fastest.allocator.name}: {_figures(fastest, (speed, memory))}, against glibc."
    return (
        f"For {speed.label} choose {fastest.allocator.name} ({_figures(fastest, (speed, memory))}), "
        f"for {memory.label} {smallest.allocator.name} ({_figures(smallest, (speed, memory))}), against glibc."
    )


def _speed(report: Report) -> Figure:
    """What the program itself tells of its work, else how long it took."""
    told = next((one for one in report.figures if one.key.startswith(("metric.", "client."))), None)
    plain = next((one for one in report.figures if one in {WALL, CLIENT_WALL}), report.figures[0])
    return told or plain


def _memory(report: Report) -> Figure:
    return next((one for one in report.figures if one in {PEAK_RSS, SERVER_RSS}), report.figures[-1])


def _verdict(result: AllocatorResult, figure: Figure) -> Verdict | None:
    ratio = result.ratios.get(figure.key)
    return ratio.verdict if ratio else None


def _best(results: Sequence[AllocatorResult], figure: Figure, other: Figure) -> AllocatorResult | None:
    """The best in a figure; of those that are as good within their intervals, the best in the other one."""
    better = [one for one in results if _verdict(one, figure) is Verdict.BETTER]
    first = min(better, key=lambda one: _cost(one, figure), default=None)
    if first is None:
        return None
    best = first.ratios[figure.key].value
    level = [one for one in better if one.ratios[figure.key].low <= best <= one.ratios[figure.key].high]
    return min(level or [first], key=lambda one: (_cost(one, other), _cost(one, figure)))


def _cost(result: AllocatorResult, figure: Figure) -> float:
    """The less the better; what was not measured is worst."""
    ratio = result.ratios.get(figure.key)
    if ratio is None:
        return math.inf
    return -ratio.value if figure.more_is_better else ratio.value


def _figures(result: AllocatorResult, figures: Sequence[Figure]) -> str:
    return " and ".join(_change(result.ratios[figure.key], figure) for figure in figures if figure.key in result.ratios)


def _change(ratio: Ratio, figure: Figure) -> str:
    if ratio.verdict not in {Verdict.BETTER, Verdict.WORSE}:
        return f"the same {figure.label}"
    if ratio.value >= 2:
        return f"{ratio.value:.1f} times the {figure.label}"
    return f"{abs(ratio.value - 1):.0%} {'more' if ratio.value > 1 else 'less'} {figure.label}".replace("%", " %")
