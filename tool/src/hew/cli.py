# SPDX-License-Identifier: MIT
"""The `hew` command line: names the commands and loads the one that is asked for.

A command's module is imported only when it runs, so `hew run` pays for no more than click. What an extra of the package
brings may be missing: the command that needs it says so in one line.
"""

import importlib
import sys
from typing import Any

import click

from hew.model.nearest import did_you_mean
from hew.sources.extras import lacking
from hew.sources.reader import quiet_without_reader

COMMANDS = {
    "advise": "Say what to change in an allocator's settings, with the numbers that say so.",
    "bench": "Measure a suite of workloads under every allocator found, or compare two saved runs.",
    "compare": "Measure a command under every allocator found on this machine.",
    "cut": "Find the size classes that waste least for a recorded program, and what they would save.",
    "ctl": "Read and change the allocator of a running process.",
    "completion": "Make bash, zsh or fish complete hew's commands and options.",
    "doctor": "Say which malloc a process really uses, and what is wrong with how it was set up.",
    "export": "Hand out metrics of all hew processes of this host: OpenMetrics, or remote write.",
    "fleet": "Rank the services of a fleet by the CPU and memory that they can get back.",
    "profile": "Show who allocated what is live: of a process, a command, or a heap profile.",
    "pools": "Propose pools for the sizes that a program was seen to use.",
    "record": "Record every allocation of a command into a trace.",
    "replay": "Run a trace's allocations again, under every allocator found.",
    "run": "Run a command under hew.",
    "search": "Search the settings, and the allocator, that suit a command best; verified by fresh runs.",
    "serve": "Show processes in a browser: where memory is, locks, sizes, advice; and /metrics, pprof.",
    "simulate": "Show what textbook policies would have made of a recorded program.",
    "top": "Show where the memory of running processes is, and how fast they allocate.",
    "stats": "Show the statistics that a program on jemalloc or hew wrote.",
    "watch": "Record a process's memory over time into a file of bounded size.",
}
REPLACED = {"tune": "search"}


class _Gone(click.ClickException):
    """A command that earlier versions had."""

    exit_code = 2

    def __init__(self, name: str, other: str) -> None:
        super().__init__(f"hew {name} is gone: use hew {other} (hew {other} --help)")


class LazyGroup(click.Group):
    """A group whose commands live in hew.commands.<name>, each as a click command called `command`."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return sorted(COMMANDS)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] in REPLACED:
            raise _Gone(args[0], REPLACED[args[0]])
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(f"No such command {args[0]!r}{did_you_mean(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        loaded = importlib.import_module(f"hew.commands.{cmd_name}").command
        assert isinstance(loaded, click.Command)  # noqa: S101 - a command module without a command is our own mistake
        return loaded

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        with quiet_without_reader():  # --help prints here
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with quiet_without_reader():
            try:
                return super().invoke(ctx)
            except ModuleNotFoundError as error:
                said = lacking(error.name or "")
                if said is None:
                    raise
                click.echo(f"hew {ctx.invoked_subcommand or ''}: {said}", err=True)
                sys.exit(1)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="hewmalloc", prog_name="hew")
def main() -> None:
    """hew: memory cut to fit. Runs programs under the hew allocator and measures what that changes."""
