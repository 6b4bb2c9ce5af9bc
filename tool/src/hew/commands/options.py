# SPDX-License-Identifier: MIT
"""Options that several commands share, and their ways out."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from hew.model.allocator import Request
from hew.model.errors import HewError
from hew.sources.discovery import known_names

INTERRUPTED = 130


@contextmanager
def told(command: str) -> Iterator[None]:
    """End with one line and a status of its own when something goes wrong."""
    try:
        yield
    except HewError as error:
        click.echo(f"{command}: {error}", err=True)
        sys.exit(error.exit_status)
    except OSError as error:
        click.echo(f"{command}: {error.filename or ''}: {error.strerror}", err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        click.echo(f"{command}: interrupted", err=True)
        sys.exit(INTERRUPTED)


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


def writable(_context: click.Context, _parameter: click.Parameter, path: Path | None) -> Path | None:
    """Refuse a place that cannot be written before the runs, not after them."""
    if path is not None and not os.access(path if path.exists() else path.parent, os.W_OK):
        raise click.BadParameter(f"{path} cannot be written")
    return path
