# SPDX-License-Identifier: MIT
"""One measured run of one command under one allocator."""

import contextlib
import hashlib
import os
import signal
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

from hew.model.errors import HewError
from hew.model.figures import CPU, INSTRUCTIONS, PAGE_FAULTS, PEAK_RSS, RSS_SECONDS, WALL
from hew.model.lazy_dataclass import dataclass
from hew.model.run import CommandPlan, Failure, Metric, RssPoint, Run, Step
from hew.sources.client_output import read_client_output
from hew.sources.discovery import describe_status
from hew.sources.environment import preload_entries, prepend_preload
from hew.sources.instructions import Counter
from hew.sources.launcher import Ending, Streams, launch
from hew.sources.points import read_points
from hew.sources.processes import start_time
from hew.sources.sampler import Sampler

TAIL_BYTES = 2000
TAIL_LINES = 8
SUMMARY_BYTES = 1 << 16  # of a command's output, in which its own figures are looked for
FEWEST_POINTS = 5  # fewer readings say little of a run's memory over time


@dataclass(frozen=True)
class Place:
    """What a command is put under: an allocator's library, or what the program has by itself."""

    library: Path | None
    environment: Mapping[str, str]

    @property
    def preload(self) -> str | None:
        """The command's whole LD_PRELOAD."""
        existing = preload_entries(self.environment)
        if self.library is None:
            return ":".join(existing) or None
        return prepend_preload(self.library, existing)


@contextmanager
def captured(input_file: BinaryIO) -> Iterator[Streams]:
    """Streams whose output goes to nameless files, so that a command never waits for a reader."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        yield Streams(input_file, output, errors)


def measure_command(plan: CommandPlan, place: Place, step: Step) -> Run:
    """Run the command once to its end."""
    with (
        plan.input.open("rb") as input_file,
        captured(input_file) as streams,
        launch(plan.command, place.environment, place.preload, streams) as launched,
    ):
        sampler = Sampler(launched.pid, place.library)
        counter = Counter(launched.pid)
        try:
            launched.open_gate()
            sampler.start()
            ending = launched.wait(plan.timeout)
        finally:
            launched.end()
            sampler.stop()
            end_survivors(sampler)
            instructions = counter.close()
        failure = failure_of(ending, streams, plan.timeout, sampler)
        figures = {} if failure else figures_of(ending, sampler.points, instructions)
        if not failure and not plan.points:
            figures |= read_client_output(said(streams), plan.metrics)
            _check(plan.metrics, figures, streams)
        return Run(
            allocator=step.allocator,
            round=step.round,
            figures=figures,
            rss=tuple(sampler.points),
            output=None if plan.points or plan.metrics else digest(streams.output),  # its figures are in it
            failure=failure,
            own_allocators=sampler.foreign_allocators(),
            points=read_points(streams.output, streams.errors) if plan.points and not failure else (),
        )


def said(streams: Streams) -> str:
    """The end of what a command has written, on both streams: summaries stand there."""
    return "\n".join(_end_of(file, SUMMARY_BYTES) for file in (streams.output, streams.errors))


def _check(metrics: Sequence[Metric], figures: Mapping[str, float], streams: Streams) -> None:
    """A pattern that matches nothing is a mistake of ours or the user's, not a failed run."""
    for metric in metrics:
        if metric.key not in figures:
            raise HewError(f"--metric {metric.pattern!r} matches nothing that was printed:\n{tail(streams.output)}")


def figures_of(ending: Ending, points: Sequence[RssPoint], instructions: float | None) -> dict[str, float]:
    """What one good run gave; without those figures that it is too short for or that the machine does not count."""
    figures = {
        WALL.key: ending.wall,
        CPU.key: ending.cpu,
        PEAK_RSS.key: float(ending.peak_rss),
        PAGE_FAULTS.key: float(ending.page_faults),
    }
    if len(points) >= FEWEST_POINTS:
        figures[RSS_SECONDS.key] = byte_seconds(points)
    if instructions is not None:
        figures[INSTRUCTIONS.key] = instructions
    return figures


def byte_seconds(points: Sequence[RssPoint]) -> float:
    """The area under memory over time: what the memory would cost if it were rented."""
    return sum(
        (after.seconds - before.seconds) * (before.bytes + after.bytes) / 2 for before, after in pairwise(points)
    )


def failure_of(ending: Ending, streams: Streams, timeout: float | None, sampler: Sampler) -> Failure | None:
    """Why a run does not count, or None when it does."""
    if ending.timed_out:
        return Failure(f"did not end within {timeout:g} s", tail(streams.errors))
    if ending.status != 0:
        return Failure(describe_status(ending.status), tail(streams.errors))
    if sampler.misses_library():
        return Failure("the preloaded library is not in the process", tail(streams.errors))
    return None


def end_survivors(sampler: Sampler) -> None:
    """Kill the processes of a finished run that left its process group, and collect those we adopted."""
    for pid in sampler.survivors():
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            if start_time(pid) == sampler.seen[pid].started:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def digest(file: BinaryIO) -> str:
    """The SHA-256 of what was written to a file."""
    file.seek(0)
    found = hashlib.sha256()
    while block := file.read(1 << 20):
        found.update(block)
    return found.hexdigest()


def tail(file: BinaryIO) -> str:
    """The last lines that were written to a file."""
    return "\n".join(_end_of(file, TAIL_BYTES).strip().splitlines()[-TAIL_LINES:])


def _end_of(file: BinaryIO, most: int) -> str:
    """The last bytes of a file as text."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - most))
    return file.read().decode(errors="replace")
