# SPDX-License-Identifier: MIT
"""What `hew top` shows of what a process has tuned by itself."""

import asyncio
from dataclasses import replace

import pytest
from rich.text import Text
from textual.widgets import DataTable

from conftest import STEPS, TUNING, is_as_described
from hew.analysis.live import live_view
from hew.model.live import LiveView
from hew.model.tuning import Step, Tuning
from hew.views.top import TopApp
from hew.views.top_document import top_json
from hew.views.top_tables import step_rows, tuned_text
from test_top import GLIBC, MadeUp, moment, settle, snapshot


def told_of(tuning: Tuning | None) -> LiveView:
    return live_view(moment(1, snapshot=replace(snapshot(1), tuning=tuning)), None)


def test_what_a_process_has_tuned_by_itself_is_one_line_and_its_last_steps() -> None:
    view = told_of(TUNING)
    assert tuned_text(view) == (
        "tuning:on   dirty_decay_ms 20000, 1 step of it: 1 kept, 0 undone   12.0 MiB more for depots   "
        "512 KiB lent to threads' caches; 4 trials, 3 kept, 1 undone"
    )
    assert step_rows(view) == [
        ("60.0 s", "dirty_decay_ms", "10000→20000", "kept", "wanted again 20.1 → 3.2 %",
         "0.9 → 0.06 % of wanted pages gone"),
        ("228 ms", "cache_room", "200→225", "undone", "misses 1.0 → 0.8 %", "6.2 → 6.4 ns an operation"),
        ("9.00 ms", "cache_room", "100→200", "kept", "misses 6.2 → 0.9 %", "8.2 → 4.4 ns an operation"),
    ]  # fmt: skip


def test_what_a_process_would_try_is_not_told_as_made() -> None:
    thought = replace(STEPS[0], outcome="would try", reason_after=0, effect_after=0)
    view = told_of(replace(TUNING, mode="observe", steps=0, room_depots=0, room_lent=0, last_steps=(thought,)))
    assert tuned_text(view) == "tuning:observe   threads' caches: 4 trials that they would make"
    assert step_rows(view)[0][2:] == ("100→200", "would try", "misses 6.2 %", "8.2 ns an operation")
    assert tuned_text(told_of(replace(TUNING, mode="observe", steps=1, room_depots=0, room_trials=0))) == (
        "tuning:observe   dirty_decay_ms 20000, 1 step that it would try"
    )
    assert tuned_text(told_of(Tuning("observe", 9, 9, 0, 0, 0, 10_000, ()))) == "tuning:observe   no step so far"


def test_what_is_not_known_after_a_step_is_not_told() -> None:
    """A trial that ended early was not judged; a shorter time needs no trial; another library tells other things."""
    early = replace(STEPS[1], reason_after=0, effect_after=0)
    back = Step(99_000, "dirty_decay_ms", 20_000, 10_000, "kept", 3_000, 0, 400, 0)
    nothing = replace(STEPS[2], reason_after=0, effect_after=0)
    other = Step(9, "slab_sizes", 100, 200, "kept", 1, 2, 3, 4)
    depots = Step(4280, "depot_room", 100, 800, "undone", 0, 0, 60_254, 65_122)
    rows = step_rows(told_of(replace(TUNING, last_steps=(early, back, nothing, other, depots))))
    assert [row[4:] for row in reversed(rows)] == [
        ("misses 1.0 %", "6.2 ns an operation"),
        ("wanted again 0.3 %", "0.04 % of wanted pages gone"),
        ("wanted again 20.1 → 0.0 %", "0.9 → 0.0 % of wanted pages gone"),
        ("–", "–"),
        ("–", "60.3 → 65.1 ns an operation"),
    ]


def test_who_tells_nothing_of_tuning_has_neither_line_nor_steps() -> None:
    for view in (told_of(None), live_view(moment(1, **GLIBC), None)):
        assert (tuned_text(view), step_rows(view)) == ("", [])


def test_words_of_a_recording_cannot_move_the_cursor() -> None:
    """A recording is a file that anybody may have written."""
    odd = replace(TUNING, mode="on\x1b[2J", last_steps=(replace(STEPS[0], setting="a\nb", outcome="\x1b[31m[/x]"),))
    shown = [tuned_text(told_of(odd)), *step_rows(told_of(odd))[0]]
    assert all(one.isprintable() for one in shown)


def test_json_has_it_and_null_where_nothing_is_told() -> None:
    tuning = is_as_described(top_json((), told_of(TUNING)), "top")["process"]["tuning"]
    assert (tuning["room_depots"], tuning["last_steps"][1]["outcome"]) == (12 << 20, "undone")
    assert is_as_described(top_json((), told_of(None)), "top")["process"]["tuning"] is None


def test_a_look_draws_only_tables_that_differ_and_leaves_them_where_they_were_scrolled_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = TopApp(MadeUp(), 1000, 42)
    cleared: list[str | None] = []
    plain = DataTable.clear

    def clear(table: DataTable[Text], columns: bool = False) -> DataTable[Text]:
        cleared.append(table.id)
        return plain(table, columns)

    async def run() -> None:
        async with app.run_test(size=(50, 36)) as pilot:
            await settle(pilot)
            await pilot.press("2")
            await settle(pilot)
            table = app.screen.query_one("#table-bins", DataTable)
            table.scroll_to(x=9, animate=False)
            await settle(pilot)
            monkeypatch.setattr(DataTable, "clear", clear)
            app.refresh_now()
            await settle(pilot)
            assert table.scroll_x == 9

    asyncio.run(run())
    assert "table-bins" in cleared  # the made-up process has asked for more meanwhile
    assert "table-tuning" not in cleared
