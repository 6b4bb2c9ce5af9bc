# SPDX-License-Identifier: MIT
"""`hew advise`: what to change in an allocator's settings, with the numbers that say so."""

import sys
from pathlib import Path
from typing import Any

import click

from hew.analysis.growth import growth
from hew.commands.advising import Advised, advised_of, over_time_of
from hew.commands.options import ProcessId, attach_option, told
from hew.commands.plan_options import asked_for, verify_options
from hew.commands.verify import verify_command
from hew.model.coverage import Outcome
from hew.model.growth import Growth
from hew.model.simulation import Sizes
from hew.sources.attach.reading import TIMEOUT
from hew.sources.history.recording import recorded
from hew.sources.process_facts import read_process
from hew.sources.simulation import sizes_of
from hew.sources.statistics.place import process_named
from hew.sources.trace.attached import sizes_asked_for
from hew.views.advice_document import advice_document, advice_json
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
@click.option(
    "--record",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Record what process PID on hew asks for, so long (see hew record): it tells internal fragmentation.",
)
@click.option(
    "--trace",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="TRACE",
    help="A trace of the same program (hew record): it tells internal fragmentation.",
)
@attach_option
@verify_options
@click.argument("words", metavar="FILE|PID|- | --verify -- COMMAND [ARGUMENT]...", nargs=-1, required=True)
def command(
    pid: int | None,
    cpus: float | None,
    as_json: bool,
    verify: bool,
    record: float | None,
    trace: Path | None,
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
        if record is not None or trace is not None:
            raise click.UsageError("--record and --trace are for a PID or FILE, not for --verify")
        with told("hew advise --verify", programs=True):
            verify_command(asked_for(words, options), as_json)
        return
    if options["server"] or options["ready"] or options["alloc"]:
        raise click.UsageError("--server, --ready and --alloc belong to --verify -- COMMAND")
    if len(words) != 1:
        raise click.UsageError("one FILE, PID or - is looked at; to run a command: --verify -- COMMAND")
    if record is not None and (trace is not None or process_named(words[0]) is None):
        raise click.UsageError("--record is for a PID, and stands in for --trace")
    with told("hew advise", programs=record is not None):  # SIGTERM ends the recording, too
        sizes = sizes_of(trace) if trace else sizes_asked_for(int(words[0]), record) if record else None
        attached = (options["timeout"] or TIMEOUT) if attach else None
        sys.exit(STATUS[_advise(words[0], pid, cpus, as_json, attached, sizes)])


def _advise(
    place: str, pid: int | None, cpus: float | None, as_json: bool, attach: float | None, sizes: Sizes | None
) -> Outcome:
    """Examine one process or file, and print the advice for it."""
    pid = process_named(place) or pid
    process = read_process(pid) if pid is not None else None
    recording = recorded(place)
    grown = [growth(track) for track in recording.tracks] if recording is not None else []
    if recording is not None:
        advised = over_time_of(recording, grown, process, cpus)
    else:
        advised = advised_of(place, process, attach, cpus, sizes)
    if as_json:
        notes = advised.attached + advised.notes
        document = advice_document(place, advised.found, notes, advised.seen)
        click.echo(advice_json(document, growth_json(grown)))
    else:
        _show(advised, grown)
    return advised.seen.outcome


def _show(advised: Advised, grown: list[Growth]) -> None:
    """On the terminal. That a process was stopped is said first."""
    console = results_console()
    for note in advised.attached:
        show_note(note, console)
    show_growth(grown, (), console)
    show_advice(advised.found, advised.notes, console)
    show_coverage(advised.seen, console)
