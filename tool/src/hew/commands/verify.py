# SPDX-License-Identifier: MIT
"""`hew advise --verify -- command`: one run for the statistics, then runs with and without the advice."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import click

from hew.analysis.advice.hot_threads import served
from hew.analysis.advice.rules import advise
from hew.analysis.ratios import CONFIDENCE
from hew.analysis.schedule import rotated_schedule
from hew.analysis.verification import figures_of, outcomes, variants
from hew.commands.measuring import find_client
from hew.commands.plan_options import PlanOptions
from hew.model.advice import Advice, Case
from hew.model.errors import HewError
from hew.model.known_allocators import CONF, GLIBC
from hew.model.run import Plan, Run, ServerPlan, Step
from hew.model.statistics import Snapshot
from hew.model.verification import Variant, Verification
from hew.sources.discovery import discover, usable_under
from hew.sources.environment import caller_environment
from hew.sources.executable import find_command
from hew.sources.experiment import run_schedule
from hew.sources.machine import describe_machine
from hew.sources.measure import Place
from hew.sources.server import measure_plan
from hew.sources.statistics_run import Observed, conf_variable, observe, observe_server
from hew.views.progress import progress
from hew.views.table import results_console
from hew.views.verification import show_verification, verification_json


def verify_command(asked: PlanOptions, as_json: bool) -> None:
    """All of it, and print it."""
    result = verify(asked)
    if as_json:
        click.echo(verification_json(result))
    else:
        show_verification(result, results_console())


def verify(asked: PlanOptions) -> Verification:
    """Look at one run, take the rules' advice, and measure the command with and without it."""
    place = place_of(asked)
    variable, plan = conf_variable(asked.subject, place), asked.plan
    if isinstance(plan, ServerPlan):
        find_client(plan, place.environment)
        seen = observe_server(plan, place, variable)
    else:
        seen = observe(asked.words, place, variable, asked.timeout, asked.input_file)
    return measured(asked, place, seen)


def measured(asked: PlanOptions, place: Place, seen: Observed, also: Sequence[Variant] = ()) -> Verification:
    """The rules' advice on what was seen, and the command with and without it; and `also` these ways to run it."""
    subject, advice = _advice(seen)
    variable = conf_variable(asked.subject, place) or CONF
    found, notes = variants(advice, variable, place.environment)
    found += also
    return measured_ways(asked, place, subject, found, [one for one in advice if not one.settings], notes)


def measured_ways(
    asked: PlanOptions,
    place: Place,
    subject: str,
    found: Sequence[Variant],
    unmeasured: Sequence[Advice] = (),
    notes: Sequence[str] = (),
) -> Verification:
    """The command in each of these ways, the first of which is as it is, interleaved."""
    started = datetime.now(UTC).isoformat(timespec="seconds")
    runs: list[Run] = []
    if len(found) > 1:
        steps = rotated_schedule([one.name for one in found], asked.runs, asked.warmup)
        with progress(len(steps)) as told:
            runs = run_schedule(steps, _measurer(asked, place, found), told)
    results = outcomes(found, runs)
    if runs and not results[0].good_runs:
        failure = results[0].failures[0].failure
        raise HewError(f"{asked.subject[0]} fails as it is: {failure.reason}\n{failure.stderr_tail}")
    return Verification(
        command=asked.words,
        subject=subject,
        runs=asked.runs,
        warmup=asked.warmup,
        started=started,
        machine=describe_machine(),
        confidence=CONFIDENCE,
        figures=figures_of(runs),
        outcomes=tuple(results) if runs else (),
        unmeasured=tuple(unmeasured),
        notes=tuple(notes),
        server=asked.server,
    )


def place_of(asked: PlanOptions) -> Place:
    """The command as it is, or under the allocator that was asked for."""
    environment = caller_environment()
    path = find_command(asked.subject[0], environment)
    if asked.request is None:
        return Place(None, environment)
    allocators, unusable = discover([asked.request], environment)
    usable, refused = usable_under(allocators, path, environment)
    if not usable:
        reasons = [one.reason for one in (*unusable, *refused)]
        raise HewError(f"{asked.request.name}: {'; '.join(reasons) or 'is what the command has by itself'}")
    return Place(usable[0].library, environment)


def _advice(seen: Observed) -> tuple[str, list[Advice]]:
    """What the rules say of the run: of its busiest report, or of what was seen from outside."""
    process = seen.process
    snapshot = max(seen.reading.snapshots, key=_requests, default=None)
    if snapshot is not None:
        limits = process.limits if process else None
        cpus = min(limits.cpus_of_group or limits.cpus_allowed, limits.cpus_allowed) if limits else None
        return snapshot.subject, list(advise(Case(snapshot, process, cpus)))
    code = process.provider.code if process and process.provider else None
    if process is None or code is None or code.kind != GLIBC:
        name = code.kind if code else "the command's malloc"
        raise HewError(
            f"{name} has written no statistics (a command must end by itself, a server on SIGTERM, as exit() does): "
            "--alloc hew or --alloc jemalloc shows it there"
        )
    return code.title, list(advise(Case(None, process, None)))


def _requests(snapshot: Snapshot) -> int:
    return served(snapshot.all_arenas) if snapshot.all_arenas else 0


def _measurer(asked: PlanOptions, place: Place, found: Sequence[Variant]) -> Callable[[Step], Run]:
    ways = {
        one.name: (_with(asked.plan, one.words), replace(place, environment={**place.environment, **one.changes}))
        for one in found
    }
    return lambda step: measure_plan(*ways[step.allocator], step)


def _with(plan: Plan, words: tuple[str, ...]) -> Plan:
    """More words behind those of what is measured."""
    if isinstance(plan, ServerPlan):
        return replace(plan, server=(*plan.server, *words))
    return replace(plan, command=(*plan.command, *words))
