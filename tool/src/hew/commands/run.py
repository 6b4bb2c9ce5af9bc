# SPDX-License-Identifier: MIT
"""`hew run`: becomes the command, with libhew.so preloaded.

It is an exec: the command keeps our process id, terminal, open files and parent, so that its exit status and the
signals that kill it are seen exactly as without us.
"""

import os
import signal
import sys
from pathlib import Path

import click

from hew.model.errors import CommandNotExecutableError, CommandNotFoundError, HewError
from hew.model.known_allocators import CONF, OWN_CONF
from hew.sources.environment import caller_environment, preload_entries, prepend_preload
from hew.sources.executable import find_command, preload_obstacle
from hew.sources.library import find_hew

SOCKET = "control:"
CONTROL = f"{SOCKET}auto"

# Python ignores these from its start, and an ignored signal stays ignored across exec.
IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)


@click.command("run", context_settings={"allow_interspersed_args": False})
@click.option("--conf", metavar="HEW_CONF", help="Settings for hew alone, added behind those already in HEW_CONF.")
@click.option("--lib", type=click.Path(path_type=Path), help="The libhew.so to use instead of the one that is found.")
@click.argument("words", metavar="-- COMMAND [ARGUMENT]...", nargs=-1, required=True, type=click.UNPROCESSED)
def command(conf: str | None, lib: Path | None, words: tuple[str, ...]) -> None:
    """Run COMMAND under hew. Its exit status, signals and terminal pass through."""
    try:
        become(words, conf, lib)
    except HewError as error:
        click.echo(f"hew run: {error}", err=True)
        sys.exit(error.exit_status)


def become(words: tuple[str, ...], conf: str | None, lib: Path | None) -> None:
    """Replace this process by the command. Returns only by raising."""
    environment = caller_environment()
    library = find_hew(lib, environment)
    path = find_command(words[0], environment)
    obstacle = preload_obstacle(path, library, environment)
    if obstacle:
        click.echo(f"hew run: warning: {obstacle}: it runs without hew", err=True)
    environment["LD_PRELOAD"] = prepend_preload(library, preload_entries(environment))
    # Not in MALLOC_CONF: a jemalloc that the program is linked with reads that, too, and would complain of what it does
    # not know.  First, so that whatever else is set wins; and HEW_CONF wins over MALLOC_CONF (docs/control.md).
    control = None if SOCKET in environment.get(CONF, "") else CONTROL
    settings = ",".join(filter(None, (control, environment.get(OWN_CONF), conf)))
    if settings:
        environment[OWN_CONF] = settings
    for number in IGNORED_BY_PYTHON:
        signal.signal(number, signal.SIG_DFL)
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execve(path, words, environment)  # noqa: S606
    except FileNotFoundError as error:  # a script whose interpreter is missing
        raise CommandNotFoundError(f"{path}: its interpreter is missing") from error
    except OSError as error:
        raise CommandNotExecutableError(f"{path}: {error.strerror}") from error
