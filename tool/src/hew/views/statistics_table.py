# SPDX-License-Identifier: MIT
"""Statistics on the terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from hew.model.figures import Unit
from hew.model.quantity import quantity
from hew.model.snapshot_view import Change, SnapshotView
from hew.model.statistics import MemoryLimit, Part, Reading, Snapshot
from hew.views.table import plain_table, show_note

MISSING = "not reported"


def show_statistics(reading: Reading, views: list[SnapshotView], console: Console) -> None:
    """Every report of a stream."""
    count = len(views)
    for number, view in enumerate(views, 1):
        console.print()
        place = f", report {number} of {count}" if count > 1 else ""
        console.print(
            f"[bold]{escape(view.snapshot.subject)}[/]{place}   [dim]{escape(_facts(view))}[/]", soft_wrap=True
        )
        console.print(_memory(view))
        if view.snapshot.limit.bytes:
            console.print(_limit(view.snapshot.limit))
        if view.locks:
            console.print(_locks(view))
        if view.bins:
            console.print(_bins(view))
        if view.snapshot.depot.depots is not None:
            console.print(_depots(view))
        if view.busiest:
            console.print(_threads(view))
        for note in view.snapshot.notes:
            show_note(note, console)
    if reading.other_bytes:
        other = f"{reading.other_bytes:,} bytes of {reading.source} belong to no report and were passed over"
        show_note(other, console)


def show_peak(snapshot: Snapshot, parts: Sequence[Part], console: Console) -> None:
    """Where the memory was at the peak, by cause."""
    console.print()
    console.print(f"[bold]{escape(snapshot.subject)}[/]", soft_wrap=True)
    if not parts:
        show_note("no peak in this report: another allocator's or an older hew's, or no heap has held 1 MiB", console)
        return
    table = plain_table("at the peak", "", "of all")
    for part in parts:
        size = part.bytes or 0
        table.add_row(part.label, quantity(size, Unit.BYTES), f"{size / (snapshot.peak.resident or 1):.0%}")
    console.print(table)


def show_source(reading: Reading, console: Console) -> None:
    """Where the reports that follow come from."""
    console.print()
    console.print(f"[bold]{escape(reading.source)}[/]", soft_wrap=True)


def show_changes(found: Sequence[Change], console: Console) -> None:
    """Two reports side by side."""
    table = plain_table("from the first to the second", "first", "second", "change")
    for one in found:
        grown = one.after - one.before
        sign = "+" if grown > 0 else "-" if grown < 0 else ""
        table.add_row(
            one.label,
            *(quantity(size, Unit.BYTES) for size in (one.before, one.after)),
            sign + quantity(abs(grown), Unit.BYTES),
        )
    console.print()
    console.print(table)


def _limit(limit: MemoryLimit) -> Table:
    """How near the limit of memory is, and what that has cost."""
    source = "control group" if limit.source == "cgroup" else shown(limit.source)
    table = plain_table("memory limit", "", "held", "of it", "checks", "times relieved", "returned")
    amounts = [MISSING if one is None else quantity(one, Unit.BYTES) for one in (limit.bytes, limit.held)]
    share = f"{limit.held / limit.bytes:.0%}" if limit.held is not None and limit.bytes else ""
    back = MISSING if limit.returned is None else quantity(limit.returned, Unit.BYTES)
    table.add_row(source, *amounts, share, shown(limit.looks), shown(limit.relieved), back)
    return table


def _depots(view: SnapshotView) -> Table:
    """hew's depots, between threads and arenas."""
    depot = view.snapshot.depot
    table = plain_table("depots", "hold", "at most", "batches taken", "given", "not there", "turned away")
    amounts = [MISSING if one is None else quantity(one, Unit.BYTES) for one in (depot.bytes, depot.limit)]
    table.add_row(shown(depot.depots), *amounts, *map(shown, (depot.takes, depot.gives, depot.misses, depot.refusals)))
    return table


def _facts(view: SnapshotView) -> str:
    snapshot, arena = view.snapshot, view.snapshot.all_arenas
    seconds = arena.seconds if arena else None
    uptime = MISSING if seconds is None else quantity(seconds, Unit.SECONDS)
    return (
        f"up {uptime}; arenas: {len(snapshot.arenas)} in use, {shown(snapshot.option('narenas'))} automatic at most; "
        f"threads: {shown(view.threads)}"
    )


def shown(value: object) -> str:
    """A value, or that it is not reported."""
    if value is None:
        return MISSING
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _memory(view: SnapshotView) -> Table:
    table = plain_table("memory", "", "of resident")
    resident = view.snapshot.totals.resident
    for part in view.parts:
        share = f"{part.bytes / resident:.0%}" if part.bytes is not None and resident else ""
        table.add_row(part.label, MISSING if part.bytes is None else quantity(part.bytes, Unit.BYTES), share)
    return table


def _locks(view: SnapshotView) -> Table:
    table = plain_table("locks waited for", "waits", "operations", "time waited", "longest")
    for where, one in view.locks:
        times = [
            MISSING if value is None else quantity(value / 1e9, Unit.SECONDS)
            for value in (one.total_wait_ns, one.max_wait_ns)
        ]
        table.add_row(where, shown(one.num_wait), shown(one.num_ops), *times)
    return table


def _threads(view: SnapshotView) -> Table:
    table = plain_table("thread", "number", "arena", "requests", "at hand")
    for one in view.busiest:
        table.add_row(
            escape(one.name), str(one.number), one.arena, shown(one.requests), quantity(one.cached, Unit.BYTES)
        )
    return table


def _bins(view: SnapshotView) -> Table:
    table = plain_table("size class", "objects", "in slabs", "slabs full", "requests", "fills", "requests a fill")
    for one in view.bins:
        held = (one.curslabs or 0) * (one.slab_size or 0)
        full = f"{(one.curregs or 0) * one.size / held:.0%}" if held else ""
        ratio = f"{one.nrequests / one.nfills:,.1f}" if one.nrequests is not None and one.nfills else ""
        table.add_row(
            f"{one.size} B", shown(one.curregs), quantity(held, Unit.BYTES), full, shown(one.nrequests),
            shown(one.nfills), ratio,
        )  # fmt: skip
    return table
