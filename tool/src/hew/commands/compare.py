# SPDX-License-Identifier: MIT
"""`hew compare`: a command, or a server under load, under every allocator found on this machine."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import click

from hew.analysis.choice import choice
from hew.analysis.schedule import rotated_schedule
from hew.analysis.summary import summarise
from hew.commands.measuring import find_client, measurer
from hew.commands.options import (
    allocators_option,
    check_server,
    metric_option,
    ready_option,
    server_option,
    told,
    writable,
)
from hew.model.allocator import Request
from hew.model.errors import HewError
from hew.model.report import Report, Setup
from hew.model.run import CommandPlan, Metric, Plan, ServerPlan
from hew.sources.discovery import discover, runs_today, true_baseline, usable_under, without_allocators
from hew.sources.environment import caller_environment
from hew.sources.executable import find_command
from hew.sources.experiment import run_schedule
from hew.sources.machine import describe_machine
from hew.sources.measure import Place
from hew.views.document import to_json
from hew.views.page import to_page
from hew.views.progress import progress
from hew.views.table import results_console, show_table


@click.command("compare", context_settings={"allow_interspersed_args": False})
@allocators_option
@click.option("--runs", type=click.IntRange(min=1), default=10, show_default=True, help="Rounds that count.")
@click.option("--warmup", type=click.IntRange(min=0), default=1, show_default=True, help="Rounds before those.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), help="Seconds one run may take.")
@click.option(
    "--input",
    "input_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    default=Path("/dev/null"),
    help="What the command reads, anew in each run.  [default: nothing]",
)
@server_option
@ready_option
@metric_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of the table.")
@click.option(
    "--html",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=writable,
    metavar="FILE",
    help="Also write a page with pictures.",
)
@click.argument("words", metavar="-- COMMAND [ARGUMENT]...", nargs=-1, required=True, type=click.UNPROCESSED)
def command(
    requests: tuple[Request, ...],
    runs: int,
    warmup: int,
    timeout: float | None,
    input_file: Path,
    server: tuple[str, ...] | None,
    ready: tuple[str, ...] | None,
    metrics: tuple[Metric, ...],
    as_json: bool,
    html: Path | None,
    words: tuple[str, ...],
) -> None:
    """Measure COMMAND under every allocator found: time, memory, page faults, against glibc.

    Runs are interleaved after a warm-up. With --server it is the server that runs under the allocators:

    \b
      hew compare --server 'redis-server --port {port} --save ""' \\
                  --ready 'redis-cli -p {port} ping' \\
                  -- redis-benchmark -p {port} -t set -n 100000 -r 100000 -d 16
    """
    check_server(server, ready)
    plan = (
        ServerPlan(server, ready, words, timeout, metrics)
        if server
        else CommandPlan(words, input_file, timeout, metrics=metrics)
    )
    with told("hew compare", programs=True):
        report = compare(plan, requests, runs, warmup)
        chosen = choice(report)
        if as_json:
            click.echo(to_json(report))
        elif not report.baseline.good_runs:
            raise HewError(_nothing_measured(report))
        else:
            show_table(report, chosen, results_console())
        if html:
            html.write_text(to_page(report, chosen), encoding="utf-8")
            click.echo(f"page: {html.absolute()}", err=as_json)
    if not report.baseline.good_runs:
        sys.exit(1)


def _nothing_measured(report: Report) -> str:
    """Why the command gave no figures even as it is, in one line."""
    words = report.setup.server or report.setup.command
    failure = report.baseline.failures[0].failure
    said = failure.stderr_tail.splitlines()[-1:]
    return ": ".join([words[0], failure.reason, *said]) + "; it has to succeed without a preload first"


def compare(
    plan: Plan, requests: Sequence[Request], runs: int, warmup: int, shown: tuple[str, ...] | None = None
) -> Report:
    """Find the allocators, run the schedule, and summarise. `shown` is the command as the user knows it, where that is
    another one than what runs."""
    environment, notes = without_allocators(caller_environment())
    measured = plan.server if isinstance(plan, ServerPlan) else plan.command
    path = find_command(measured[0], environment)
    find_client(plan, environment)
    found, unusable = discover(requests, environment)
    usable, refused = usable_under(found, path, environment)
    if not usable:
        reasons = "; ".join(f"{one.name}: {one.reason}" for one in (*unusable, *refused))
        raise HewError(f"nothing to compare glibc with: {reasons or 'no other allocator was asked for'}")
    baseline, note = true_baseline(path, environment)
    allocators = [baseline, *usable]
    if note:
        notes.append(note)
    started = datetime.now(UTC).isoformat(timespec="seconds")
    setup = Setup(
        shown or (plan.client if isinstance(plan, ServerPlan) else plan.command),
        plan.server if isinstance(plan, ServerPlan) else None,
        runs,
        warmup,
        started,
        describe_machine(),
    )
    steps = rotated_schedule([one.name for one in allocators], runs, warmup)
    with progress(len(steps)) as told:
        places = {one.name: Place(one.library, environment) for one in allocators}
        results = run_schedule(steps, measurer(plan, places), told)
    report = summarise(setup, allocators, [*unusable, *refused], results, notes)
    return replace(report, today=runs_today(path, caller_environment(), [one.name for one in allocators]))
