# SPDX-License-Identifier: MIT
"""`hew pools suggest`: the pools that a program should declare, from the sizes it was seen to use."""

import click

from hew.analysis.declaration import HEADROOM, declare
from hew.commands.options import told
from hew.sources.seen import read_seen
from hew.views.declaration import declaration_to_json, show_declaration
from hew.views.table import results_console


@click.group("pools")
def command() -> None:
    """Pools: memory for sizes that are known in advance."""


@command.command("suggest")
@click.option(
    "--headroom",
    type=click.FloatRange(min=1),
    default=HEADROOM,
    show_default=True,
    help="What the most objects seen is multiplied by.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.argument("place", metavar="FILE|PID|-")
def suggest(place: str, headroom: float, as_json: bool) -> None:
    """Propose pools for a program from its statistics, as a C array and as a setting.

    FILE holds what malloc_stats_print wrote, of hew or jemalloc, as JSON or text; several reports tell more than one,
    and one from the middle of the work more than one from its end. Or it holds a profile's recent allocations, which
    have the exact sizes. `-` is standard input.
    """
    with told("hew pools suggest"):
        declaration = declare(read_seen(place), headroom)
        if as_json:
            click.echo(declaration_to_json(declaration))
        else:
            show_declaration(declaration, results_console())
