# SPDX-License-Identifier: MIT
"""From the runs of a suite to its report: each workload's, the best peers, the geometric means.

A mean is a comparison like any other: in each round an allocator's figure is the geometric mean of its figures of that
round over all workloads, and from there on the statistics are those of one workload. The "best peer" is a made-up
allocator that is, in each workload and for each figure, the peer with the lowest median there; chosen after the fact
from noisy medians it looks a little better than any real choice could be.
"""

import math
import statistics
from collections.abc import Iterable, Sequence

from hew.analysis.ratios import paired_ratio
from hew.analysis.summary import summarise
from hew.model.allocator import BASELINE, Allocator
from hew.model.bench import (
    BEST_PEER,
    SUBJECT,
    BenchReport,
    Best,
    CurveMean,
    CurvePoint,
    Suite,
    Workload,
    WorkloadResult,
)
from hew.model.figures import COMMAND_FIGURES, SOMETIMES_FIGURES, TAIL_LATENCY, WALL, Figure
from hew.model.report import Report, Setup
from hew.model.run import CommandPlan, Point, Run

FIGURES = COMMAND_FIGURES + SOMETIMES_FIGURES


def summarise_workload(
    workload: Workload, setup: Setup, allocators: Sequence[Allocator], runs: Sequence[Run], slow_peers: frozenset[str]
) -> WorkloadResult:
    """One workload under every allocator."""
    peers = frozenset(one.name for one in allocators) - slow_peers - {BASELINE, SUBJECT}
    curve = curve_points([run for run in runs if run.round > 0])
    return WorkloadResult(
        workload,
        summarise(setup, allocators, (), runs),
        {} if workload.curve else best_peers(runs, peers),
        curve,
        curve_means(curve, peers),
    )


def best_peers(runs: Sequence[Run], peers: frozenset[str]) -> dict[str, Best]:
    """For each figure the best of the peers, and hew against it."""
    found = {}
    for figure in FIGURES:
        values = {name: _by_round(runs, name, figure) for name in sorted(peers)}
        medians = {name: statistics.median(mine.values()) for name, mine in values.items() if mine}
        if medians:
            best = min(medians, key=lambda name: medians[name])
            ratio = paired_ratio(_by_round(runs, SUBJECT, figure), values[best], figure.more_is_better)
            found[figure.key] = Best(best, ratio)
    return found


def _by_round(runs: Iterable[Run], name: str, figure: Figure) -> dict[int, float]:
    return {
        run.round: run.figures[figure.key]
        for run in runs
        if run.allocator == name and run.round > 0 and run.failure is None and figure.key in run.figures
    }


def curve_points(runs: Iterable[Run]) -> tuple[CurvePoint, ...]:
    """The medians over the rounds, place by place, in the order in which the program goes through them."""
    values: dict[tuple[str, float, str], dict[str, list[float]]] = {}
    for run in runs:
        for point in run.points:
            values.setdefault(_place(point), {}).setdefault(run.allocator, []).append(point.value)
    return tuple(
        CurvePoint(series, at, unit, {name: statistics.median(mine) for name, mine in found.items()})
        for (series, at, unit), found in values.items()
    )


def _place(point: Point) -> tuple[str, float, str]:
    return point.series, point.at, point.unit


def curve_means(points: Sequence[CurvePoint], peers: frozenset[str]) -> tuple[CurveMean, ...]:
    """Each series in a few numbers."""
    return tuple(
        _curve_mean(series, [point for point in points if point.series == series], peers)
        for series in dict.fromkeys(point.series for point in points)
    )


def _curve_mean(series: str, points: Sequence[CurvePoint], peers: frozenset[str]) -> CurveMean:
    names = [name for name in points[0].medians if all(point.medians.get(name, 0) > 0 for point in points)]
    ratios = {
        name: geometric_mean([point.medians[name] / point.medians[BASELINE] for point in points])
        for name in names
        if BASELINE in names
    }
    rivals = [name for name in names if name in peers]
    if SUBJECT not in names or not rivals:
        return CurveMean(series, ratios, None, None, None)
    behind = [point.medians[SUBJECT] / min(point.medians[name] for name in rivals) for point in points]
    worst = max(range(len(points)), key=lambda at: behind[at])
    return CurveMean(series, ratios, geometric_mean(behind), behind[worst], points[worst].at)


