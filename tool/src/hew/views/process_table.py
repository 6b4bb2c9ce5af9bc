# SPDX-License-Identifier: MIT
"""The list of `hew top`: lines of fixed columns under a heading. Only lines that changed are drawn again.

A DataTable draws every visible row when one of its cells changes: with 120 processes that was most of the cost of
`hew top`.
"""

from collections.abc import Sequence
from typing import ClassVar

from rich.cells import set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from hew.model.lazy_dataclass import dataclass

HEADING = 1  # lines above the first row


@dataclass(frozen=True)
class Column:
    """A column: its name, its cells, whether it is flush right (numbers)."""

    name: str
    width: int
    right: bool = False

    def cell(self, text: str) -> str:
        """A value as wide as the column; what is too long loses its end, never a number's beginning."""
        return text.rjust(self.width) if self.right else set_cell_size(text, self.width)


class ProcessTable(ScrollView, can_focus=True):
    """Rows by their keys. `cursor` is the number of the chosen row."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"process-table--heading", "process-table--cursor"}
    DEFAULT_CSS = """
    ProcessTable { background: $surface; color: $foreground; overflow-x: hidden; }
    ProcessTable > .process-table--heading { background: $panel; text-style: bold; }
    ProcessTable > .process-table--cursor { background: $primary; color: $text; text-style: bold; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", show=False),
        Binding("down", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("home", "move(-1000000)", show=False),
        Binding("end", "move(1000000)", show=False),
        Binding("enter", "choose", "look into it"),
    ]

    class Chosen(Message):
        """Enter, or a click on the chosen row."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    def __init__(self, columns: Sequence[Column], id: str) -> None:  # noqa: A002 - textual's name
        super().__init__(id=id)
        self._columns = columns
        self.keys: list[str] = []
        self.rows: list[tuple[str, ...]] = []
        self.cursor = 0

    @property
    def chosen(self) -> str | None:
        """The key of the row under the cursor."""
        return self.keys[self.cursor] if self.keys else None

    def put(self, rows: Sequence[tuple[str, tuple[str, ...]]]) -> None:
        """The rows from now on, each with its key; the cursor stays with its row."""
        kept, before, count = self.chosen, self.rows, len(self.rows)
        self.keys, self.rows = [key for key, _ in rows], [cells for _, cells in rows]
        at = self.keys.index(kept) if kept in self.keys else min(self.cursor, max(len(rows) - 1, 0))
        if len(rows) != count:
            self.virtual_size = Size(0, len(rows) + HEADING)
            self.refresh()
        else:
            for number, (old, new) in enumerate(zip(before, self.rows, strict=True)):
                if old != new:
                    self._draw(number)
        self._go(at)

    def _draw(self, number: int) -> None:
        """One row, if it can be seen."""
        line = number + HEADING - self.scroll_offset.y
        if HEADING <= line < self.size.height:
            self.refresh(Region(0, line, self.size.width, 1))

    def _go(self, at: int) -> None:
        """The cursor to a row, which can be seen then."""
        if at != self.cursor:
            old, self.cursor = self.cursor, at
            self._draw(old)
            self._draw(at)
        room, top = max(self.size.height - HEADING, 1), self.scroll_offset.y
        if at < top:
            self.scroll_to(y=at, animate=False)
        elif at >= top + room:
            self.scroll_to(y=at - room + 1, animate=False)

    def render_line(self, y: int) -> Strip:
        """The heading first; below it the rows from where we have scrolled to."""
        if y < HEADING:
            return self._line([one.name for one in self._columns], "process-table--heading")
        number = y - HEADING + self.scroll_offset.y
        if number >= len(self.rows):
            return Strip.blank(self.size.width, self.rich_style)
        return self._line(self.rows[number], "process-table--cursor" if number == self.cursor else "")

    def _line(self, cells: Sequence[str], kind: str) -> Strip:
        style: Style = self.get_component_rich_style(kind) if kind else self.rich_style
        text = " " + "  ".join(column.cell(cell) for column, cell in zip(self._columns, cells, strict=True))
        return Strip([Segment(set_cell_size(text, self.size.width), style)], self.size.width)

    def action_move(self, by: int) -> None:
        """Rows down, or up."""
        if self.rows:
            self._go(min(max(self.cursor + by, 0), len(self.rows) - 1))

    def action_page(self, by: int) -> None:
        """Pages down, or up."""
        self.action_move(by * max(self.size.height - HEADING, 1))

    def action_choose(self) -> None:
        """Look into the row under the cursor."""
        if self.chosen is not None:
            self.post_message(self.Chosen(self.chosen))

    def on_click(self, event: events.Click) -> None:
        """The row under the mouse; the second click chooses it."""
        number = event.y - HEADING + self.scroll_offset.y
        if event.y < HEADING or number >= len(self.rows):
            return
        if number == self.cursor:
            self.action_choose()
        else:
            self._go(number)
