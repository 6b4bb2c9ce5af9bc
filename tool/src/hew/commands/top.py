# SPDX-License-Identifier: MIT
"""`hew top`: processes with their allocators, and where the memory of one is, as it changes."""

import gc
import sys
import time
from pathlib import Path

import click

from hew.analysis.live import live_view
from hew.commands.options import ProcessId, told
from hew.commands.replaying import ReplayFeed
from hew.model.errors import HewError
from hew.model.live import LiveView, Moment, ProcessRow
from hew.sources.control import remove_stale_sockets
from hew.sources.history.recording import read_looks
from hew.sources.live import Processes
from hew.sources.processes import stat_fields
from hew.views.replay import ReplayApp
from hew.views.top import TopApp
from hew.views.top_document import top_json


class LiveFeed:
    """Reads this machine's processes; keeps the last look at each one for the rates."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self._last: dict[int, Moment] = {}

    def processes(self) -> tuple[ProcessRow, ...]:
        """The processes that we may look at, the largest first."""
        return self._processes.rows()

    def look(self, pid: int) -> LiveView:
        """One process now."""
        now = self._processes.moment(pid)
        before = self._last.get(pid)
        self._last = {pid: now}
        return live_view(now, before)


NO_TERMINAL = "this needs a terminal; `hew top --json`, with PID or without, is for scripts"


@click.command("top")
@click.option(
    "--every", type=click.FloatRange(min=0.2), default=2.0, show_default=True, help="Seconds between two looks."
)
@click.option("--json", "as_json", is_flag=True, help="Print what one look shows; of PID two, for the rates.")
@click.option(
    "--replay",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Show a recording of hew watch instead: space pauses, the arrows left and right step.",
)
@click.option(
    "--speed", type=click.FloatRange(min=0, min_open=True), default=1.0, show_default=True, help="Of the replay."
)
@click.argument("pid", type=ProcessId(), required=False)
def command(every: float, as_json: bool, replay: Path | None, speed: float, pid: int | None) -> None:
    """Show where the memory of processes is, and how fast they allocate, fill and wait.

    A process on hew with a control socket (`hew run` gives it one) is asked for its statistics; of any other, what the
    kernel knows is shown.
    """
    with told("hew top"):
        if replay is not None:
            _replay(ReplayFeed(read_looks(replay)), as_json, speed, pid)
            return
        if pid is not None and not stat_fields(pid):
            raise HewError(f"there is no process {pid}")
        remove_stale_sockets()
        if as_json:
            click.echo(_looked(LiveFeed(Processes()), every, pid))
            return
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise HewError(NO_TERMINAL)
        gc.freeze()  # what was imported lives as long as we do: walking through it was an eighth of the time
        TopApp(LiveFeed(Processes()), every, pid).run()


def _replay(feed: ReplayFeed, as_json: bool, speed: float, pid: int | None) -> None:
    """A recording, from its beginning; for scripts, its end."""
    if as_json:
        feed.go_to_end()
        click.echo(top_json(feed.processes(), None) if pid is None else top_json((), feed.look(pid)))
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise HewError(NO_TERMINAL)
    only = {row.pid for row in feed.processes()}
    ReplayApp(feed, feed.period / speed, pid if pid is not None or len(only) != 1 else only.pop()).run()


def _looked(feed: LiveFeed, every: float, pid: int | None) -> str:
    """The list, or one process as of its second look."""
    if pid is None:
        return top_json(feed.processes(), None)
    feed.look(pid)
    time.sleep(every)
    return top_json((), feed.look(pid))
