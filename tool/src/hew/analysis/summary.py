# SPDX-License-Identifier: MIT
"""From runs to the report: medians, ratios, failures, outputs that differ."""

import statistics
from collections.abc import Sequence

from hew.analysis.ratios import CONFIDENCE, paired_ratio
from hew.model.allocator import BASELINE, Allocator, Unusable
from hew.model.figures import COMMAND_FIGURES, SOMETIMES_FIGURES, Figure, client_figures, server_figures
from hew.model.report import AllocatorResult, FailedRun, Ratio, Report, Setup
from hew.model.run import RssPoint, Run


def summarise(
    setup: Setup,
    allocators: Sequence[Allocator],
    unusable: Sequence[Unusable],
    runs: Sequence[Run],
    notes: Sequence[str] = (),
) -> Report:
    """Everything that a view needs, from the runs of a finished schedule."""
    figures = figures_of(setup, runs)
    counted = {one.name: [run for run in runs if run.allocator == one.name and run.round > 0] for one in allocators}
    good = {name: [run for run in mine if run.failure is None] for name, mine in counted.items()}
    expected, varies = expected_output(good[BASELINE])
    results = tuple(
        AllocatorResult(
            allocator=one,
            values={figure.key: _values(good[one.name], figure) for figure in figures},
            medians={
                figure.key: statistics.median(values)
                for figure in figures
                if (values := _values(good[one.name], figure))
            },
            ratios=paired_ratios(good[one.name], good[BASELINE], figures) if not one.is_baseline else {},
            rss=typical_line(good[one.name], figures),
            failures=tuple(
                FailedRun(run.round, run.failure) for run in runs if run.allocator == one.name and run.failure
            ),
            notes=_notes(one, good[one.name]),
            output_differs=expected is not None and any(run.output != expected for run in good[one.name]),
        )
        for one in allocators
    )
    remarks = list(notes)
    if varies:
        remarks.append("the command's output varies from run to run under glibc too, so outputs were not compared")
    return Report(setup, figures, results, tuple(unusable), CONFIDENCE, tuple(remarks))


def figures_of(setup: Setup, runs: Sequence[Run]) -> tuple[Figure, ...]:
    """The figures that this kind of comparison has, in the order to show them."""
    keys = {key for run in runs for key in run.figures}
    if setup.server is None:
        return COMMAND_FIGURES + tuple(one for one in SOMETIMES_FIGURES if one.key in keys) + client_figures(keys)
    return server_figures(keys) + client_figures(keys)


def expected_output(baseline: Sequence[Run]) -> tuple[str | None, bool]:
    """What glibc's runs wrote, when they agree; and whether they disagree."""
    outputs = {run.output for run in baseline if run.output is not None}
    return (outputs.pop(), False) if len(outputs) == 1 else (None, len(outputs) > 1)


def typical_line(runs: Sequence[Run], figures: Sequence[Figure]) -> tuple[RssPoint, ...]:
    """The memory over time of the run in the middle of the first figure."""
    key = figures[0].key
    ordered = sorted((run for run in runs if key in run.figures), key=lambda run: run.figures[key])
    return ordered[len(ordered) // 2].rss if ordered else ()


def _values(runs: Sequence[Run], figure: Figure) -> tuple[float, ...]:
    return tuple(run.figures[figure.key] for run in runs if figure.key in run.figures)


def paired_ratios(ours: Sequence[Run], baseline: Sequence[Run], figures: Sequence[Figure]) -> dict[str, Ratio]:
    """The ratio of each figure that both have, by its key."""
    found = {}
    for figure in figures:
        mine = {run.round: run.figures[figure.key] for run in ours if figure.key in run.figures}
        theirs = {run.round: run.figures[figure.key] for run in baseline if figure.key in run.figures}
        ratio = paired_ratio(mine, theirs, figure.more_is_better)
        if ratio is not None:
            found[figure.key] = ratio
    return found


def _notes(allocator: Allocator, runs: Sequence[Run]) -> tuple[str, ...]:
    """What must be known about an allocator's row."""
    own = sorted({name for run in runs for name in run.own_allocators})
    if allocator.library is None and own:
        return (f"a process of the command brings {', '.join(own)}: this row is not glibc's malloc alone",)
    return ()
