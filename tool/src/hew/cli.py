# SPDX-License-Identifier: MIT
"""The `hew` command line: lists the commands, and loads the one that the user names.

A command's module is imported only when it runs, so `hew run` imports no more than click. Packages of an extra may be
missing: the command that needs them then prints one line.
"""

import importlib
import sys
from typing import Any

import click

from hew.model.nearest import did_you_mean
from hew.sources.extras import lacking
from hew.sources.reader import quiet_without_reader

GROUPS = {
    "Run and compare": {
        "run": "Run a command under hew.",
        "compare": "Compare all allocators found here on a command: time and memory.",
        "bench": "Run a suite of workloads under all allocators.",
    },
    "Look": {
        "doctor": "Check which allocator a process uses, and how it is set up.",
        "top": "Watch memory and allocation rates of all processes live.",
        "stats": "Show the statistics of a process, a dump or a recording.",
        "profile": "Show which call stacks allocated the live memory.",
        "watch": "Record a process's memory over time into a file of bounded size.",
    },
    "Record and replay": {
        "record": "Record every allocation of a command into a trace.",
        "replay": "Run a trace's allocations again under all allocators.",
        "simulate": "Play a trace under textbook policies.",
        "cut": "Find the size classes that waste least for a trace.",
        "pools": "Propose pools for the sizes that a program uses.",
    },
    "Tune": {
        "advise": "Recommend settings, with the evidence.",
        "search": "Find the settings and the allocator that suit a command best.",
        "ctl": "Read and change the allocator of a running process.",
        "swap": "Change the allocator of a running process to hew.",
    },
    "Serve": {
        "serve": "Show processes in a browser.",
        "export": "Export metrics for every hew process on this host.",
        "fleet": "Rank the services of a fleet by what they can save.",
    },
    "Shell": {
        "completion": "Make bash, zsh or fish complete commands and options.",
    },
}
COMMANDS = {name: about for group in GROUPS.values() for name, about in group.items()}
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
        widest = max(len(name) for name in COMMANDS)
        for title, group in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(widest), about) for name, about in group.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="hewmalloc", prog_name="hew")
def main() -> None:
    """Run programs under the allocator hew, and find out where the memory of any process goes.

    Works with hew, jemalloc and glibc. `hew COMMAND --help` explains a command.
    """
