# SPDX-License-Identifier: MIT
"""`hew advise`: what to change in an allocator's settings, with the numbers that say so."""

import sys
from dataclasses import replace
from typing import Any

import click

from hew.analysis.advice.over_time import advise_over_time
from hew.analysis.advice.rules import advise
from hew.analysis.coverage import coverage
from hew.analysis.growth import growth
from hew.analysis.series import last_of_each
from hew.commands.asked import asked_for, verify_options
from hew.commands.options import ProcessId, attach_option, told
from hew.commands.verify import verify_command
from hew.model.advice import Advice, Case
from hew.model.coverage import Coverage, Outcome
from hew.model.errors import HewError
from hew.model.growth import Growth
from hew.model.known_allocators import MUSL
from hew.model.process import ProcessFacts
from hew.model.statistics import Reading
from hew.sources.attach.reading import TIMEOUT
from hew.sources.glibc.heap import with_heap
from hew.sources.history.recording import recorded, told_last
from hew.sources.process_facts import read_process
from hew.sources.statistics.place import asked, process_named, read_place
from hew.views.advice_document import advice_json
from hew.views.advice_text import show_advice
from hew.views.coverage import show_coverage
from hew.views.growth_text import growth_json, show_growth
from hew.views.table import results_console, show_note

STATUS = {Outcome.WELL: 0, Outcome.ADVICE: 3, Outcome.NOT_SEEN: 4}


@click.command("advise")
@click.option("--process", "pid", type=ProcessId(), metavar="PID", help="The process that wrote FILE and still runs.")
@click.option("--cpus", type=click.FloatRange(min=0, min_open=True), help="CPUs it may use, if no process tells.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead.")
@click.option("--verify", is_flag=True, help="Run COMMAND and measure it with and without the advice.")
@attach_option
@verify_options
@click.argument("words", metavar="FILE|PID|- | --verify -- COMMAND [ARGUMENT]...", nargs=-1, required=True)
def command(
    pid: int | None,
    cpus: float | None,
    as_json: bool,
    verify: bool,
    attach: bool,
    words: tuple[str, ...],
    **options: Any,
) -> None:
    """Say what to change, from the statistics in FILE (see hew stats) or from a running process.

    FILE may be a recording of hew watch: the last statistics of each process are looked at, and how it grew.

    Each advice has its evidence and where that stands, the setting to try for this allocator and version, what it will
    do to CPU and memory, its risk, and how to verify it. It says what it looked at, and what it could not see.

    A process on hew that serves a control socket (hew run does) is asked for its statistics. Of one on glibc the heap
    is read from outside. One on jemalloc is attached to, as a debugger does, and stands still for some milliseconds
    while it writes its statistics.

    The status is 0 when all is well, 3 with advice, 4 when too little was seen to say either, 1 when there was nothing
    to read.

    With --verify COMMAND runs once for its statistics; then, interleaved, as it is, with each advice, with all of it.
    "No difference" is an answer. With --server it is the server that is looked at and measured, while COMMAND loads it
    (see hew compare).
    """
    if verify:
        with told("hew advise --verify", programs=True):
            verify_command(asked_for(words, options), as_json)
        return
    if options["server"] or options["ready"] or options["alloc"]:
        raise click.UsageError("--server, --ready and --alloc belong to --verify -- COMMAND")
    if len(words) != 1:
        raise click.UsageError("one FILE, PID or - is looked at; to run a command: --verify -- COMMAND")
    with told("hew advise"):
        sys.exit(STATUS[_advise(words[0], pid, cpus, as_json, (options["timeout"] or TIMEOUT) if attach else None)])


def _advise(place: str, pid: int | None, cpus: float | None, as_json: bool, attach: float | None) -> Outcome:
    """Look at one place, and say what is to be said."""
    pid = process_named(place) or pid
    process = read_process(pid) if pid is not None else None
    recording = recorded(place)
    reading, silence = told_last(recording) if recording is not None else _reading(place, process, attach)
    if process is not None and (reading is None or reading.attached):  # a jemalloc may be there beside glibc's
        process = with_heap(process)
    cases, notes = _cases(reading, process, cpus)
    tracks, more = (recording.tracks, recording.notes) if recording is not None else ((), ())
    grown, notes = [growth(track) for track in tracks], [*notes, *more]
    leaks = [advise_over_time(one, track.last) for one, track in zip(grown, tracks, strict=True)]
    found = [one for one in leaks if one is not None] + [one for case in cases for one in advise(case)]
    seen = coverage(cases, len(found), silence)
    if grown:
        watched = f"{sum(one.looks for one in grown)} looks of hew watch"
        seen = replace(seen, rules=seen.rules + 1, read=(*seen.read, watched))
    attached = [reading.attached] if reading is not None and reading.attached else []
    if as_json:
        click.echo(advice_json(place, found, attached + notes, seen, growth_json(grown)))
    else:
        _show(attached, found, notes, seen, grown)
    return seen.outcome


def _show(attached: list[str], found: list[Advice], notes: list[str], seen: Coverage, grown: list[Growth]) -> None:
    """On the terminal. That a process was stopped is said first."""
    console = results_console()
    for note in attached:
        show_note(note, console)
    show_growth(grown, (), console)
    show_advice(found, notes, console)
    show_coverage(seen, console)


def _reading(place: str, process: ProcessFacts | None, attach: float | None) -> tuple[Reading | None, str]:
    """The reports, if there are any, and why not. A process need not be able to report: its outside is looked at."""
    if process is None or process_named(place) is None:
        return read_place(place), ""
    try:
        return asked(process.pid, attach), ""
    except HewError as error:
        return None, _without_settings(process) or str(error)


def _without_settings(process: ProcessFacts) -> str:
    """Why MALLOC_CONF means nothing to a process, or nothing: it would be wrong advice to set it there."""
    runtimes = [code.runtime for code in (process.program, *process.others) if code is not None and code.runtime]
    if process.provider is not None and process.provider.code.kind == MUSL:
        return "musl's malloc keeps none, and reads no settings"
    if process.provider is None and any(one.startswith("Go") for one in runtimes):
        return "Go's heap is its own and reads no malloc's settings (GODEBUG=gctrace=1 tells of it)"
    return ""


def _cases(reading: Reading | None, process: ProcessFacts | None, cpus: float | None) -> tuple[list[Case], list[str]]:
    """What the rules look at, a case for each process, and what is to be said of the reports."""
    if process is not None and cpus is None:
        limits = process.limits
        cpus = min(limits.cpus_of_group or limits.cpus_allowed, limits.cpus_allowed)
    if reading is None:
        return [Case(None, process, cpus)], []
    snapshots, notes = last_of_each(reading.snapshots)
    beside = [Case(None, process, cpus)] if process is not None and process.heap is not None else []
    process = replace(process, heap=None, regions=()) if process is not None and beside else process
    cases = [Case(snapshot, process, cpus) for snapshot in snapshots]
    for case, snapshot in zip(cases, snapshots, strict=True):
        if not snapshot.whole or advise(case):
            notes += snapshot.notes
    return beside + cases, list(dict.fromkeys(notes))