def geometric_mean(values: Sequence[float]) -> float:
    """Of positive values."""
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def mean_report(
    suite: str,
    results: Sequence[tuple[WorkloadResult, Sequence[Run]]],
    allocators: Sequence[Allocator],
    setup: Setup,
) -> Report | None:
    """The means over all workloads, with the best peer as one more allocator; None without a workload to average."""
    timed = [(result, runs) for result, runs in results if not result.workload.curve]
    if not timed:
        return None
    made: list[Run] = []
    notes = []
    compared = [*allocators, Allocator(BEST_PEER)]
    for one in compared:
        missing = [result.workload.name for result, runs in timed if not _has_good_run(result, runs, one.name)]
        if missing and one.name != BEST_PEER:
            notes.append(f"{one.name} is in no mean of {suite}: no good run of {', '.join(missing)}")
        elif not missing:
            made += _mean_runs(timed, one.name)
    taking_part = [one for one in compared if one.is_baseline or any(run.allocator == one.name for run in made)]
    if not any(run.allocator == BASELINE for run in made):
        return None
    return summarise(setup, taking_part, (), made, notes)


def _has_good_run(result: WorkloadResult, runs: Sequence[Run], name: str) -> bool:
    return bool(_by_round(runs, _actual(result, name, WALL), WALL))


def _actual(result: WorkloadResult, name: str, figure: Figure) -> str:
    """Whose figure stands for an allocator: its own, or that of the best peer."""
    if name != BEST_PEER:
        return name
    return result.best[figure.key].name if figure.key in result.best else ""


def _is_common(figure: Figure, runs: Sequence[Run]) -> bool:
    """Whether every good run has the figure: a mean must be over the same workloads for every allocator."""
    return all(figure.key in run.figures for run in runs if run.round > 0 and run.failure is None)


def _mean_runs(timed: Sequence[tuple[WorkloadResult, Sequence[Run]]], name: str) -> list[Run]:
    """One made-up run for each round, with those figures that every workload has in that round."""
    figures: dict[int, dict[str, float]] = {}
    for figure in (one for one in FIGURES if one is not TAIL_LATENCY):
        members = [(result, runs) for result, runs in timed if _is_common(figure, runs)]
        values = [_by_round(runs, _actual(result, name, figure), figure) for result, runs in members]
        for number in set.intersection(*(set(mine) for mine in values)) if values else ():
            if all(mine[number] > 0 for mine in values):
                mean = geometric_mean([mine[number] for mine in values])
                figures.setdefault(number, {})[figure.key] = mean
    return [Run(name, number, found) for number, found in sorted(figures.items())]


def summarise_bench(
    suite: Suite,
    setup: Setup,
    allocators: Sequence[Allocator],
    results: Sequence[tuple[WorkloadResult, Sequence[Run]]],
    notes: Sequence[str],
) -> BenchReport:
    """Everything that a view of a suite needs, but for the allocators that could not be used."""
    groups = dict.fromkeys(result.workload.group for result, _ in results if not result.workload.curve)
    members = {name: [(one, runs) for one, runs in results if one.workload.group == name] for name in groups}
    mean = mean_report(suite.name, results, allocators, setup)
    reports = {name: mean_report(name, mine, allocators, setup) for name, mine in members.items()}
    return BenchReport(
        suite.name,
        setup.started,
        setup.machine,
        tuple(allocators),
        suite.left_out,
        tuple(result for result, _ in results),
        mean,
        {name: report for name, report in reports.items() if report is not None},
        (*notes, *(mean.notes if mean else ())),
    )


def setup_of(workload: Workload, setup: Setup) -> Setup:
    """What was asked for, for one workload of a suite. A server's figures are named as a command's are."""
    plan = workload.plan
    words = plan.command if isinstance(plan, CommandPlan) else (*plan.server, "⟵", *plan.client)
    return Setup(words, None, workload.runs, workload.warmup, setup.started, setup.machine)
