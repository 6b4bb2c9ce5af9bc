# SPDX-License-Identifier: MIT
"""`hew top` on the terminal: a list of processes; of one, its memory as a waterfall, rates, and tables to drill into.

Reading happens in a worker, so that a slow process never holds up the keyboard.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import Screen
from textual.widgets import DataTable, Footer, Header, Input, Static, TabbedContent, TabPane
from textual.worker import get_current_worker

from hew.model.errors import HewError
from hew.model.live import Feed, LiveView, ProcessRow
from hew.model.quantity import size
from hew.views.process_table import Column, ProcessTable
from hew.views.top_tables import TABLES, Row, headline, parts_text, rates_text

READING = "reading"
COLUMNS = (
    Column("pid", 8),
    Column("user", 10),
    Column("name", 16),
    Column("allocator", 26),
    Column("resident", 10, right=True),
    Column("threads", 7, right=True),
    Column("statistics", 12),
)
LIST_COLUMNS = tuple(one.name for one in COLUMNS)


class LiveScreen(Screen[None]):
    """A screen that refreshes at intervals once it is shown."""

    ready = False
    _told: str | None = None

    def prepare(self) -> None:
        """The columns of tables, when the widgets are there."""
        raise NotImplementedError

    def on_mount(self) -> None:
        """From now on there is a place to show things."""
        self.prepare()
        self.ready = True
        self.on_screen_resume()

    def read(self, feed: Feed) -> Callable[[], None]:
        """Read, in a thread of its own. Returns a function that shows the result. Raises HewError."""
        raise NotImplementedError

    def on_screen_resume(self) -> None:
        """We have come to the top."""
        if self.ready and isinstance(self.app, TopApp):
            self.app.refresh_now()

    def tell(self, text: str) -> None:
        """The line at the bottom."""
        if text != self._told:
            self._told = text
            self.query_one("#message", Static).update(text)


class ProcessList(LiveScreen):
    """The processes, the largest first unless asked otherwise. Enter looks into one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "app.quit", "quit"),
        Binding("p", "app.pause", "pause"),
        Binding("s", "sort", "sort"),
        Binding("slash", "filter", "filter"),
        Binding("escape", "all", "all", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._rows: Sequence[ProcessRow] = ()
        self._order = LIST_COLUMNS.index("resident")
        self._wanted = ""

    def compose(self) -> ComposeResult:
        """The table, with a line below for what went wrong."""
        yield Header(show_clock=False)
        yield ProcessTable(COLUMNS, id="processes")
        yield Input(placeholder="part of a name, user, allocator or pid", id="filter", classes="hidden")
        yield Static("reading the processes …", id="message")
        yield Footer()

    def prepare(self) -> None:
        """The keyboard in the list; rows come when they have been read."""
        self.query_one("#processes", ProcessTable).focus()

    def read(self, feed: Feed) -> Callable[[], None]:
        """The processes."""
        return partial(self.show, feed.processes())

    def show(self, rows: Sequence[ProcessRow]) -> None:
        """What is true now."""
        self._rows = rows
        self.lay_out()

    def lay_out(self) -> None:
        """The rows that are wanted, in order."""
        shown = sorted((row for row in self._rows if self._matches(row)), key=self._sort_key)
        self.query_one("#processes", ProcessTable).put([(str(row.pid), _cells(row)) for row in shown])
        of_all = f" of {len(self._rows)} that match “{self._wanted}”" if self._wanted else ""
        by = "" if LIST_COLUMNS[self._order] == "resident" else f", by {LIST_COLUMNS[self._order]}"
        self.tell(f"{len(shown)}{of_all} processes{by}; Enter looks into one")

    def _matches(self, row: ProcessRow) -> bool:
        return self._wanted.lower() in " ".join(_cells(row)[:4]).lower()

    def _sort_key(self, row: ProcessRow) -> tuple[object, ...]:
        keys = (row.pid, row.user, row.name.lower(), row.allocator.lower(), -row.resident, -row.threads, not row.asks)
        return (keys[self._order], -row.resident)

    def action_sort(self) -> None:
        """By the next column."""
        self._order = (self._order + 1) % len(LIST_COLUMNS)
        self.lay_out()

    def action_filter(self) -> None:
        """Type a part of what is looked for."""
        box = self.query_one("#filter", Input)
        box.remove_class("hidden")
        box.focus()

    def action_all(self) -> None:
        """Every process again."""
        box = self.query_one("#filter", Input)
        box.value = ""
        box.add_class("hidden")
        self.query_one("#processes", ProcessTable).focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """With each letter fewer."""
        self._wanted = event.value
        self.lay_out()

    def on_input_submitted(self, _event: Input.Submitted) -> None:
        """Back to the list, which stays as it is."""
        self.query_one("#processes", ProcessTable).focus()

    def on_process_table_chosen(self, event: ProcessTable.Chosen) -> None:
        """Look into the process."""
        self.app.push_screen(ProcessView(int(event.key)))


def _cells(row: ProcessRow) -> tuple[str, ...]:
    asks = "yes" if row.asks else "from outside"
    return (str(row.pid), row.user, row.name, row.allocator, size(row.resident), str(row.threads), asks)


class ProcessView(LiveScreen):
    """One process."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "list"),
        Binding("q", "app.quit", "quit"),
        Binding("p", "app.pause", "pause"),
        *(Binding(str(at + 1), f"tab('{table.key}')", table.title, show=True) for at, table in enumerate(TABLES)),
    ]

    def __init__(self, pid: int) -> None:
        super().__init__()
        self.pid = pid
        self._rows: dict[str, list[Row]] = {}  # as they stand there: much of an idle process stays

    def compose(self) -> ComposeResult:
        """The process's title, memory, rates and tables."""
        yield Header(show_clock=False)
        with Vertical(id="summary"):
            yield Static(f"process {self.pid}: reading …", id="head", markup=False)
            yield Static("", id="parts", markup=False)
            yield Static("", id="rates", markup=False)
        with TabbedContent(id="tabs"):
            for table in TABLES:
                with TabPane(table.title, id=table.key):
                    yield DataTable(id=f"table-{table.key}", cursor_type="row")
        yield Static("", id="message", markup=False)
        yield Footer()

    def prepare(self) -> None:
        """The columns of each table."""
        for table in TABLES:
            self.query_one(f"#table-{table.key}", DataTable).add_columns(*table.columns)

    def read(self, feed: Feed) -> Callable[[], None]:
        """The process."""
        return partial(self.show, feed.look(self.pid))

    def show(self, view: LiveView) -> None:
        """Replace everything by what is true now."""
        self.query_one("#head", Static).update(headline(view))
        self.query_one("#parts", Static).update(parts_text(view, self.size.width))
        self.query_one("#rates", Static).update(rates_text(view))
        for table in TABLES:
            rows = table.rows(view)
            if rows == self._rows.get(table.key):
                continue
            self._rows[table.key] = rows
            shown = self.query_one(f"#table-{table.key}", DataTable)
            at, left = shown.cursor_coordinate, shown.scroll_x
            shown.clear()
            shown.add_rows([Text(cell) for cell in row] for row in rows)
            shown.move_cursor(row=at.row, animate=False)
            self.call_after_refresh(shown.scroll_to, x=left, animate=False)  # its width is known only then
        self.tell(view.moment.why)

    def action_tab(self, key: str) -> None:
        """Show one of the tables, with the keyboard in it."""
        self.query_one("#tabs", TabbedContent).active = key
        self.query_one(f"#table-{key}", DataTable).focus()

    def action_back(self) -> None:
        """To the list; it is there even when we came straight to a process."""
        self.app.pop_screen()


class TopApp(App[None]):
    """Reads every so many seconds for the screen that is shown."""

    TITLE = "hew top"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #processes { height: 1fr; }
    #summary { height: auto; padding: 0 1; }
    #rates { margin: 1 0 0 0; }
    #tabs { height: 1fr; }
    .hidden { display: none; }
    #message { height: auto; padding: 0 1; color: $text-muted; }
    """

    def __init__(self, feed: Feed, every: float, pid: int | None = None) -> None:
        super().__init__()
        self._feed = feed
        self._every = every
        self._pid = pid
        self._paused = False

    def on_mount(self) -> None:
        """The list is always below; the process that was asked for on top."""
        self.push_screen(ProcessList())
        if self._pid is not None:
            self.push_screen(ProcessView(self._pid))
        self.set_interval(self._every, self.on_interval)

    def on_interval(self) -> None:
        """Time to look again."""
        self.refresh_now()

    def may_read(self) -> bool:
        """Whether a reading may begin."""
        return not self._paused

    def action_pause(self) -> None:
        """Stand still, or go on."""
        self._paused = not self._paused
        self.sub_title = "paused" if self._paused else ""

    def refresh_now(self) -> None:
        """Read for the screen on top, unless the last reading still goes on."""
        busy = any(worker.group == READING and worker.is_running for worker in self.workers)
        if self.may_read() and not busy:
            self.run_worker(self._read, thread=True, group=READING)

    def _read(self) -> None:
        """In a thread of its own."""
        stack = self.screen_stack
        screen = stack[-1] if stack else None  # none: it ends
        if not (isinstance(screen, LiveScreen) and screen.ready):
            return
        show: Callable[[], None]
        try:
            show = screen.read(self._feed)
        except HewError as error:
            show = partial(screen.tell, str(error))
        if not get_current_worker().is_cancelled:
            self.call_from_thread(self._show, screen, show)

    def _show(self, screen: "LiveScreen", show: Callable[[], None]) -> None:
        stack = self.screen_stack if self.is_running else []  # what ends takes the widgets of screens off first
        if screen in stack:  # one that was left loses its widgets before it is detached
            show()
        if stack and screen is not stack[-1]:  # another one has come up meanwhile, and waits for its first reading
            self.call_later(self.refresh_now)
