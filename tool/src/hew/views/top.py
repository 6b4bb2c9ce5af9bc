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
from textual.widgets import DataTable, Footer, Header, Static, TabbedContent, TabPane
from textual.worker import get_current_worker

from hew.model.errors import HewError
from hew.model.live import Feed, LiveView, ProcessRow
from hew.model.quantity import size
from hew.views.top_tables import TABLES, headline, parts_text, rates_text

READING = "reading"
LIST_COLUMNS = ("pid", "user", "name", "allocator", "resident", "threads", "statistics")


class LiveScreen(Screen[None]):
    """A screen that is read anew every so often, once it is there."""

    ready = False

    def prepare(self) -> None:
        """The columns of tables, when the widgets are there."""
        raise NotImplementedError

    def on_mount(self) -> None:
        """From now on there is a place to show things."""
        self.prepare()
        self.ready = True
        self.on_screen_resume()

    def read(self, feed: Feed) -> Callable[[], None]:
        """Read, in a thread of its own; what comes back shows what was read. Raises HewError."""
        raise NotImplementedError

    def on_screen_resume(self) -> None:
        """We have come to the top."""
        if self.ready and isinstance(self.app, TopApp):
            self.app.refresh_now()

    def tell(self, text: str) -> None:
        """The line at the bottom."""
        self.query_one("#message", Static).update(text)


class ProcessList(LiveScreen):
    """The processes, the largest first. Enter looks into one."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("q", "app.quit", "quit"), Binding("p", "app.pause", "pause")]

    def compose(self) -> ComposeResult:
        """The table, with a line below for what went wrong."""
        yield Header(show_clock=False)
        yield DataTable(id="processes", cursor_type="row")
        yield Static("reading the processes …", id="message")
        yield Footer()

    def prepare(self) -> None:
        """Columns first; rows when they have been read."""
        self.query_one("#processes", DataTable).add_columns(*LIST_COLUMNS)

    def read(self, feed: Feed) -> Callable[[], None]:
        """The processes."""
        return partial(self.show, feed.processes())

    def show(self, rows: Sequence[ProcessRow]) -> None:
        """Replace the rows; the cursor stays on its process."""
        table = self.query_one("#processes", DataTable)
        kept = self.chosen()
        table.clear()
        for row in rows:
            asks = "yes" if row.asks else "from outside"
            cells = (row.pid, row.user, row.name, row.allocator, size(row.resident), row.threads, asks)
            table.add_row(*(Text(str(cell)) for cell in cells), key=str(row.pid))
        if kept is not None and kept in table.rows:
            table.move_cursor(row=table.get_row_index(kept), animate=False)
        self.tell(f"{len(rows)} processes; Enter looks into one")

    def chosen(self) -> str | None:
        """The key of the row under the cursor."""
        table = self.query_one("#processes", DataTable)
        if not table.row_count:
            return None
        return table.coordinate_to_cell_key(table.cursor_coordinate).row_key.value

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Look into the process."""
        if event.row_key.value is not None:
            self.app.push_screen(ProcessView(int(event.row_key.value)))


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

    def compose(self) -> ComposeResult:
        """Who it is, its memory, its rates, its tables."""
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
            shown = self.query_one(f"#table-{table.key}", DataTable)
            at = shown.cursor_coordinate
            shown.clear()
            shown.add_rows([Text(cell) for cell in row] for row in table.rows(view))
            shown.move_cursor(row=at.row, animate=False)
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
        self.set_interval(self._every, self.refresh_now)

    def action_pause(self) -> None:
        """Stand still, or go on."""
        self._paused = not self._paused
        self.sub_title = "paused" if self._paused else ""

    def refresh_now(self) -> None:
        """Read for the screen on top, unless the last reading still goes on."""
        busy = any(worker.group == READING and worker.is_running for worker in self.workers)
        if not self._paused and not busy:
            self.run_worker(self._read, thread=True, group=READING)

    def _read(self) -> None:
        """In a thread of its own."""
        screen = self.screen
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
        if screen.is_attached:
            show()
        if screen is not self.screen:  # another one has come up meanwhile, and waits for its first reading
            self.call_later(self.refresh_now)
