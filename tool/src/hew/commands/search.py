# SPDX-License-Identifier: MIT
"""`hew search`: which settings, and which allocator, suit a command best: found and verified by running it."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from hew.analysis.search.wanted import goal_names, limit_parts
from hew.commands.options import told, writable
from hew.commands.plan_options import asked_for, run_options
from hew.model.errors import HewError
from hew.sources.extras import need

SAMPLERS = ("tpe", "nsga2", "random")
TRY = re.compile(r"([a-z_0-9]+)(?::([^:,]+(?:[-|:][^,]*)?(?:,[^,]+)*))?")


def _limits(
    _context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[tuple[str, bool, float], ...]:
    try:
        return tuple(limit_parts(value) for value in values)
    except HewError as error:
        raise click.BadParameter(str(error), param=parameter) from error


def _only(
    _context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """`NAME` or `NAME:VALUE,VALUE`, as often as given."""
    found = []
    for value in values:
        match = TRY.fullmatch(value)
        if match is None:
            raise click.BadParameter(f"{value!r}: write NAME or NAME:VALUE,VALUE", param=parameter)
        found.append((match[1], tuple(match[2].split(",")) if match[2] else ()))
    return tuple(found)


def searched_options(command: Callable[..., None]) -> Callable[..., None]:
    """Those of a run, in a search's words."""
    alloc = "The allocator whose settings are searched.  [default: hew]"
    timeout = "Seconds one run may take; a candidate never gets more than four times the base's, or 5."
    return run_options(command, alloc, timeout)


@click.command("search", context_settings={"allow_interspersed_args": False})
@click.option("--allocators", is_flag=True, help="Search among all allocators found too; the base is glibc.")
@click.option(
    "--goal",
    "goals",
    multiple=True,
    type=click.Choice(goal_names()),
    help="What is to be better; may be repeated.  [default: the program's metric, else wall; and rss]",
)
@click.option(
    "--limit",
    "limits",
    multiple=True,
    callback=_limits,
    metavar="NAME<=RATIO",
    help="What no candidate may exceed, as a ratio to the base: --limit 'rss<=1.05'.",
)
@click.option(
    "--try",
    "only",
    multiple=True,
    callback=_only,
    metavar="NAME[:VALUE,…]",
    help="Only this setting, and only these values; may be repeated.",
)
@click.option(
    "--trials",
    type=click.IntRange(min=1, max=100_000),
    default=40,
    show_default=True,
    help="Candidates to measure, all processes of a storage together.",
)
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="Runs of a candidate that is not hopeless.",
)
@click.option(
    "--sampler", type=click.Choice(SAMPLERS), default=SAMPLERS[0], show_default=True, help="Optuna's sampler."
)
@click.option("--seed", type=click.IntRange(min=0), help="Of the sampler.")
@click.option(
    "--storage",
    metavar="FILE|URL",
    help="Keep the search in this SQLite file, or in a database (postgresql://user@host/name): to go on later, and for "
    "several processes, or hosts, at once.",
)
@click.option(
    "--trace",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="TRACE",
    help="Try candidates by replaying this trace of hew record; COMMAND, if given, runs for the best of them alone.",
)
@click.option(
    "--save",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=writable,
    metavar="FILE",
    help="Also write what is recommended, with the evidence, for HEW_CONF=conf_file:FILE.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead.")
@searched_options
@click.argument("words", metavar="-- COMMAND [ARGUMENT]...", nargs=-1, type=click.UNPROCESSED)
def command(words: tuple[str, ...], as_json: bool, save: Path | None, **options: Any) -> None:
    """Search the settings, and with --allocators the allocators, that suit COMMAND best.

    Each candidate is run beside the base, interleaved, and left as soon as it is hopeless. It ends with the front to
    choose from and one recommendation, which fresh runs have confirmed; or with "nothing better". --runs and --warmup
    are of those fresh runs. The base is --alloc (hew by default) with its settings as they are.

    With --trace candidates are tried by replay, and only the best few by COMMAND; without a COMMAND the replay has the
    last word.
    """
    _check(words, options)
    with told("hew search", programs=True):
        need("optuna")
        # Optuna takes a second to load: wrong use is reported before.
        from hew.commands.search_setup import Search, ground_of  # noqa: PLC0415
        from hew.commands.searching import search  # noqa: PLC0415
        from hew.tuner.study import STORAGE_ERRORS, reason_of, shown  # noqa: PLC0415
        from hew.views.search import said_of_file, search_json, settings_file, show_search  # noqa: PLC0415
        from hew.views.table import results_console  # noqa: PLC0415

        own = {
            name: options[name]
            for name in (
                "allocators",
                "goals",
                "limits",
                "only",
                "trials",
                "rounds",
                "sampler",
                "seed",
                "storage",
                "trace",
            )
        }
        asked = Search(asked=asked_for(words, options), **own)
        try:
            result = search(asked, ground_of(asked))
        except STORAGE_ERRORS as error:
            raise HewError(f"{shown(options['storage'])}: {reason_of(error)}") from error
        if save:
            save.write_text(settings_file(result), encoding="utf-8")
            click.echo(f"hew search: {said_of_file(result, save.absolute())}", err=True)
        if as_json:
            click.echo(search_json(result))
        else:
            show_search(result, results_console())
        if result.interrupted:
            raise KeyboardInterrupt


def _check(words: tuple[str, ...], options: Mapping[str, Any]) -> None:
    """What does not go together."""
    if not words and options["trace"] is None:
        raise click.UsageError("give a COMMAND, or --trace TRACE")
    if not words and (options["server"] or options["metrics"]):
        raise click.UsageError("--server and --metric want a COMMAND")
    if options["allocators"] and options["alloc"]:
        raise click.UsageError("--allocators takes all of them, --alloc one")
