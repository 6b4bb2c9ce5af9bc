# SPDX-License-Identifier: MIT
"""The steps of `hew record`: records a process that runs already, and reports what a recording has."""

import signal
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from hew.model.errors import HewError
from hew.sources.trace.attached import record_process
from hew.sources.trace.converting import convert
from hew.sources.trace.recorder import Recording, arranged, files_of, finish, others_of
from hew.sources.trace.running import writer_of
from hew.views.trace_text import count, recorded, still_written, what_to_replay

SHOWN = 5  # smaller traces that have a line


def process_of(words: Sequence[str]) -> int | None:
    """The process that a single number names."""
    return int(words[0]) if len(words) == 1 and words[0].isdecimal() and words[0].isascii() else None


def record_running(pid: int, recording: Recording, seconds: float | None) -> None:
    """Until the time is over, an interrupt, or the end of the process; then reports what was recorded."""
    if seconds is None:
        click.echo(f"hew record: process {pid}: Ctrl-C ends the recording", err=True)
    end = None if seconds is None else time.monotonic() + seconds
    with _until_a_signal() as over:

        def rest(most: float) -> bool:
            left = most if end is None else min(most, end - time.monotonic())
            return left > 0 and not over.wait(left)

        summary = record_process(pid, recording, rest)
    click.echo(f"hew record: {recorded(summary)}", err=True)
    click.echo("hew record: what the process made before is not in it", err=True)
    click.echo(f"hew record: to run it again: {what_to_replay(summary)}", err=True)


@contextmanager
def _until_a_signal() -> Iterator[threading.Event]:
    """SIGINT and SIGTERM end the recording, not us before it is packed."""
    over = threading.Event()
    both = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda *_: over.set()) for number in both}
    try:
        yield over
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def report_converted(source: Path, output: Path) -> None:
    """Makes the trace of another recorder's file and reports what is in it."""
    summary, unknown = convert(source, output)
    click.echo(f"hew record: {recorded(summary)}", err=True)
    if unknown:
        click.echo(f"hew record: {count(unknown, 'free')} of objects that are not in it: left out", err=True)
    click.echo(f"hew record: to run it again: {what_to_replay(summary)}", err=True)


def report_files(output: Path, former: Collection[Path]) -> None:
    """Packs each new file and reports what is in it; one that cannot be packed is left as it is."""
    found, failed, running = [], False, []
    for path in files_of(output):
        if path in former:
            continue
        try:
            if (pid := writer_of(path)) is not None:
                running.append((path, pid))
            else:
                found.append(finish(path))
        except (HewError, OSError) as error:
            failed = True
            click.echo(f"hew record: {error}", err=True)
    worth = [one for one in arranged(found, output) if one.operations]
    for one in worth[:SHOWN]:
        click.echo(f"hew record: {recorded(one)}", err=True)
    if len(worth) > SHOWN:
        click.echo(f"hew record: {count(len(worth) - SHOWN, 'smaller trace')} in {others_of(output)}", err=True)
    for path, pid in running:
        click.echo(f"hew record: {still_written(path, pid)}", err=True)
    if not worth and not failed and not running:
        click.echo(
            "hew record: nothing was recorded: the program allocates nothing, is static, has a malloc of its own, or "
            "forbids preloading",
            err=True,
        )
    if worth:
        click.echo(f"hew record: to run it again under other allocators: {what_to_replay(worth[0])}", err=True)
