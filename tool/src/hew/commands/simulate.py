# SPDX-License-Identifier: MIT
"""`hew simulate`: what textbook policies, and size classes of any cut, would have made of a recorded program."""

from pathlib import Path

import click

from hew.commands.options import told, writable
from hew.model.simulation import Simulation
from hew.sources.simulation import simulate
from hew.sources.trace.blocks import operations_of
from hew.views.progress import bar
from hew.views.simulation import show_simulation, simulation_json, simulation_page
from hew.views.table import results_console

LONG = 1 << 18  # operations from which the program tells how far it is
POLICIES = (
    "first-fit", "next-fit", "best-fit", "worst-fit", "binary-buddy", "fibonacci-buddy", "slab", "powers",
    "jemalloc", "hew", "hew-fine",
)  # fmt: skip


@click.command("simulate")
@click.option(
    "--policy", "policies", multiple=True, type=click.Choice(POLICIES), help="Only this one; may be repeated."
)
@click.option(
    "--classes", multiple=True, metavar="NAME=SIZE,…", help="Segregated by these size classes too; may be repeated."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of the table.")
@click.option(
    "--html",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=writable,
    metavar="FILE",
    help="Also write a page with pictures.",
)
@click.argument("trace", type=click.Path(dir_okay=False, path_type=Path))
def command(policies: tuple[str, ...], classes: tuple[str, ...], as_json: bool, html: Path | None, trace: Path) -> None:
    """Simulate policies of allocation on TRACE (see docs/trace.md): fragmentation, peak, work over time.

    First, next, best and worst fit; binary and Fibonacci buddies; slabs; segregated by powers of two, by jemalloc's and
    hew's classes, or by any; with the lower bound.
    """
    with told("hew simulate", programs=True):  # SIGTERM takes the unpacked trace away, too
        result = _simulated(trace, policies, classes)
        if as_json:
            click.echo(simulation_json(result))
        else:
            show_simulation(result, results_console())
        if html:
            html.write_text(simulation_page(result), encoding="utf-8")
            click.echo(f"page: {html.absolute()}", err=as_json)


def _simulated(trace: Path, policies: tuple[str, ...], classes: tuple[str, ...]) -> Simulation:
    """With a bar that shows what is best so far, where it takes longer than a moment."""
    operations = operations_of(trace)
    if operations < LONG:
        return simulate(trace, policies, classes)
    with bar(operations) as tell:
        done = 0
        tell("all policies in one pass", 0)

        def heard(found: str, now: int) -> None:
            nonlocal done
            tell(found, now - done)
            done = now

        return simulate(trace, policies, classes, heard)
