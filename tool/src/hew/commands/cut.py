# SPDX-License-Identifier: MIT
"""`hew cut`: the size classes that waste least for a recorded program, and what they would save."""

from dataclasses import replace
from pathlib import Path

import click

from hew.analysis.cut import cut
from hew.commands.options import told, writable
from hew.sources.exact_sizes import is_report, sizes_of_report
from hew.sources.simulation import simulate, sizes_of
from hew.views.cut import cut_json, settings_file, show_cut
from hew.views.table import results_console

BESIDE = ("hew", "hew-fine", "jemalloc")


@click.command("cut")
@click.option(
    "--count",
    type=click.IntRange(min=1, max=63),
    default=36,
    show_default=True,
    help="Classes up to 14 KiB at most; hew has 36, and 63 with the fine ones.",
)
@click.option(
    "--peak", is_flag=True, help="Weigh sizes by what lives at the peak, instead of in the mean over operations."
)
@click.option(
    "--save",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=writable,
    metavar="FILE",
    help="Also write a file of settings, with the evidence, for HEW_CONF=conf_file:FILE.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead.")
@click.argument("place", metavar="TRACE|REPORT", type=click.Path(dir_okay=False, path_type=Path))
def command(count: int, peak: bool, save: Path | None, as_json: bool, place: Path) -> None:
    """Find the size classes that waste least for the sizes of TRACE, or of REPORT, and say what they would save.

    REPORT is a file of jemalloc's or hew's recent allocations (prof_recent_alloc_max), which have exact sizes. Of a
    trace, what the classes save is simulated on it. What puts them in force is printed where they are worth it: the
    setting classes, or with --save a file of settings.
    """
    with told("hew cut", programs=True):  # SIGTERM takes the unpacked trace away, too
        if is_report(place):
            result = cut(sizes_of_report(place), count, peak)
        else:
            result = cut(sizes_of(place), count, peak)
            chosen = ",".join(str(one.size) for one in result.classes)
            tried = simulate(place, BESIDE, [f"cut={chosen}"])
            result = replace(result, simulated=tried.policies, peak_live=tried.peak_live)
        if save is not None:
            save.write_text(settings_file(result), encoding="utf-8")
        if as_json:
            click.echo(cut_json(result))
        else:
            show_cut(result, save.absolute() if save else None, results_console())
