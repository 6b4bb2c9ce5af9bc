# SPDX-License-Identifier: MIT
"""What `hew top` draws again at each look."""

import asyncio

import pytest
from rich.text import Text
from textual.widgets import DataTable

from hew.views.top import TopApp
from test_top import MadeUp, settle


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
    assert "table-extents" not in cleared
