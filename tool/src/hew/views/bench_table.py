# SPDX-License-Identifier: MIT
"""The run of a suite on the terminal: ratios to glibc, a table for each figure; the difference of two runs."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from hew.model.bench import BEST_PEER, SUBJECT, BenchReport, Change
from hew.model.figures import COMMAND_FIGURES, CPU, PEAK_RSS, SOMETIMES_FIGURES, WALL, Figure
from hew.model.quantity import quantity
from hew.model.report import Ratio, Report
from hew.views.curves import place_label
from hew.views.table import STYLES, plain_table, show_note
from hew.views.text import interval, judgement, times

PIPED_WIDTH = 200  # enough for every allocator
WHOLE_SUITE = "geometric mean"
FIGURES = {figure.key: figure for figure in COMMAND_FIGURES + SOMETIMES_FIGURES}


def show_bench(report: BenchReport, console: Console) -> None:
    """Print everything but the single runs."""
    machine = report.machine
    console.print(f"\n[bold]suite {escape(report.suite)}[/]  {escape(report.started)}")
    console.print(f"{machine.cpu}, {machine.cpus_usable} CPUs, {machine.kernel}, {machine.libc}", style="dim")
    console.print("ratio to glibc, median over the rounds; less is better", style="dim")
    for figure in (WALL, CPU, PEAK_RSS):
        if report.mean:
            console.print(_figure_table(report, figure))
    if any(result.means for result in report.workloads):
        console.print(_curve_table(report))
    if report.mean:
        console.print(_mean_table(report.mean))
    for result in report.workloads:
        for row in result.report.results:
            for failed in row.failures:
                words = f"{result.workload.name}: {row.allocator.name}: {failed.failure.reason} (round {failed.round})"
                console.print(f"[red]✗[/] {escape(words)}", soft_wrap=True)
            if row.output_differs:
                words = f"{result.workload.name}: {row.allocator.name}: its output differs from glibc's"
                console.print(f"[red]✗[/] {escape(words)}", soft_wrap=True)
    left_out = [f"{one.name}: left out: {one.reason}" for one in report.unusable]
    for words in (*left_out, *report.notes):
        show_note(words, console)


def _figure_table(report: BenchReport, figure: Figure) -> Table:
    names = [one.name for one in report.allocators if not one.is_baseline]
    table = plain_table(
        f"\n{figure.label}", "\nglibc", *(f"\n{name}" for name in names), f"\n{SUBJECT} / best", "\nbest"
    )
    for result in report.workloads:
        if result.workload.curve:
            continue
        best = result.best.get(figure.key)
        to_best = _ratio_cell(best.ratio) if best and best.ratio else Text("–")
        cells = _cells(result.report, figure, names)
        table.add_row(result.workload.name, *cells, to_best, best.name if best else "–")
    for name, one in [*report.groups.items(), ("", report.mean)]:
        if one is not None:
            label = Text(f"mean, {name}" if name else WHOLE_SUITE, style="bold")
            table.add_row(label, *_cells(one, figure, names), *_best_of_mean(one, figure))
    return table


def _cells(report: Report, figure: Figure, names: list[str]) -> list[Text]:
    rows = {one.allocator.name: one for one in report.results}
    glibc = report.baseline.medians.get(figure.key)
    cells = [Text(quantity(glibc, figure.unit) if glibc is not None else "failed")]
    for name in names:
        ratio = rows[name].ratios.get(figure.key) if name in rows else None
        cells.append(_ratio_cell(ratio) if ratio else Text("–", style="red"))
    return cells


def _best_of_mean(report: Report, figure: Figure) -> tuple[Text, Text]:
    """hew over the best peer of each workload; and that one over glibc."""
    rows = {one.allocator.name: one.ratios.get(figure.key) for one in report.results}
    ours, best = rows.get(SUBJECT), rows.get(BEST_PEER)
    if best is None:
        return Text("–"), Text("–")
    return Text(times(ours.value / best.value) if ours else "–"), Text(f"{times(best.value)} of glibc")


def _ratio_cell(ratio: Ratio) -> Text:
    return Text(f"{ratio.value:.3f}", style=STYLES[ratio.verdict])


def _curve_table(report: BenchReport) -> Table:
    names = [one.name for one in report.allocators if not one.is_baseline]
    table = plain_table("\ncurves", *(f"\n{name}" for name in names), f"\n{SUBJECT} / best", "\nworst", "\nat")
    for result in report.workloads:
        for mean in result.means:
            ratios = [f"{mean.ratios[name]:.3f}" if name in mean.ratios else "–" for name in names]
            worst = (
                (f"{mean.to_best:.3f}", f"{mean.worst:.2f}", place_label(mean.worst_at))
                if mean.to_best is not None and mean.worst is not None and mean.worst_at is not None
                else ("–", "–", "–")
            )
            table.add_row(f"{result.workload.name}: {mean.series}", *ratios, *worst)
    return table


def _mean_table(report: Report) -> Table:
    table = plain_table("\nall workloads as one", *(f"\n{figure.label}" for figure in report.figures))
    for row in report.results:
        ratios = [row.ratios.get(figure.key) for figure in report.figures]
        cells = [
            f"{one.value:.3f} ({interval(one)})" if one else "1" if row.allocator.is_baseline else "–" for one in ratios
        ]
        table.add_row(row.allocator.name, *cells)
    return table


def show_changes(allocator: str, changes: list[Change], console: Console) -> None:
    """Print how an allocator's ratios differ between two saved runs."""
    table = plain_table(f"{allocator} / glibc", "figure", "before", "after", "after / before", "interval", "")
    for one in changes:
        figure = FIGURES[one.figure]
        verdict = Text(judgement(one.change, figure), style=STYLES[one.change.verdict])
        cells = (times(one.before), times(one.after), times(one.change.value), interval(one.change))
        table.add_row(one.workload, figure.label, *cells, verdict)
    console.print(table)
