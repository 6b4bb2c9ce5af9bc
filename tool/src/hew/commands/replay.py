# SPDX-License-Identifier: MIT
"""`hew replay`: the operations of a trace again, under every allocator found."""

import os
import sys
from pathlib import Path

import click

from hew.analysis.choice import choice
from hew.commands.compare import compare
from hew.commands.options import allocators_option, told, writable
from hew.model.allocator import Request
from hew.model.errors import HewError
from hew.model.quantity import size
from hew.model.run import CommandPlan, Metric
from hew.sources.library import find_part
from hew.sources.trace.planning import planned
from hew.sources.trace.recorder import PROGRAM
from hew.views.document import to_json
from hew.views.page import to_page
from hew.views.table import results_console, show_table
from hew.views.trace_text import planned_text

METRICS = (
    Metric("operations/s", r"operations/s ([0-9.]+)"),
    Metric("peak heap, bytes", r"peak heap ([0-9]+)", more_is_better=False),
    Metric("heap over the trace's time, byte-seconds", r"heap byte-seconds ([0-9]+)", more_is_better=False),
)


@click.command("replay")
@allocators_option
@click.option("--runs", type=click.IntRange(min=1), default=6, show_default=True, help="Rounds that count.")
@click.option("--warmup", type=click.IntRange(min=0), default=1, show_default=True, help="Rounds before those.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), help="Seconds one run may take.")
@click.option(
    "--touch",
    type=click.Choice(["none", "first", "recorded", "pages", "all"]),
    default="recorded",
    show_default=True,
    help="What is written of each new object: nothing, its first byte, a byte of as many pages as in the recorded "
    "run, of each page, every byte.",
)
@click.option("--real-time", is_flag=True, help="At the pace of the recording instead of as fast as it goes.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of the table.")
@click.option(
    "--html",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=writable,
    metavar="FILE",
    help="Also write a page with pictures.",
)
@click.argument("trace", type=click.Path(path_type=Path))
def command(
    requests: tuple[Request, ...],
    runs: int,
    warmup: int,
    timeout: float | None,
    touch: str,
    real_time: bool,
    as_json: bool,
    html: Path | None,
    trace: Path,
) -> None:
    """Run the operations of TRACE, of `hew record`, under every allocator found, against glibc.

    The same threads do the same operations; what one thread hands to another is freed by that one.
    """
    with told("hew replay", programs=True), planned(trace) as (plan, counted):
        for line in planned_text(str(trace), counted):
            click.echo(line, err=True)
        if not counted.operations:
            raise HewError(f"{trace}: there is no operation in it")
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        if touch in {"recorded", "pages", "all"} and counted.live_bytes > there:
            raise HewError(f"{size(counted.live_bytes)} live at once, and the machine has {size(there)}: --touch first")
        words = (str(find_part(PROGRAM)), "run", str(plan), touch, "real" if real_time else "fast")
        what = CommandPlan(words, Path("/dev/null"), timeout, metrics=METRICS)
        report = compare(what, requests, runs, warmup, ("hew", "replay", str(trace)))
        chosen = choice(report)
        if as_json:
            click.echo(to_json(report))
        elif report.baseline.good_runs:
            show_table(report, chosen, results_console())
        else:
            raise HewError(f"{PROGRAM}: {report.baseline.failures[0].failure.reason} under glibc")
        if html:
            html.write_text(to_page(report, chosen), encoding="utf-8")
            click.echo(f"page: {html.absolute()}", err=as_json)
    if not report.baseline.good_runs:
        sys.exit(1)
