# SPDX-License-Identifier: MIT
"""`hew bench`: a suite of workloads under every allocator found on this machine, or two saved runs of one."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from hew.analysis.bench import setup_of, summarise_bench, summarise_workload
from hew.analysis.schedule import rotated_schedule
from hew.analysis.versus import changes
from hew.commands.estimate import estimate
from hew.commands.options import allocators_option, told, writable
from hew.model.allocator import Allocator, Request, Unusable
from hew.model.bench import SUBJECT, BenchReport, Suite, Workload, WorkloadResult
from hew.model.errors import HewError
from hew.model.figures import CPU, PEAK_RSS, WALL
from hew.model.report import Setup
from hew.model.run import Run, ServerPlan, Step
from hew.sources.discovery import discover, true_baseline, usable_under, without_allocators
from hew.sources.environment import caller_environment
from hew.sources.executable import find_command
from hew.sources.experiment import run_schedule
from hew.sources.machine import describe_machine
from hew.sources.measure import Place
from hew.sources.suites import default_table, read_suite
from hew.sources.versions import versions_of
from hew.sources.workloads import measure_workload
from hew.views.bench_document import FORMAT, bench_json, changes_json
from hew.views.bench_page import bench_page
from hew.views.bench_table import PIPED_WIDTH, show_bench, show_changes
from hew.views.progress import progress
from hew.views.table import results_console

FILE = click.Path(dir_okay=False, path_type=Path)
SAVED = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("bench")
@click.option("--suite", "suite_name", default="quick", show_default=True, help="Which set of workloads.")
@click.option("--suites", "table", type=SAVED, metavar="FILE", help="The table of suites.  [default: the checkout's]")
@click.option("--only", multiple=True, metavar="WORKLOAD", help="Only this workload of the suite; may be repeated.")
@allocators_option
@click.option("--runs", type=click.IntRange(min=1), help="Rounds that count.  [default: the suite's]")
@click.option("--estimate", "only_estimate", is_flag=True, help="Run each workload once; print how long it all takes.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of the tables.")
@click.option("--html", type=FILE, callback=writable, metavar="FILE", help="Also write a page with pictures.")
@click.option("--save", type=FILE, callback=writable, metavar="FILE", help="Also write the JSON, for --compare.")
@click.option("--compare", "saved", type=SAVED, nargs=2, metavar="BEFORE AFTER", help="Measure nothing; compare these.")
def command(
    suite_name: str,
    table: Path | None,
    only: tuple[str, ...],
    requests: tuple[Request, ...],
    runs: int | None,
    only_estimate: bool,
    as_json: bool,
    html: Path | None,
    save: Path | None,
    saved: tuple[Path, Path] | None,
) -> None:
    """Measure a suite of workloads under every allocator found: time, memory, page faults, curves by size.

    Rounds are interleaved, workload by workload. Ratios are to glibc and to the best peer of each workload. Ctrl-C or
    SIGTERM ends it with what was measured by then.
    """
    with told("hew bench", programs=True):
        if saved:
            compare(saved, requests[0].name if requests else SUBJECT, as_json)
            return
        if only_estimate:
            environment, _ = without_allocators(caller_environment())
            suite = _chosen(read_suite(table or default_table(), suite_name, environment), only, runs)
            estimate(suite, len(_allocators(requests, environment)[0]), environment)
            return
        report = bench(table or default_table(), suite_name, requests, only, runs)
        if as_json:
            click.echo(bench_json(report))
        else:
            show_bench(report, results_console(PIPED_WIDTH))
        for file, written in ((save, bench_json), (html, bench_page)):
            if file:
                file.write_text(written(report) + "\n", encoding="utf-8")
                click.echo(f"written: {file.absolute()}", err=as_json)
        if report.interrupted:
            raise KeyboardInterrupt


def compare(saved: tuple[Path, Path], allocator: str, as_json: bool) -> None:
    """Print what has changed between two saved runs."""
    before, after = (_read(path) for path in saved)
    found = changes(before, after, allocator, [WALL.key, CPU.key, PEAK_RSS.key])
    if not found:
        raise HewError(f"{saved[0]} and {saved[1]} have no workload with {allocator} in common")
    if as_json:
        click.echo(changes_json(allocator, found))
    else:
        show_changes(allocator, found, results_console(PIPED_WIDTH))


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        found = None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise HewError(f"{path} was not saved by hew bench")
    return found


def bench(table: Path, name: str, requests: Sequence[Request], only: Sequence[str], runs: int | None) -> BenchReport:
    """Find the allocators, run each workload's schedule, and summarise."""
    environment, notes = without_allocators(caller_environment())
    suite = _chosen(read_suite(table, name, environment), only, runs)
    allocators, unusable = _allocators(requests, environment)
    began = time.monotonic()
    setup = Setup((), None, runs or 0, 0, datetime.now(UTC).isoformat(timespec="seconds"), describe_machine())
    total = sum((one.runs + one.warmup) * len(allocators) for one in suite.workloads)
    results: list[tuple[WorkloadResult, Sequence[Run]]] = []
    with progress(total) as told:
        for workload in suite.workloads:
            try:
                made = _measure(
                    workload, allocators, environment, lambda step, done, of=workload: told(_named(step, of), done)
                )
            except KeyboardInterrupt:
                if not results:
                    raise
                notes = [*notes, f"interrupted: {len(results)} of {len(suite.workloads)} workloads were measured"]
                break  # an hour's work is not thrown away for its last minutes
            result = summarise_workload(workload, setup_of(workload, setup), allocators, made, suite.slow_peers)
            results.append((result, made))
    report = summarise_bench(suite, setup, allocators, results, notes)
    return replace(
        report,
        unusable=(*unusable, *report.unusable),
        versions=versions_of(allocators, setup.machine.libc),
        seconds=time.monotonic() - began,
        interrupted=len(results) < len(suite.workloads),
    )


def _allocators(requests: Sequence[Request], environment: Mapping[str, str]) -> tuple[list[Allocator], list[Unusable]]:
    """glibc, hew and the peers that can be used here, in this order; and those that cannot."""
    found, unusable = discover(requests, environment)
    usable, refused = usable_under(found, find_command("sh", environment), environment)
    return [found[0], *sorted(usable, key=lambda one: one.name != SUBJECT)], [*unusable, *refused]


def _chosen(suite: Suite, only: Sequence[str], runs: int | None) -> Suite:
    unknown = set(only) - {one.name for one in suite.workloads}
    if unknown:
        raise HewError(f"suite {suite.name} cannot run {', '.join(sorted(unknown))} here")
    chosen = [one for one in suite.workloads if not only or one.name in only]
    if not chosen:
        raise HewError(f"suite {suite.name} has no workload that can run here: is everything built?")
    return replace(suite, workloads=tuple(replace(one, runs=runs or one.runs) for one in chosen))


def _measure(
    workload: Workload, allocators: Sequence[Allocator], environment: Mapping[str, str], told: Any
) -> list[Run]:
    """Every run of one workload."""
    plan = workload.plan
    words = plan.server if isinstance(plan, ServerPlan) else plan.command
    baseline, _ = true_baseline(find_command(words[0], environment), environment)
    places = {one.name: Place(one.library, environment) for one in [baseline, *allocators[1:]]}
    steps = rotated_schedule([one.name for one in allocators], workload.runs, workload.warmup)
    return run_schedule(steps, lambda step: measure_workload(workload, places[step.allocator], step), told)


def _named(step: Step, workload: Workload) -> Step:
    """The step as the progress bar tells of it."""
    return replace(step, allocator=f"{workload.name}, {step.allocator}")
