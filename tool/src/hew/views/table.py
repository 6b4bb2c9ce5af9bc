# SPDX-License-Identifier: MIT
"""The comparison as a table on the terminal."""

import errno
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from hew.model.figures import Figure
from hew.model.quantity import quantity
from hew.model.report import AllocatorResult, Choice, Report, Verdict
from hew.views.memory_text import memory_rows
from hew.views.text import failure_line, interval, judgement, remarks, times, what_ran

PIPED_WIDTH = 100
NARROWEST = 80
GAP = 2  # columns between two cells
HEAD = [Text(one, style="dim") for one in ("", "median", "vs glibc", "interval", "")]
INTERVAL = 3
LEFT = (0, 4)  # columns of words
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
    """Standard output: `piped_width` columns if it is no terminal. A narrow terminal wraps lines, but cuts no number.

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


def show_table(report: Report, chosen: Choice, console: Console) -> None:
    """Print the whole comparison: what to choose, memory over time, figures, failures with what they wrote, remarks."""
    setup = report.setup
    console.print()
    console.print(f"[bold]{escape(what_ran(setup))}[/]", soft_wrap=True)
    console.print(
        f"{setup.runs} round{'' if setup.runs == 1 else 's'} after {setup.warmup} of warm-up; "
        f"ratio to glibc, paired by round, {report.confidence:.0%} interval",
        style="dim",
        soft_wrap=True,
    )
    console.print()
    console.print(f"[bold]{escape(chosen.advice)}[/]", soft_wrap=True)
    for axis in chosen.axes:
        console.print(f"  {escape(axis)}", soft_wrap=True)
    rows = memory_rows(report.results, console.width)
    if rows:
        console.print()
        console.print("[bold]memory over time[/] [dim](resident, of a typical run; all on one scale)[/]")
        for area in rows:
            console.print(Text(area), soft_wrap=True)
    for row in _figure_lines(report, console.width):
        console.print(row, soft_wrap=True)
    console.print()
    for result in report.results:
        for failed in result.failures:
            console.print(f"[red]✗[/] {escape(failure_line(result, failed))}", soft_wrap=True)
            for line in failed.failure.stderr_tail.splitlines():
                console.print(f"    {escape(line)}", style="dim", soft_wrap=True)
    for remark in remarks(report):
        show_note(remark, console)


def _figure_lines(report: Report, width: int) -> list[Text]:
    """A block for each figure. Columns are as wide as their widest cell; where all of them do not fit, the interval's
    goes, and no word is ever cut."""
    blocks = [(figure, [_row(result, figure) for result in report.results]) for figure in report.figures]
    rows = [HEAD, *(row for _, rows in blocks for row in rows)]
    widths = [max(cell.cell_len for cell in column) for column in zip(*rows, strict=True)]
    shown = list(range(len(widths)))
    if sum(widths) + GAP * len(widths) > width:
        shown.remove(INTERVAL)
    lines = [Text(""), _line(HEAD, widths, shown)]
    for figure, cells in blocks:
        lines += [Text(""), Text(figure.label, style="bold"), *(_line(row, widths, shown) for row in cells)]
    return lines


def _line(row: Sequence[Text], widths: Sequence[int], shown: Sequence[int]) -> Text:
    """One row: the name and the verdict to the left, numbers to the right."""
    line = Text()
    for column in shown:
        space = " " * (widths[column] - row[column].cell_len)
        line.append_text(Text.assemble(row[column], space) if column in LEFT else Text.assemble(space, row[column]))
        line.append(" " * GAP)
    line.rstrip()
    return line


def _row(result: AllocatorResult, figure: Figure) -> list[Text]:
    """The name, the median, the ratio to glibc, its interval, and what that means."""
    name = Text(f"  {result.allocator.name}")
    if figure.key not in result.medians:
        missing = Text("failed" if result.failures else "not measured", style="red")
        return [name, missing, Text(""), Text(""), Text("")]
    median = Text(quantity(result.medians[figure.key], figure.unit))
    ratio = result.ratios.get(figure.key)
    if ratio is None:
        return [name, median, Text(""), Text(""), Text("")]
    verdict = Text(judgement(ratio, figure), style=STYLES[ratio.verdict])
    return [name, median, Text(times(ratio.value)), Text(interval(ratio), style="dim"), verdict]
