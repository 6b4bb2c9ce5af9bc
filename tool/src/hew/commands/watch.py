# SPDX-License-Identifier: MIT
"""`hew watch`: records samples of processes into a file of bounded size."""

import re
import signal
import threading
import time
from pathlib import Path

import click

from hew.commands.options import attach_option, told
from hew.model.errors import HewError
from hew.model.lazy_dataclass import dataclass
from hew.sources.attach.reading import TIMEOUT
from hew.sources.history.blocks import LineFile, older
from hew.sources.history.recording import line_of
from hew.sources.history.watching import Folder, OneProcess

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20}
FEWEST_BYTES = 64 << 10


def _bytes(_context: click.Context, parameter: click.Parameter, text: str) -> int:
    match = re.fullmatch(r"(\d+)([KM]?)", text.upper())
    if match is None or int(match[1]) * UNITS[match[2]] < FEWEST_BYTES:
        raise click.BadParameter(f"{text!r} is not a size of 64K or more, such as 4M", param=parameter)
    return int(match[1]) * UNITS[match[2]]


@click.command("watch")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    metavar="FILE",
    help="The recording; one that is there is continued.",
)
@click.option(
    "--every",
    "period",
    type=click.FloatRange(min=0.1),
    default=10.0,
    show_default=True,
    help="Seconds between samples.",
)
@click.option(
    "--max",
    "most",
    metavar="SIZE",
    default="8M",
    show_default=True,
    callback=_bytes,
    help="Bytes of FILE and its older half, FILE.1, together.",
)
@attach_option
@click.argument("place", metavar="PID|DIR")
def command(output: Path, period: float, most: int, attach: bool, place: str) -> None:
    """Record a process over time, a small sample at a time, until it or a signal ends the recording.

    PID is any process of yours. One on hew with a control socket, a Redis or one on jemalloc has statistics (see hew
    stats). Of others the kernel's figures and glibc's heap are recorded. DIR is a folder of control sockets: all
    processes with sockets there are recorded, as they come and go.

    `hew stats FILE`, `hew advise FILE` and `hew top --replay FILE` read the recording, also while it is written.
    """
    with told("hew watch"):
        looking = _looking(place, TIMEOUT if attach else None)
        file = LineFile(output, most, {"period": period})
        try:
            done = _record(looking, file, period, _ended_by_signals())
        finally:
            file.close()
        written = sum(one.stat().st_size for one in (output, older(output)) if one.exists())
        samples = f"{done.looks} sample{'' if done.looks == 1 else 's'}"
        click.echo(f"hew watch: {done.why}; {samples}, {written:,} bytes in {output}", err=True)


@dataclass
class _Done:
    looks: int = 0
    why: str = ""


@dataclass
class _Ended:
    """Whether a signal has come, and which."""

    event: threading.Event
    name: str = ""


def _ended_by_signals() -> _Ended:
    """SIGINT and SIGTERM end the work between two looks. Further ones are ignored (timeout(1) sends each twice): Python
    takes handlers away before it has ended."""
    ended = _Ended(threading.Event())
    both = (signal.SIGINT, signal.SIGTERM)

    def end(number: int, _frame: object) -> None:
        for one in both:
            signal.signal(one, signal.SIG_IGN)
        ended.name = signal.Signals(number).name
        ended.event.set()

    for number in both:
        signal.signal(number, end)
    return ended


def _looking(place: str, attach: float | None) -> OneProcess | Folder:
    if Path(place).is_dir():
        return Folder(Path(place))
    if not place.isdigit():
        raise HewError(f"{place} is neither a process id nor a folder of control sockets")
    return OneProcess(int(place), attach)


def _record(looking: OneProcess | Folder, file: LineFile, period: float, ended: _Ended) -> _Done:
    """Sample and write until no process is left. Samples that are late are skipped, not made up for."""
    done, due = _Done(), time.monotonic()
    while not ended.event.is_set():
        found = looking.look()
        for record in found:
            file.put(line_of(record))
        done.looks += len(found)
        if not found and isinstance(looking, OneProcess):
            done.why = "the process has ended"
            return done
        due = max(due + period, time.monotonic())
        ended.event.wait(due - time.monotonic())
    done.why = f"ended by {ended.name}"
    return done
