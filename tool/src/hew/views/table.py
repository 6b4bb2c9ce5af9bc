# SPDX-License-Identifier: MIT
"""The comparison as a table on the terminal."""

import errno

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from hew.model.figures import Figure
from hew.model.quantity import quantity
from hew.model.report import AllocatorResult, Report, Verdict
from hew.views.text import failure_line, interval, judgement, remarks, times, what_ran

PIPED_WIDTH = 100
NARROWEST = 80
STYLES = {
    Verdict.BETTER: "green",
    Verdict.WORSE: "red",
    Verdict.NO_DIFFERENCE: "dim",
    Verdict.TOO_FEW_RUNS: "yellow",
}


class _Results(Console):
    """A console whose reader may go: rich would end with 1, by itself."""

    def on_broken_pipe(self) -> None:
        """As without rich."""
        raise BrokenPipeError(errno.EPIPE, "the reader has gone")


def results_console(piped_width: int = PIPED_WIDTH) -> Console:
    """Standard output, `piped_width` columns wide when nobody looks; a narrow terminal wraps lines, but cuts no number.

    Rich itself honours NO_COLOR and writes no colour into a pipe.
    """
    console = _Results(highlight=False)
    if not console.is_terminal:
        console.width = piped_width
    elif console.width < NARROWEST:
        console.width = NARROWEST
    return console


def plain_table(*columns: str, names: int = 1) -> Table:
    """A table without lines; the first columns hold names, the others numbers."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number < names else "right", no_wrap=True)
    return table


def show_note(note: str, console: Console) -> None:
    """One thing that a reader must know besides the figures."""
    console.print(f"[yellow]•[/] {escape(note)}", soft_wrap=True)


def show_table(report: Report, chosen: str, console: Console) -> None:
    """Print the whole comparison: what to choose, figures, failures with what they wrote, remarks."""
    setup = report.setup
    console.print()
    console.print(f"[bold]{escape(what_ran(setup))}[/]", soft_wrap=True)
    console.print(
        f"{setup.runs} rounds after {setup.warmup} of warm-up; ratio to glibc, paired by round, "
        f"{report.confidence:.0%} interval",
        style="dim",
        soft_wrap=True,
    )
    console.print()
    console.print(f"[bold]{escape(chosen)}[/]", soft_wrap=True)
    console.print(_table(report))
    for result in report.results:
        for failed in result.failures:
            console.print(f"[red]✗[/] {escape(failure_line(result, failed))}", soft_wrap=True)
            for line in failed.failure.stderr_tail.splitlines():
                console.print(f"    {escape(line)}", style="dim", soft_wrap=True)
    for remark in remarks(report):
        show_note(remark, console)


def _table(report: Report) -> Table:
    table = plain_table("", "median", "vs glibc", "interval")
    table.add_column("", no_wrap=True)
    for figure in report.figures:
        table.add_row("")
        table.add_row(Text(figure.label, style="bold"))
        for result in report.results:
            table.add_row(*_row(result, figure))
    return table


def _row(result: AllocatorResult, figure: Figure) -> list[Text]:
    name = Text(f"  {result.allocator.name}")
    if figure.key not in result.medians:
        return [name, Text("failed" if result.failures else "not measured", style="red")]
    median = Text(quantity(result.medians[figure.key], figure.unit))
    ratio = result.ratios.get(figure.key)
    if ratio is None:
        return [name, median]
    verdict = Text(judgement(ratio, figure), style=STYLES[ratio.verdict])
    return [name, median, Text(times(ratio.value)), Text(interval(ratio), style="dim"), verdict]
