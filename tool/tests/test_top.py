# SPDX-License-Identifier: MIT
"""`hew top`: the figures, and the screens as a pilot sees them; recorded pictures in data/top."""

import asyncio
import os
import re
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.strip import Strip
from textual.widgets import DataTable, Static, TabbedContent

from conftest import HewRunner, environment, is_as_described
from hew.analysis.live import live_view
from hew.model.errors import HewError
from hew.model.live import LiveView, Moment, Outside, ProcessRow
from hew.model.statistics import Arena, Bin, Mutex, Sizes, Snapshot, Thread, Totals, UnusedExtents
from hew.views.process_table import ProcessTable
from hew.views.top import LiveScreen, ProcessView, TopApp
from hew.views.top_document import top_json
from hew.views.top_tables import arena_rows, thread_rows

MIB = 1 << 20
PICTURES = Path(__file__).parent / "data" / "top"
OUTSIDE = Outside(100 * MIB, 80 * MIB, 20 * MIB, 0, lazily_freed=3 * MIB, huge=16 * MIB)


def snapshot(turn: int) -> Snapshot:
    """A hew process with two arenas, a little further each turn."""
    bins = (
        Bin(16, 256, 4096, 1, nrequests=1000 * turn, nfills=10 * turn, nflushes=turn, curregs=200, curslabs=2),
        Bin(4096, 4, 16384, 1, nrequests=50 * turn, nfills=40 * turn, curregs=7000, curslabs=2000, mutex=Mutex(90, 4)),
    )
    merged = Arena(
        key="merged",
        nthreads=5,
        pactive=14000,
        pdirty=2048,
        pmuzzy=512,
        tcache_bytes=2 * MIB,
        small=Sizes(nrequests=1050 * turn, nfills=50 * turn, nflushes=turn),
        large=Sizes(nrequests=30 * turn, nfills=0, nflushes=0),
        mutexes={"extents_dirty": Mutex(5000 * turn, 20 * turn, 3, 9, 40_000_000 * turn, 7_000_000, 4)},
        bins=bins,
        extents=(UnusedExtents(4096, 5, 2, 1, 20480, 8192, 4096), UnusedExtents(8192, 0, 0, 0, 0, 0, 0)),
    )
    arenas = (
        Arena("0", "auto_0", 4, pactive=12000, pdirty=2000, pmuzzy=512, retained=MIB, tcache_bytes=MIB),
        Arena("1", "[worker] pool", 1, pactive=2000, pdirty=48, pmuzzy=0, retained=0, tcache_bytes=MIB),
    )
    threads = (
        Thread(42, "server", "0", 100 * turn, 4096),
        *(Thread(number, "worker", "0", 20 * turn, MIB // 4) for number in (50, 51, 52)),
        Thread(53, "[odd] worker", "1", 5000 * turn, MIB),
    )
    totals = Totals(allocated=45 * MIB, active=55 * MIB, metadata=3 * MIB, resident=70 * MIB)
    return Snapshot("JSON", "5-ghew0.1.0", totals=totals, merged=merged, arenas=arenas, threads=threads)


def moment(turn: int, pid: int = 42, **changes: Any) -> Moment:
    """A process that was looked at `turn` times, two seconds apart."""
    plain = Moment(
        pid=pid,
        name="server",
        words="server --port 80",
        allocator="hew 0.1.0",
        threads={"server": 1, "worker": 4},
        seconds=2.0 * turn,
        faults=100 * turn,
        cpu=0.5 * turn,
        outside=OUTSIDE,
        snapshot=snapshot(turn),
    )
    return Moment(**{**vars(plain), **changes})


GLIBC: dict[str, Any] = {
    "allocator": "glibc 2.36",
    "snapshot": None,
    "outside": Outside(90 * MIB, 70 * MIB, 18 * MIB, 2 * MIB, heap=10 * MIB, regions=40 * MIB, region_count=3),
    "why": "process 43 does not run on hew: `hew doctor 43` says on what, `hew run` starts a program on hew",
}


class MadeUp:
    """Two processes that never change but for their counters; a third that is gone."""

    def __init__(self) -> None:
        self.looks = 0

    def processes(self) -> tuple[ProcessRow, ...]:
        return (
            ProcessRow(42, "server", "www", "hew 0.1.0", 100 * MIB, 5, True),
            ProcessRow(43, "[odd] name", "root", "glibc 2.36", 90 * MIB, 1, False),
            ProcessRow(44, "gone", "root", "jemalloc 5.3.0", MIB, 1, False),
        )

    def look(self, pid: int) -> LiveView:
        if pid == 44:
            raise HewError("there is no process 44 any more")
        self.looks += 1
        changes = GLIBC if pid == 43 else {}
        return live_view(moment(self.looks, pid, **changes), moment(self.looks - 1, pid, **changes))


def seen(app: TopApp, act: Callable[[Pilot[None]], Coroutine[None, None, None]]) -> None:
    """Run the app on a terminal of 110 by 36 and let a pilot act on it."""

    async def run() -> None:
        async with app.run_test(size=(110, 36)) as pilot:
            await settle(pilot)
            await act(pilot)

    asyncio.run(run())


async def settle(pilot: Pilot[None]) -> None:
    """Wait until what was asked for is on the screen: what is shown may ask for more."""
    await pilot.pause()
    for _ in range(2):
        while not all(worker.is_finished for worker in pilot.app.workers):
            await pilot.app.workers.wait_for_complete()
            await pilot.pause()
        await pilot.pause()


async def come_true(pilot: Pilot[None], holds: Callable[[], bool]) -> None:
    """Wait until it holds: when a busy machine lets us draw is its own affair."""
    for _ in range(600):
        if holds():
            return
        await pilot.pause(0.1)
    assert holds()


def text_of(app: TopApp, name: str) -> str:
    return str(app.screen.query_one(f"#{name}", Static).content)


def test_the_parts_add_up_to_what_is_resident() -> None:
    for one in (moment(1), moment(1, **GLIBC)):
        parts = live_view(one, None).parts
        assert sum(part.bytes or 0 for part in parts) == one.outside.resident
    small = Outside(30 * MIB, 30 * MIB, 0, 0)
    parts = live_view(moment(1, outside=small), None).parts
    assert all((part.bytes or 0) >= 0 for part in parts)
    assert "not in memory" in parts[-1].where
    assert sum(part.bytes or 0 for part in parts) == small.resident


def test_where_memory_is() -> None:
    parts = {part.label: part.bytes for part in live_view(moment(1), None).parts}
    assert parts == {
        "live objects": 43 * MIB,
        "internal fragmentation": 0,
        "external fragmentation": 10 * MIB,
        "thread caches": 2 * MIB,
        "dirty pages": 8 * MIB,
        "muzzy pages": 2 * MIB,
        "metadata": 3 * MIB,
        "not the heap": 32 * MIB,
    }
    outside = {part.label: part.bytes for part in live_view(moment(1, **GLIBC), None).parts}
    assert outside["main heap"] == 10 * MIB
    assert outside["heaps of threads (3)"] == 40 * MIB


def test_rates_are_between_two_looks() -> None:
    assert {rate.value for rate in live_view(moment(1), None).rates} == {None}
    rates = {rate.label: rate.value for rate in live_view(moment(3), moment(1)).rates}
    assert rates["requests"] == 540
    assert rates["fills"] == 25
    assert rates["lock waits"] == 10
    assert rates["waiting"] == pytest.approx(0.02)
    assert rates["CPUs"] == 0.25


def test_arenas_and_threads_have_names() -> None:
    view = live_view(moment(3), moment(1))
    assert {row[0]: row[3] for row in arena_rows(view)} == {"0": "worker x3, server", "1": "[odd] worker"}
    assert thread_rows(view)[:2] == [
        ("53", "[odd] worker", "1", "2,500/s", "15,000", "1.00 MiB"),
        ("42", "server", "0", "50/s", "300", "4.00 KiB"),
    ]
    assert thread_rows(live_view(moment(1), None))[0][3] == "—"
    moved = moment(1, snapshot=replace(snapshot(1), threads=(Thread(53, "x", "0", 1, 0),)))
    assert 53 not in live_view(moment(3), moved).thread_rates
    assert thread_rows(live_view(moment(1, **GLIBC), None)) == []


def test_internal_fragmentation_comes_from_heap_profiles() -> None:
    profiled = Bin(96, 42, 4096, curregs=10, curslabs=1, prof_live_requested=800, prof_live_count=10)
    arena = Arena("merged", bins=(profiled,))
    whole = Snapshot("JSON", totals=Totals(allocated=10 * MIB, active=10 * MIB), merged=arena)
    parts = {part.label: part.bytes for part in live_view(moment(1, snapshot=whole), None).parts}
    assert parts["internal fragmentation"] == 160


def test_the_list_and_back() -> None:
    app = TopApp(MadeUp(), 1000)

    async def act(pilot: Pilot[None]) -> None:
        assert app.screen.query_one("#processes", ProcessTable).keys == ["42", "43", "44"]
        await pilot.press("enter")
        await settle(pilot)
        assert isinstance(app.screen, ProcessView)
        assert "hew 0.1.0, resident 100 MiB, 5 threads: server, worker x4" in text_of(app, "head")
        assert "live objects" in text_of(app, "parts")
        await pilot.press("escape")
        await settle(pilot)
        await pilot.press("down", "down", "enter")
        await settle(pilot)
        assert "no process 44" in text_of(app, "message")

    seen(app, act)


def test_keys_lead_to_the_tables() -> None:
    app = TopApp(MadeUp(), 1000, 42)

    async def act(pilot: Pilot[None]) -> None:
        for key, name, cell in (
            ("2", "bins", "4.00 KiB"),
            ("3", "mutexes", "arenas: extents_dirty"),
            ("4", "extents", "4.00 KiB"),
            ("5", "threads", "53"),
            ("1", "arenas", "0"),
        ):
            await pilot.press(key)
            await settle(pilot)
            assert app.screen.query_one("#tabs", TabbedContent).active == name
            assert str(app.screen.query_one(f"#table-{name}", DataTable).get_row_at(0)[0]) == cell
        await pilot.press("escape")
        await settle(pilot)
        assert app.screen.query_one("#processes", ProcessTable).keys == ["42", "43", "44"]

    seen(app, act)


def test_the_list_is_sorted_and_filtered_by_the_keyboard() -> None:
    app = TopApp(MadeUp(), 1000)

    def names() -> list[str]:
        return [row[2] for row in app.screen.query_one("#processes", ProcessTable).rows]

    async def act(pilot: Pilot[None]) -> None:
        largest = names()
        await pilot.press("s")
        await settle(pilot)
        assert sorted(names()) == sorted(largest)
        assert "by threads" in text_of(app, "message")
        await pilot.press("slash", *"hew")
        await settle(pilot)
        assert 0 < len(names()) < len(largest)
        await pilot.press("enter")
        await settle(pilot)
        assert "hew" in text_of(app, "message")
        await pilot.press("slash", "escape")
        await settle(pilot)
        assert len(names()) == len(largest)

    seen(app, act)


def test_only_lines_that_changed_are_drawn_and_the_cursor_stays_with_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    app = TopApp(MadeUp(), 1000)
    drawn: list[int] = []

    async def act(pilot: Pilot[None]) -> None:
        table = app.screen.query_one("#processes", ProcessTable)
        many = [(str(pid), (str(pid), "u", f"name {pid}", "glibc", "1 B", "1", "yes")) for pid in range(500)]
        table.put(many)
        await pilot.press("home", "down", "down", "down")
        await settle(pilot)
        assert table.chosen == "3"
        plain = table.render_line

        def drawing(y: int) -> Strip:
            drawn.append(y)
            return plain(y)

        monkeypatch.setattr(table, "render_line", drawing)
        table.put([(key, (*row[:4], "2 B", *row[5:]) if key == "5" else row) for key, row in many])
        await settle(pilot)
        assert drawn == [6]
        table.put(many[3:] + many[:3])
        await settle(pilot)
        assert (table.chosen, table.cursor) == ("3", 0)
        await pilot.press("end")
        await settle(pilot)
        assert table.chosen == "2"
        assert "name 2" in table.render_line(table.size.height - 1).text

    seen(app, act)


def test_a_pause_stands_still() -> None:
    feed = MadeUp()
    app = TopApp(feed, 0.05, 42)

    async def act(pilot: Pilot[None]) -> None:
        await come_true(pilot, lambda: feed.looks > 1)
        await pilot.press("p")
        await settle(pilot)
        stood = feed.looks
        await pilot.pause(0.3)
        assert feed.looks == stood

    seen(app, act)


def picture(app: TopApp) -> str:
    """The screen as SVG, without what differs from run to run."""
    return re.sub(r"terminal-\d+", "terminal", app.export_screenshot(title="hew top"))


@pytest.mark.parametrize(
    ("name", "pid", "keys"),
    [
        ("list", None, ()),
        ("hew", 42, ()),
        ("bins", 42, ("2",)),
        ("mutexes", 42, ("3",)),
        ("threads", 42, ("5",)),
        ("glibc", 43, ()),
    ],
)
def test_screens_look_as_recorded(name: str, pid: int | None, keys: tuple[str, ...]) -> None:
    """To record anew: HEW_RECORD=1 pytest, then look at the pictures."""
    app = TopApp(MadeUp(), 1000, pid)
    recorded = PICTURES / f"{name}.svg"

    async def act(pilot: Pilot[None]) -> None:
        for key in keys:
            await pilot.press(key)
            await settle(pilot)
        if "HEW_RECORD" in environment({}):
            recorded.write_text(picture(app))
        await come_true(pilot, lambda: picture(app) == recorded.read_text())

    seen(app, act)


def test_json_of_the_list_and_of_a_process(hew: HewRunner) -> None:
    rows = is_as_described(hew("top", "--json").stdout, "top")["processes"]
    assert os.getpid() in {row["pid"] for row in rows}
    process = is_as_described(hew("top", "--json", "--every", "0.2", str(os.getpid())).stdout, "top")["process"]
    assert sum(part["bytes"] for part in process["parts"]) == process["outside"]["resident"]
    assert process["rates"][0]["value"] is not None
    is_as_described(top_json((), live_view(moment(3), moment(1))), "top")


def test_without_a_terminal_it_says_so(hew: HewRunner) -> None:
    done = hew("top")
    assert done.returncode == 1
    assert "needs a terminal" in done.stderr


def test_what_was_read_for_a_screen_that_was_left_is_dropped() -> None:
    app = TopApp(MadeUp(), 60.0, 42)
    shown: list[str] = []

    async def act(pilot: Pilot[None]) -> None:
        left = app.screen
        assert isinstance(left, ProcessView)
        app.pop_screen()  # its widgets go one by one from now on
        app._show(left, lambda: shown.append("left"))
        below = app.screen
        assert isinstance(below, LiveScreen)
        app._show(below, lambda: shown.append("below"))
        await settle(pilot)

    seen(app, act)
    assert shown == ["below"]


def test_what_was_read_when_it_ends_is_dropped() -> None:
    app = TopApp(MadeUp(), 60.0, 42)
    shown: list[str] = []
    ended: list[object] = []

    class Last(Static):
        def on_unmount(self) -> None:
            screen = app.screen_stack[-1]
            assert isinstance(screen, LiveScreen)
            ended.append(screen)
            app._show(screen, lambda: shown.append("shown"))

    async def act(pilot: Pilot[None]) -> None:
        await app.screen.mount(Last())

    seen(app, act)
    assert len(ended) == 1
    assert shown == []
