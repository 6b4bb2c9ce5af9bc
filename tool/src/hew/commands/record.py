# SPDX-License-Identifier: MIT
"""`hew record`: every allocation of a command, with its thread and its order, in a file."""

import os
import re
import signal
import sys
from collections.abc import Collection
from pathlib import Path

import click

from hew.commands.options import requested, told
from hew.model.allocator import Request
from hew.model.errors import HewError
from hew.sources.discovery import discover
from hew.sources.environment import caller_environment
from hew.sources.trace.recorder import Recording, files_of, finish, largest_first, record
from hew.views.trace_text import count, recorded, what_to_replay

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
LEAST = 1 << 20
SHOWN = 5


def _size(_context: click.Context, parameter: click.Parameter, text: str | None) -> int | None:
    if text is None:
        return None
    match = re.fullmatch(r"(\d{1,15})([KMGT]?)", text.upper())
    if match is None or int(match[1]) * UNITS[match[2]] < LEAST:
        raise click.BadParameter(f"{text!r} is not a size of 1M or more, such as 500M", param=parameter)
    return int(match[1]) * UNITS[match[2]]


@click.command("record", context_settings={"allow_interspersed_args": False})
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    metavar="FILE",
    help="The trace, of the process that allocated most; the others' are FILE.PID.",
)
@click.option(
    "--max", "most", callback=_size, metavar="SIZE", help="Bytes of each file before it is packed, such as 2G."
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
    type=click.IntRange(0, 1_000_000_000),
    default=0,
    metavar="N",
    help="Also the stack of one allocation of N.  [default: none]",
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
@click.argument("words", metavar="-- COMMAND [ARGUMENT]...", nargs=-1, required=True, type=click.UNPROCESSED)
def command(
    output: Path,
    most: int | None,
    threads: int,
    stacks: int,
    children: bool,
    requests: tuple[Request, ...],
    words: tuple[str, ...],
) -> None:
    """Record every allocation and free of COMMAND. Its exit status and its output pass through.

    Works over any allocator that COMMAND has. What was recorded is told on stderr at the end.
    """
    with told("hew record"):
        environment = caller_environment()
        library = _library(requests, environment)
        former = set(files_of(output)) if output.parent.is_dir() else set()
        status = record(words, Recording(output, most, threads, stacks, children, library), environment)
        _tell(output, former)
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


def _tell(output: Path, former: Collection[Path]) -> None:
    """Packs each new file and says what is in it; one that cannot be packed is left as it is."""
    found, failed = [], False
    for path in files_of(output):
        if path in former:
            continue
        try:
            found.append(finish(path))
        except (HewError, OSError) as error:
            failed = True
            click.echo(f"hew record: {error}", err=True)
    worth = [one for one in largest_first(found, output) if one.operations]
    for one in worth[:SHOWN]:
        click.echo(f"hew record: {recorded(one)}", err=True)
    if len(worth) > SHOWN:
        click.echo(f"hew record: {count(len(worth) - SHOWN, 'smaller trace')} beside it: {output}.PID", err=True)
    if not worth and not failed:
        click.echo(
            "hew record: nothing was recorded: the program is static, has a malloc of its own, or forbids preloading",
            err=True,
        )
    if worth:
        click.echo(f"hew record: to run it again under other allocators: {what_to_replay(worth[0])}", err=True)
