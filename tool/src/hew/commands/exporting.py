# SPDX-License-Identifier: MIT
"""What `hew export` does until it is ended: serves looks, and puts them into the queue of a remote write."""

import threading
import time
from collections.abc import Mapping
from importlib.metadata import version

import click

from hew.analysis.metrics.families import families, queue_families
from hew.analysis.metrics.series import batches, series, with_ends
from hew.model.address import Guard
from hew.model.metric import Family, Labels, Look
from hew.sources.export.queue import Queue
from hew.sources.export.remote_write import Engine, Sender
from hew.sources.export.server import MetricsServer
from hew.sources.export.watch import Watch
from hew.views.openmetrics import OPENMETRICS, openmetrics, plain, preferred
from hew.views.write_request import write_request

FRESH = 0.5  # seconds: scrapes that come together have one look


class Exporting:
    """Looks, one at a time, and their families."""

    def __init__(self, watch: Watch, per_arena: bool, per_bin: bool) -> None:
        self._watch, self._per_arena, self._per_bin = watch, per_arena, per_bin
        self._version = version("hewmalloc")
        self._lock = threading.Lock()
        self._last: tuple[float, Look, tuple[Family, ...]] | None = None
        self.queue: Queue | None = None

    def now(self, fresh: float = FRESH) -> tuple[Look, tuple[Family, ...]]:
        """A look, at most so many seconds old, with the state of the queue where there is one."""
        with self._lock:
            if self._last is None or time.monotonic() - self._last[0] > fresh:
                look = self._watch.look()
                found = families(look, self._version, self._per_arena, self._per_bin)
                self._last = time.monotonic(), look, found
            _, look, found = self._last
        return look, found + (queue_families(self.queue.state()) if self.queue else ())

    def text(self) -> str:
        """A scrape."""
        return openmetrics(self.now()[1])

    def page(self, accept: str) -> tuple[str, bytes]:
        """A scrape in the format that was asked for."""
        kind = preferred(accept)
        write = openmetrics if kind == OPENMETRICS else plain
        return kind, write(self.now()[1]).encode()


def say(text: str) -> None:
    """Print a line for the user who started the command."""
    click.echo(f"hew export: {text}", err=True)


def server_of(exporting: Exporting, guard: Guard) -> MetricsServer:
    """A server that listens already, and says where."""
    server = MetricsServer(guard, exporting.page)
    say(f"metrics at {server.listens.url}/metrics" + (", for clients with the token" if guard.token else ""))
    return server


def push(exporting: Exporting, engine: Engine, queue: Queue, labels: Mapping[str, str], every: float) -> None:
    """Sample and send until a signal comes; what waits then stays on disk."""
    sender = Sender(engine, queue, say)
    thread = threading.Thread(target=sender.run, name="sender", daemon=True)
    say(f"samples every {every:g} s to {engine.url}")
    thread.start()
    try:
        _sample(exporting, queue, labels, every)
    finally:
        sender.stop()
        thread.join(2.0)
        queue.close()


def _sample(exporting: Exporting, queue: Queue, labels: Mapping[str, str], every: float) -> None:
    before: dict[Labels, float] = {}
    due = time.monotonic()
    while True:
        look, found = exporting.now(fresh=0)
        now = series(found, labels)
        for rows in batches(with_ends(now, before)):
            queue.put(write_request(rows, int(look.at * 1000)), len(rows))
        before = now
        due = max(due + every, time.monotonic())
        time.sleep(max(due - time.monotonic(), 0.0))
