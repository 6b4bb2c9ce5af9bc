# SPDX-License-Identifier: MIT
"""One measured run of a server under one allocator, loaded by a client that runs as it always does.

The server is started on a free port, asked until it is ready, loaded, measured while it is still alive, and stopped by
its process id. Its CPU time is what it used while the client ran: neither its start nor its end counts.
"""

import contextlib
import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, Protocol

from hew.model.errors import HewError
from hew.model.figures import CLIENT_WALL, SERVER_CPU, SERVER_PEAK_RSS, SERVER_PSS, SERVER_RSS
from hew.model.run import PORT, Failure, Plan, Run, ServerPlan, Step
from hew.sources.client_output import read_client_output
from hew.sources.discovery import describe_status
from hew.sources.launcher import Launched, Streams, launch
from hew.sources.measure import Place, captured, end_survivors, measure_command, tail
from hew.sources.processes import cpu_time, memory_status, proportional, read_text, tree
from hew.sources.sampler import Sampler

READY_LIMIT = 60.0  # seconds a server may take to start
READY_POLL = 0.05
READY_TRY_LIMIT = 20.0  # seconds one try of the ready command may take
FIRST_PORT = 10_000
STOP_LIMIT = 10.0  # seconds between SIGTERM and SIGKILL
DYING_LIMIT = 5.0  # seconds a server that dropped its client may take to be gone
SETTLE = 0.1  # seconds between the client's end and the reading of the server's memory


class RunFailedError(Exception):
    """This run gives no figures; the others may."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.reason)
        self.failure = failure


def free_port() -> int:
    """A loopback port on which no process listens now.

    It is outside the range of ephemeral ports. A connection that checks whether the server is up could otherwise get
    that port as its own, and would reach itself.
    """
    given = read_text("/proc/sys/net/ipv4/ip_local_port_range").split()
    end = max(int(given[0]) if given else 0, FIRST_PORT + 1000)
    while True:
        with socket.socket() as probe, contextlib.suppress(OSError):
            port = random.randrange(FIRST_PORT, end)  # noqa: S311
            probe.bind(("127.0.0.1", port))
            return port


def with_port(words: Sequence[str], port: int) -> tuple[str, ...]:
    """The words of a command with the run's port in them."""
    return tuple(word.replace(PORT, str(port)) for word in words)


def measure_plan(plan: Plan, place: Place, step: Step) -> Run:
    """One run of whatever it is."""
    return measure_server(plan, place, step) if isinstance(plan, ServerPlan) else measure_command(plan, place, step)


class Onlooker(Protocol):
    """An observer that needs more of a server than its figures."""

    def loaded(self, pid: int) -> None:
        """The load is over, and the server is still alive."""

    def ended(self, errors: BinaryIO) -> None:
        """It has been stopped; this is its stderr."""


def measure_server(plan: ServerPlan, place: Place, step: Step, onlooker: Onlooker | None = None) -> Run:
    """Start the server under the allocator, load it, measure it, stop it."""
    port = free_port()
    with ExitStack() as stack:
        nothing = stack.enter_context(Path(os.devnull).open("rb"))
        streams = stack.enter_context(captured(nothing))
        server = stack.enter_context(launch(with_port(plan.server, port), place.environment, place.preload, streams))
        sampler = Sampler(server.pid, place.library)
        figures: dict[str, float] = {}
        failure = None
        try:
            server.open_gate()
            sampler.start()
            _await_ready(plan, server, place, port, streams)
            figures = _load(plan, server, place, port, streams)
            if onlooker:
                onlooker.loaded(server.pid)
            if sampler.misses_library():
                failure = Failure("the preloaded library is not in the server", tail(streams.errors))
        except RunFailedError as error:
            failure = error.failure
        finally:
            _stop(server)
            sampler.stop()
            end_survivors(sampler)
        if onlooker:
            onlooker.ended(streams.errors)
        return Run(
            allocator=step.allocator,
            round=step.round,
            figures={} if failure else figures,
            rss=tuple(sampler.points),
            failure=failure,
            own_allocators=sampler.foreign_allocators(),
        )


