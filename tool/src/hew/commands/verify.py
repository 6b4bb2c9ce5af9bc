# SPDX-License-Identifier: MIT
"""`hew advise --verify -- command`: one run for the statistics, then runs with and without the advice."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from hew.analysis.advice.hot_threads import served
from hew.analysis.advice.rules import advise
from hew.analysis.ratios import CONFIDENCE
from hew.analysis.schedule import rotated_schedule
from hew.analysis.verification import figures_of, outcomes, variants
from hew.commands.options import requested
from hew.model.advice import Advice, Case
from hew.model.allocator import Request
from hew.model.errors import HewError
from hew.model.known_allocators import CONF, GLIBC
from hew.model.run import CommandPlan, Run, Step
from hew.model.statistics import Snapshot
from hew.model.verification import Variant, Verification
from hew.sources.discovery import discover, usable_under
from hew.sources.environment import caller_environment
from hew.sources.executable import find_command
from hew.sources.experiment import run_schedule
from hew.sources.machine import describe_machine
from hew.sources.measure import Place, measure_command
from hew.sources.statistics_run import Observed, conf_variable, observe
from hew.views.progress import progress
from hew.views.table import results_console
from hew.views.verification import show_verification, verification_json


@dataclass(frozen=True)
class Asked:
    """What the user asked for."""

    words: tuple[str, ...]
    request: Request | None
    runs: int
    warmup: int
    timeout: float | None
    input_file: Path


def verify_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options of a verification, on the command that has it."""
    for option in reversed(
        (
            click.option(
                "--alloc",
                callback=_one_allocator,
                metavar="NAME[=PATH]",
                help="With --verify: run COMMAND under this allocator.  [default: as it is]",
            ),
            click.option(
                "--runs", type=click.IntRange(min=1), default=10, show_default=True, help="Rounds that count."
            ),
            click.option(
                "--warmup", type=click.IntRange(min=0), default=1, show_default=True, help="Rounds before those."
            ),
            click.option("--timeout", type=click.FloatRange(min=0, min_open=True), help="Seconds one run may take."),
            click.option(
                "--input",
                "input_file",
                type=click.Path(exists=True, dir_okay=False, path_type=Path),
                default=Path("/dev/null"),
                help="What COMMAND reads, anew in each run.  [default: nothing]",
            ),
        )
    ):
        command = option(command)
    return command


def _one_allocator(context: click.Context, parameter: click.Parameter, value: str | None) -> Request | None:
    return requested(context, parameter, (value,))[0] if value else None


def asked_for(words: tuple[str, ...], options: Mapping[str, Any]) -> Asked:
    """The options as `verify_options` has read them."""
    named = {name: options[name] for name in ("runs", "warmup", "timeout", "input_file")}
    return Asked(words, options["alloc"], **named)


def verify_command(asked: Asked, as_json: bool) -> None:
    """All of it, and print it."""
    result = verify(asked)
    if as_json:
        click.echo(verification_json(result))
    else:
        show_verification(result, results_console())


def verify(asked: Asked) -> Verification:
    """Look at one run, take the rules' advice, and measure the command with and without it."""
    place = place_of(asked)
    variable = conf_variable(asked.words, place)
    seen = observe(asked.words, place, variable, asked.timeout, asked.input_file)
    return measured(asked, place, seen)


def measured(asked: Asked, place: Place, seen: Observed, also: Sequence[Variant] = ()) -> Verification:
    """The rules' advice on what was seen, and the command with and without it; and `also` these ways to run it."""
    subject, advice = _advice(seen)
    variable = conf_variable(asked.words, place) or CONF
    found, notes = variants(advice, variable, place.environment)
    found += also
    started = datetime.now(UTC).isoformat(timespec="seconds")
    runs: list[Run] = []
    if len(found) > 1:
        steps = rotated_schedule([one.name for one in found], asked.runs, asked.warmup)
        with progress(len(steps)) as told:
            runs = run_schedule(steps, _measurer(asked, place, found), told)
    results = outcomes(found, runs)
    if runs and not results[0].good_runs:
        failure = results[0].failures[0].failure
        raise HewError(f"{asked.words[0]} fails without any advice: {failure.reason}\n{failure.stderr_tail}")
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
        unmeasured=tuple(one for one in advice if not one.settings),
        notes=tuple(notes),
    )


def place_of(asked: Asked) -> Place:
    """The command as it is, or under the allocator that was asked for."""
    environment = caller_environment()
    path = find_command(asked.words[0], environment)
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
            f"{name} has written no statistics at the command's end: --alloc jemalloc or --alloc hew shows it there"
        )
    return code.title, list(advise(Case(None, process, None)))


def _requests(snapshot: Snapshot) -> int:
    return served(snapshot.all_arenas) if snapshot.all_arenas else 0


def _measurer(asked: Asked, place: Place, found: Sequence[Variant]) -> Callable[[Step], Run]:
    plan = CommandPlan(asked.words, asked.input_file, asked.timeout)
    ways = {
        one.name: (
            replace(plan, command=(*plan.command, *one.words)),
            replace(place, environment={**place.environment, **one.changes}),
        )
        for one in found
    }
    return lambda step: measure_command(*ways[step.allocator], step)
