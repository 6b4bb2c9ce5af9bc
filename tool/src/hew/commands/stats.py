# SPDX-License-Identifier: MIT
"""`hew stats`: what an allocator's statistics say, whichever version wrote them."""

import click

from hew.analysis.changes import changes
from hew.analysis.growth import growth
from hew.analysis.memory import busiest_bins, busiest_threads, memory_parts, peak_parts, threads, waited_for
from hew.commands.options import attach_option, told
from hew.model.snapshot_view import SnapshotView
from hew.model.statistics import Snapshot
from hew.sources.attach.reading import TIMEOUT
from hew.sources.history.recording import last_reports, recorded
from hew.sources.statistics.place import read_place
from hew.views.growth_text import show_growth
from hew.views.statistics_document import statistics_json
from hew.views.statistics_table import show_changes, show_peak, show_source, show_statistics
from hew.views.table import results_console, show_note


@click.command("stats")
@click.option("--rows", type=click.IntRange(min=0), default=8, show_default=True, help="Rows of each table.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON instead.")
@click.option("--peak", is_flag=True, help="Show where the memory was when the heaps held most (hew only).")
@attach_option
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=TIMEOUT,
    show_default=True,
    help="Seconds to look for a moment to attach.",
)
@click.argument("places", metavar="FILE|PID|-...", nargs=-1, required=True)
def command(rows: int, as_json: bool, peak: bool, attach: bool, timeout: float, places: tuple[str, ...]) -> None:
    """Show the statistics of jemalloc (5.2 and later) or hew that a program wrote, as JSON or text.

    PID is a process on hew with a control socket, a Redis, or a process on jemalloc. hew attaches to the last, as a
    debugger does: it stands still for some milliseconds while it writes its statistics.

    FILE holds what MALLOC_CONF=stats_print:true made the program write to stderr, or what malloc_stats_print wrote. It
    may also hold other output, several reports, and one that breaks off. `-` is standard input. Of a recording of hew
    watch the last statistics of each process are shown, and what grew. Two files are also compared, by the last report
    of each.
    """
    with told("hew stats"):
        recordings = {place: recorded(place) for place in places}
        readings = [
            last_reports(found) if found else read_place(place, timeout if attach else None)
            for place, found in recordings.items()
        ]
        if as_json:
            click.echo("\n".join(statistics_json(reading) for reading in readings))
            return
        console = results_console()
        if peak:
            for one in (reading.snapshots[-1] for reading in readings):
                show_peak(one, peak_parts(one), console)
            return
        for reading in readings:
            if reading.attached:
                show_note(reading.attached, console)
            if len(readings) > 1:
                show_source(reading, console)
            show_statistics(reading, [_view(one, rows) for one in reading.snapshots], console)
        for found in filter(None, recordings.values()):
            show_growth([growth(track) for track in found.tracks], found.notes, console)
        if len(readings) == 2:
            before, after = (reading.snapshots[-1] for reading in readings)
            show_changes(changes(before, after, rows), console)


def _view(snapshot: Snapshot, rows: int) -> SnapshotView:
    arena = snapshot.all_arenas
    bins = tuple(busiest_bins(arena, rows)) if arena else ()
    locks, busiest = tuple(waited_for(snapshot, rows)), tuple(busiest_threads(snapshot.threads, rows))
    return SnapshotView(snapshot, memory_parts(snapshot), threads(snapshot), locks, bins, busiest)
