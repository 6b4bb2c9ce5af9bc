# SPDX-License-Identifier: MIT
"""The run of a suite as one HTML page: means, a bar for each workload, curves, memory over time. Fetches nothing."""

from collections.abc import Mapping, Sequence
from html import escape
from itertools import groupby

from hew.model.allocator import Allocator
from hew.model.bench import BEST_PEER, SUBJECT, BenchReport, WorkloadResult
from hew.model.figures import CPU, PEAK_RSS, RSS_SECONDS, WALL, Figure
from hew.model.quantity import quantity
from hew.model.report import Report
from hew.views.charts import CSS_CLASS, memory_lines, ratio_bars
from hew.views.curves import curve_lines, value_label
from hew.views.page import METHOD, allocator_colors, circumstances, html_page
from hew.views.text import command_line, interval, times

SHOWN = (WALL, PEAK_RSS)


def bench_page(report: BenchReport) -> str:
    """The whole page."""
    colors = allocator_colors([*report.allocators, Allocator(BEST_PEER)])
    sections = [
        _head(report),
        _mean(report, colors),
        *(_table(report, figure) for figure in (WALL, CPU, PEAK_RSS, RSS_SECONDS)),
        *(
            _group(name, list(results), colors)
            for name, results in groupby(report.workloads, lambda one: one.workload.group)
        ),
        _end(report),
    ]
    return html_page(f"hew bench: {report.suite}", sections, "hew bench")


def _head(report: BenchReport) -> str:
    return (
        f'<header><h1><b>hew</b> bench</h1><div class="command">suite {escape(report.suite)}: '
        f"{len(report.workloads)} workloads, {len(report.allocators)} allocators</div>"
        f"{circumstances(report.machine, report.started)}</header>"
    )


def _mean(report: BenchReport, colors: Mapping[str, str]) -> str:
    if report.mean is None:
        return ""
    return (
        '<section><h2>All workloads as one</h2><p class="soft">Geometric means over the workloads, against glibc. The '
        "best peer is, in each workload and for each figure, the one with the lowest median there.</p>"
        f'<div class="charts">{_bars(report.mean, report.mean.figures, colors)}</div></section>'
    )


def _bars(report: Report, figures: Sequence[Figure], colors: Mapping[str, str]) -> str:
    return "".join(
        f'<div class="card"><h3>{escape(figure.label)}</h3>{ratio_bars(figure, report.results, colors)}</div>'
        for figure in figures
        if any(figure.key in one.ratios for one in report.results)
    )


def _table(report: BenchReport, figure: Figure) -> str:
    """One figure: workloads down, allocators across, ratios to glibc."""
    names = [one.name for one in report.allocators if not one.is_baseline]
    rows = [(one.workload.name, one.report, one) for one in report.workloads if not one.workload.curve]
    body = "".join(_row(name, one, figure, names, _to_best(result, figure)) for name, one, result in rows)
    if report.mean is None:
        return ""
    means = [*((f"mean, {name}", one) for name, one in report.groups.items()), ("geometric mean", report.mean)]
    body += "".join(_row(name, one, figure, names, _mean_to_best(one, figure)) for name, one in means)
    head = "".join(f"<th>{escape(name)}</th>" for name in ("glibc", *names, f"{SUBJECT} / best peer"))
    return (
        f'<section><h2>{escape(figure.label)}</h2><p class="soft">Ratio to glibc; less is better.</p>'
        f'<div class="card scroll"><table class="small"><thead><tr><th></th>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div></section>"
    )


def _row(label: str, report: Report, figure: Figure, names: Sequence[str], to_best: str) -> str:
    results = {one.allocator.name: one for one in report.results}
    glibc = report.baseline.medians.get(figure.key)
    cells = [f"<td>{quantity(glibc, figure.unit) if glibc is not None else '–'}</td>"]
    for name in names:
        ratio = results[name].ratios.get(figure.key) if name in results else None
        cells.append(
            f'<td class="{CSS_CLASS[ratio.verdict]}" title="{interval(ratio)}">{times(ratio.value)}</td>'
            if ratio
            else "<td>–</td>"
        )
    return f"<tr><td>{escape(label)}</td>{''.join(cells)}{to_best}</tr>"


def _to_best(result: WorkloadResult, figure: Figure) -> str:
    best = result.best.get(figure.key)
    if best is None or best.ratio is None:
        return "<td>–</td>"
    return (
        f'<td class="{CSS_CLASS[best.ratio.verdict]}">{times(best.ratio.value)}<small>{escape(best.name)}</small></td>'
    )


def _mean_to_best(report: Report, figure: Figure) -> str:
    ratios = {one.allocator.name: one.ratios.get(figure.key) for one in report.results}
    ours, best = ratios.get(SUBJECT), ratios.get(BEST_PEER)
    if best is None:
        return "<td>–</td>"
    return f"<td>{times(ours.value / best.value) if ours else '–'}<small>best peer {times(best.value)}</small></td>"


def _group(name: str, results: Sequence[WorkloadResult], colors: Mapping[str, str]) -> str:
    return f"<section><h2>{escape(name)}</h2>{''.join(_workload(one, colors) for one in results)}</section>"


def _workload(result: WorkloadResult, colors: Mapping[str, str]) -> str:
    workload = result.workload
    said = f'<p class="soft small"><code>{escape(command_line(result.report.setup.command))}</code></p>'
    bars = "" if workload.curve else f'<div class="charts">{_bars(result.report, SHOWN, colors)}</div>'
    memory = None if workload.curve else memory_lines(result.report.results, colors)
    lines = f'<div class="card wide"><h3>memory over time</h3>{memory}</div>' if memory else ""
    return f"<h3>{escape(workload.name)}</h3>{said}{bars}{lines}{_curves(result, colors)}"


def _curves(result: WorkloadResult, colors: Mapping[str, str]) -> str:
    cards = []
    for mean in result.means:
        points = [point for point in result.curve if point.series == mean.series]
        drawn = curve_lines(points, colors)
        if drawn is None:
            told = "".join(
                f"<tr><td>{escape(name)}</td><td>{escape(value_label(value, point.unit))}</td></tr>"
                for point in points
                for name, value in point.medians.items()
            )
            drawn = f'<table class="small"><tbody>{told}</tbody></table>'
        cards.append(f'<div class="card wide"><h3>{escape(mean.series)}</h3>{drawn}</div>')
    return "".join(cards)


def _end(report: BenchReport) -> str:
    libraries = "".join(
        f'<tr><td>{escape(one.name)}</td><td class="text"><code class="small">'
        f"{escape(str(one.library or 'what the command has by itself'))}</code></td></tr>"
        for one in report.allocators
    )
    failed = [
        f"{result.workload.name}: {row.allocator.name}: {one.failure.reason}"
        for result in report.workloads
        for row in result.report.results
        for one in row.failures
    ]
    left_out = [f"{one.name}: left out: {one.reason}" for one in report.unusable]
    notes = "".join(f"<li>{escape(one)}</li>" for one in (*failed, *left_out, *report.notes))
    return (
        f"<section><h2>How it was measured</h2>{METHOD.format(confidence='95%')}"
        f'<div class="card scroll wide"><table><tbody>{libraries}</tbody></table></div><ul>{notes}</ul></section>'
    )