def watch_server(plan: ServerPlan, place: Place, onlooker: Onlooker) -> None:
    """One run for what an onlooker sees of it. Raises HewError when it fails."""
    failure = measure_server(plan, place, Step(plan.server[0], 0), onlooker).failure
    if failure:
        raise HewError(f"{plan.server[0]}: {failure.reason}\n{failure.stderr_tail}".rstrip())


def _await_ready(plan: ServerPlan, server: Launched, place: Place, port: int, streams: Streams) -> None:
    """Return once the ready command (or, without one, a connection to the port) succeeds."""
    deadline = time.monotonic() + READY_LIMIT
    while True:
        if not server.running():
            raise RunFailedError(Failure("the server ended before it was ready", _said(streams)))
        if _is_ready(plan, place, port):
            return
        if time.monotonic() > deadline:
            raise RunFailedError(Failure(f"the server was not ready within {READY_LIMIT:g} s", _said(streams)))
        time.sleep(READY_POLL)


def _is_ready(plan: ServerPlan, place: Place, port: int) -> bool:
    if plan.ready is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=READY_TRY_LIMIT):
            return True
        return False
    try:
        tried = subprocess.run(
            with_port(plan.ready, port),
            env=place.environment,
            capture_output=True,
            timeout=READY_TRY_LIMIT,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    except OSError as error:
        raise HewError(f"--ready: {plan.ready[0]}: {error.strerror}") from error
    return tried.returncode == 0


def _load(plan: ServerPlan, server: Launched, place: Place, port: int, streams: Streams) -> dict[str, float]:
    """Run the client, then read the server's memory and CPU time while it lives."""
    before = sum(cpu_time(pid) for pid in tree(server.pid))
    alone = Place(None, place.environment)
    with (
        Path(os.devnull).open("rb") as nothing,
        captured(nothing) as client_streams,
        launch(with_port(plan.client, port), place.environment, alone.preload, client_streams) as client,
    ):
        client.open_gate()
        ending = client.wait(plan.timeout)
        processes = tree(server.pid)
        cpu = sum(cpu_time(pid) for pid in processes) - before
        if not _survived(server, clean=ending.status == 0):
            raise RunFailedError(Failure("the server ended during the load", _said(streams)))
        if ending.timed_out:
            raise RunFailedError(Failure(f"the client did not end within {plan.timeout:g} s", _said(client_streams)))
        if ending.status != 0:
            raise RunFailedError(Failure(f"the client: {describe_status(ending.status)}", _said(client_streams)))
        time.sleep(SETTLE)
        alive = tree(server.pid)
        memory = [memory_status(pid) for pid in alive]
        tree_pss = {SERVER_PSS.key: float(shared)} if (shared := proportional(alive)) and len(alive) > 1 else {}
        client_streams.output.seek(0)
        text = client_streams.output.read().decode(errors="replace")
    return {
        SERVER_RSS.key: float(max(rss for rss, _ in memory)),
        SERVER_PEAK_RSS.key: float(max(peak for _, peak in memory)),
        **tree_pss,
        SERVER_CPU.key: cpu,
        CLIENT_WALL.key: ending.wall,
        **read_client_output(text, plan.metrics),
    }


def _survived(server: Launched, clean: bool) -> bool:
    """Whether the server lives on. A dying server drops its client first, so after a failed client it gets a moment."""
    deadline = time.monotonic() + (0.0 if clean else DYING_LIMIT)
    while server.running():
        if time.monotonic() >= deadline:
            return True
        time.sleep(READY_POLL)
    return False


def _said(streams: Streams) -> str:
    """The end of stderr, or of stdout for programs that complain there."""
    return tail(streams.errors) or tail(streams.output)


def _stop(server: Launched) -> None:
    """SIGTERM, and SIGKILL to what is left after a while."""
    server.signal(signal.SIGTERM)
    server.wait(STOP_LIMIT)
