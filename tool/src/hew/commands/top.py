# SPDX-License-Identifier: MIT
"""`hew top`: processes with their allocators, and where the memory of one is, as it changes."""

import sys

import click

from hew.analysis.live import live_view
from hew.commands.options import told
from hew.model.errors import HewError
from hew.model.live import LiveView, Moment, ProcessRow
from hew.sources.live import Processes
from hew.sources.processes import stat_fields
from hew.views.top import TopApp


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


@click.command("top")
@click.option(
    "--every", type=click.FloatRange(min=0.2), default=2.0, show_default=True, help="Seconds between two looks."
)
@click.argument("pid", type=click.IntRange(min=1), required=False)
def command(every: float, pid: int | None) -> None:
    """Show where the memory of processes is, and how fast they allocate, fill and wait.

    A process on hew with a control socket (`hew run` gives it one) is asked for its statistics; of any other, what the
    kernel knows is shown.
    """
    with told("hew top"):
        if pid is not None and not stat_fields(pid):
            raise HewError(f"there is no process {pid}")
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise HewError("this needs a terminal; `hew stats PID --json` and `hew doctor PID --json` are for scripts")
        TopApp(LiveFeed(Processes()), every, pid).run()
