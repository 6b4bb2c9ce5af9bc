# SPDX-License-Identifier: MIT
"""`hew record`: every allocation of a command, with its thread and its order, in a file."""

import os
import re
import signal
import sys
from pathlib import Path

import click

from hew.commands.options import requested, told
from hew.commands.recording import process_of, record_running, report_converted, report_files
from hew.model.allocator import Request
from hew.model.errors import HewError
from hew.sources.discovery import discover
from hew.sources.environment import caller_environment
from hew.sources.trace.recorder import Recording, files_of, record

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
LEAST = 1 << 20
MOST_SAMPLE = 1 << 30


def _bytes(text: str, least: int) -> int | None:
    """A size with its unit; None: it is none, or less than that."""
    match = re.fullmatch(r"(\d{1,15})([KMGT]?)", text.upper())
    size = 0 if match is None else int(match[1]) * UNITS[match[2]]
    return size if size >= least else None


def _most(_context: click.Context, parameter: click.Parameter, text: str | None) -> int | None:
    if text is None:
        return None
    if (size := _bytes(text, LEAST)) is None:
        raise click.BadParameter(f"{text!r} is not a size of 1M or more, such as 500M", param=parameter)
    return size


def _sample(_context: click.Context, parameter: click.Parameter, text: str | None) -> int:
    if text is None:
        return 0
    if (size := _bytes(text, 1)) is None or size > MOST_SAMPLE:
        raise click.BadParameter(f"{text!r} is not a size from 1 to 1G, such as 512K", param=parameter)
    return size


def _stacks(_context: click.Context, parameter: click.Parameter, text: str) -> int:
    if text == "all":
        return 1
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise click.BadParameter(f"{text!r} is neither all nor a number", param=parameter)
    return int(text)


class _Words(click.Command):
    """Options end where a COMMAND begins; behind a PID there may be more of them."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Move a PID with words behind it to the end."""
        words = self.make_parser(context).parse_args(list(args))[0].get("words")
        if (
            isinstance(words, (list, tuple))
            and len(words) > 1
            and "--" not in args
            and process_of(words[:1]) is not None
        ):
            args = [*args[: len(args) - len(words)], *words[1:], words[0]]
        return super().parse_args(context, args)


@click.command("record", cls=_Words, context_settings={"allow_interspersed_args": False})
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    metavar="FILE",
    help="The trace, of the process with most operations; those of others go to the folder FILE.others.",
)
@click.option(
    "--max", "most", callback=_most, metavar="SIZE", help="Bytes of each file before it is packed, such as 2G."
)
@click.option(
    "--threads",
    type=click.IntRange(1, 1_000_000),
    default=1,
    metavar="N",
    help="Record the objects of one thread of N.  [default: of each]",
)
@click.option(
    "--stacks",
    callback=_stacks,
    default="0",
    metavar="all|N",
    help="Also the stack of each allocation, or of one of N.  [default: none]",
)
@click.option(
    "--sample",
    callback=_sample,
    metavar="BYTES",
    help="Record only allocations with a sampled byte, one of BYTES such as 512K, with their stacks.",
)
@click.option(
    "--children/--no-children", default=True, show_default=True, help="Whether children write files of their own."
)
@click.option(
    "--alloc",
    "requests",
    multiple=True,
    callback=requested,
    metavar="NAME[=PATH]",
    help="Run under this allocator.  [default: the one that the command has]",
)
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Run nothing: make the trace of what heaptrack or mtrace recorded, or pack one of a process that ran on.",
)
@click.option(
    "--seconds", type=click.FloatRange(min=0, min_open=True), help="With PID: how long.  [default: until Ctrl-C]"
)
@click.argument("words", metavar="PID | -- COMMAND [ARGUMENT]...", nargs=-1, type=click.UNPROCESSED)
def command(
    output: Path,
    most: int | None,
    threads: int,
    stacks: int,
    sample: int,
    children: bool,
    requests: tuple[Request, ...],
    source: Path | None,
    seconds: float | None,
    words: tuple[str, ...],
) -> None:
    """Record every allocation and free of COMMAND, or of process PID on hew with a control socket from now on.

    The exit status and the output of COMMAND pass through. Works over any allocator that COMMAND has. A process goes
    on as it was when the recording ends. A summary is printed to stderr at the end.
    """
    if bool(words) == (source is not None):
        raise click.UsageError("give a COMMAND or a PID to record, or --from FILE")
    if source is not None:
        with told("hew record", programs=True):
            report_converted(source, output)
        return
    pid = process_of(words)
    if sample and stacks > 1:
        raise click.UsageError("--sample has the stack of every allocation in it: leave out --stacks")
    stacks = 1 if sample else stacks
    if seconds is not None and pid is None:
        raise click.UsageError("--seconds is for a PID")
    if requests and pid is not None:
        raise click.UsageError("--alloc is for a COMMAND: a process that runs has its allocator")
    if pid is not None:
        with told("hew record"):
            record_running(pid, Recording(output, most, threads, stacks, False, None, sample), seconds)
        return
    with told("hew record"):
        environment = caller_environment()
        library = _library(requests, environment)
        former = set(files_of(output)) if output.parent.is_dir() else set()
        status = record(words, Recording(output, most, threads, stacks, children, library, sample), environment)
        report_files(output, former)
    if status < 0:
        signal.signal(-status, signal.SIG_DFL) if -status not in (signal.SIGKILL, signal.SIGSTOP) else None
        os.kill(os.getpid(), -status)
    sys.exit(status)


def _library(requests: tuple[Request, ...], environment: dict[str, str]) -> Path | None:
    """The allocator that was asked for."""
    if len(requests) > 1:
        raise HewError("--alloc: one allocator at a time is recorded")
    found, unusable = discover(requests, environment) if requests else ([], [])
    if unusable:
        raise HewError(f"--alloc {unusable[0].name}: {unusable[0].reason}")
    return next((one.library for one in found if one.library is not None), None)
