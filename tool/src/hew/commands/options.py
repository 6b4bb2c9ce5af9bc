# SPDX-License-Identifier: MIT
"""Options that several commands share, and their ways out."""

import os
import re
import shlex
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from hew.model.allocator import Request
from hew.model.errors import HewError
from hew.model.run import PORT, Metric
from hew.sources.discovery import known_names
from hew.sources.reader import reader_has_gone

# By exit status, as a shell tells of a command that a signal has ended.
STOPPED = {128 + signal.SIGINT: "interrupted", 128 + signal.SIGTERM: "terminated"}


@contextmanager
def told(command: str, programs: bool = False) -> Iterator[None]:
    """End with one line and a status of its own when something goes wrong.

    A command that starts `programs` ends them on SIGTERM as it does on an interrupt.
    """
    status = 128 + signal.SIGINT

    def terminate(number: int, _frame: object) -> None:
        nonlocal status
        signal.signal(number, signal.SIG_IGN)  # timeout(1) sends it twice; the first is being obeyed
        status = 128 + number
        raise KeyboardInterrupt

    if programs:
        signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    except HewError as error:
        click.echo(f"{command}: {error}", err=True)
        sys.exit(error.exit_status)
    except BrokenPipeError as error:
        if reader_has_gone():
            raise  # cli.py ends quietly
        click.echo(f"{command}: {error.strerror}", err=True)
        sys.exit(1)
    except OSError as error:
        click.echo(": ".join(filter(None, (command, error.filename, error.strerror or str(error)))), err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        click.echo(f"{command}: {STOPPED[status]}", err=True)
        sys.exit(status)


def attach_option(command: Callable[..., None]) -> Callable[..., None]:
    """`--no-attach`, of the commands that may stop a process for a moment."""
    words = "Whether a process on jemalloc is stopped for some milliseconds, to write its statistics."
    return click.option("--attach/--no-attach", default=True, show_default=True, help=words)(command)


def requested(_context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> tuple[Request, ...]:
    """`--alloc NAME[=PATH]`, as often as given."""
    found = []
    for value in values:
        name, _, path = value.partition("=")
        if not path and name not in known_names():
            known = ", ".join(known_names())
            raise click.BadParameter(f"{name!r} is not one of {known}; give its library: {name}=PATH")
        found.append(Request(name, Path(path) if path else None))
    return tuple(found)


allocators_option = click.option(
    "--alloc",
    "requests",
    multiple=True,
    callback=requested,
    metavar="NAME[=PATH]",
    help="Only this allocator besides glibc; may be repeated. Default: every one found.",
)


def _words(_context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    if value is None:
        return None
    try:
        return tuple(shlex.split(value)) or None
    except ValueError as error:
        raise click.BadParameter(str(error), param=parameter) from error


server_option = click.option(
    "--server",
    callback=_words,
    metavar="COMMAND",
    help="Measure this server while the command loads it; {port} stands for a free port.",
)
ready_option = click.option(
    "--ready",
    callback=_words,
    metavar="COMMAND",
    help="Succeeds once the server is ready.  [default: the port accepts a connection]",
)


def check_server(server: tuple[str, ...] | None, ready: tuple[str, ...] | None) -> None:
    """Refuse what cannot be meant."""
    if ready and not server:
        raise click.UsageError("--ready needs --server")
    if server and not ready and not any(PORT in word for word in server):
        raise click.UsageError("--server without {port} needs --ready")


def _metrics(_context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[Metric, ...]:
    """`[less:|more:]PATTERN`, as often as given."""
    found = []
    for value in values:
        direction, colon, pattern = value.partition(":")
        named = bool(colon) and direction in {"less", "more"}
        pattern = pattern if named else value
        try:
            groups = re.compile(pattern).groups
        except re.error as error:
            raise click.BadParameter(f"{pattern!r}: {error}", param=parameter) from error
        if groups != 1:
            raise click.BadParameter(f"{pattern!r} needs one group around the number, as in 'ops/s ([0-9.]+)'")
        label = re.sub(r"\\.|[()\[\]^$*+?|]", " ", re.sub(r"\([^)]*\)", "", pattern))
        found.append(Metric(" ".join(label.split()) or pattern, pattern, not (named and direction == "less")))
    return tuple(found)


metric_option = click.option(
    "--metric",
    "metrics",
    multiple=True,
    callback=_metrics,
    metavar="[less:]PATTERN",
    help="A number that COMMAND prints, as a regular expression with one group; more is better unless less: is "
    "written before it. wrk, memtier, sysbench, pgbench, hey and redis-benchmark are read without it.",
)


class ProcessId(click.ParamType[int]):
    """A process id."""

    name = "pid"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> int:
        """The number; a usage error for what is none."""
        if isinstance(value, int):
            return value
        if not str(value).isdecimal() or int(value) < 1:
            self.fail(f"{value!r} is no process id: pidof NAME finds one", parameter, context)
        return int(value)


def writable(_context: click.Context, _parameter: click.Parameter, path: Path | None) -> Path | None:
    """Refuse a place that cannot be written before the runs, not after them."""
    if path is not None and not os.access(path if path.exists() else path.parent, os.W_OK):
        raise click.BadParameter(f"{path} cannot be written")
    return path
