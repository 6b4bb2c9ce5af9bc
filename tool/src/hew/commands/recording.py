# SPDX-License-Identifier: MIT
"""`hew record PID`: a process that runs already."""

import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

from hew.sources.trace.attached import record_process
from hew.sources.trace.recorder import Recording
from hew.views.trace_text import recorded, what_to_replay


def process_of(words: Sequence[str]) -> int | None:
    """The process that a single number names."""
    return int(words[0]) if len(words) == 1 and words[0].isdecimal() and words[0].isascii() else None


def record_running(pid: int, recording: Recording, seconds: float | None) -> None:
    """Until the time is over, an interrupt, or the end of the process; then says what was recorded."""
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
