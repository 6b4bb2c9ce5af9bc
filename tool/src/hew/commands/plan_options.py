# SPDX-License-Identifier: MIT
"""The options of `hew advise --verify` and `hew search`: what is run, under which allocator, and how often."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from hew.commands.options import check_server, metric_option, ready_option, requested, server_option
from hew.model.allocator import Request
from hew.model.lazy_dataclass import dataclass
from hew.model.run import CommandPlan, Metric, Plan, ServerPlan


@dataclass(frozen=True)
class PlanOptions:
    """Their values."""

    words: tuple[str, ...]
    request: Request | None
    runs: int
    warmup: int
    timeout: float | None
    input_file: Path
    server: tuple[str, ...] | None = None
    ready: tuple[str, ...] | None = None
    metrics: tuple[Metric, ...] = ()

    @property
    def subject(self) -> tuple[str, ...]:
        """What is run under the allocator: the command, or the server that it loads."""
        return self.server or self.words

    @property
    def plan(self) -> Plan:
        """How it is run."""
        if self.server:
            return ServerPlan(self.server, self.ready, self.words, self.timeout, self.metrics)
        return CommandPlan(self.words, self.input_file, self.timeout, metrics=self.metrics)


def verify_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options of a verification, on the command that has it."""
    alloc = "With --verify: run COMMAND under this allocator.  [default: as it is]"
    timeout = "Seconds one run may take; without --verify: to look for a moment to attach.  [default: 5]"
    return run_options(command, alloc, timeout)


def run_options(command: Callable[..., None], alloc: str, timeout: str) -> Callable[..., None]:
    """The options of whatever runs a command again and again; with the help of two of them."""
    for option in reversed(
        (
            click.option(
                "--alloc",
                callback=_one_allocator,
                metavar="NAME[=PATH]",
                help=alloc,
            ),
            click.option(
                "--runs", type=click.IntRange(min=1), default=10, show_default=True, help="Rounds that count."
            ),
            click.option(
                "--warmup", type=click.IntRange(min=0), default=1, show_default=True, help="Rounds before those."
            ),
            click.option(
                "--timeout",
                type=click.FloatRange(min=0, min_open=True),
                help=timeout,
            ),
            click.option(
                "--input",
                "input_file",
                type=click.Path(exists=True, dir_okay=False, path_type=Path),
                default=Path("/dev/null"),
                help="What COMMAND reads, anew in each run.  [default: nothing]",
            ),
            server_option,
            ready_option,
            metric_option,
        )
    ):
        command = option(command)
    return command


def _one_allocator(context: click.Context, parameter: click.Parameter, value: str | None) -> Request | None:
    return requested(context, parameter, (value,))[0] if value else None


def asked_for(words: tuple[str, ...], options: Mapping[str, Any]) -> PlanOptions:
    """The options as `verify_options` has read them."""
    named = {name: options[name] for name in ("runs", "warmup", "timeout", "input_file", "server", "ready", "metrics")}
    check_server(named["server"], named["ready"])
    return PlanOptions(words, options["alloc"], **named)
