# SPDX-License-Identifier: MIT
"""hew top with processes that run: which there are, and what is inside them."""

import subprocess
import sys
from pathlib import Path

import pytest

from conftest import environment, wait_until
from hew.commands.top import LiveFeed
from hew.model.errors import HewError
from hew.sources.control import find_socket
from hew.sources.live import Processes
from hew.views.top_tables import arena_rows, thread_rows


def test_a_filter_sees_every_process_not_only_the_largest() -> None:
    with_name = [subprocess.Popen(["sleep", "600"]) for _ in range(80)]
    try:
        rows = Processes().rows()
        assert {one.pid for one in with_name} <= {row.pid for row in rows}
    finally:
        for one in with_name:
            one.kill()
            one.wait()


def test_real_processes(hew_library: Path, tmp_path: Path) -> None:
    conf = f"control:{tmp_path}/%p"
    script = (
        "import ctypes, sys, threading; kept = [bytes(1000) for _ in range(20000)]\n"
        "def work():\n"
        "    ctypes.CDLL(None).prctl(15, b'my worker'); ctypes.CDLL(None).malloc(100); print('', flush=True)\n"
        "    threading.Event().wait()\n"
        "threading.Thread(target=work, daemon=True).start(); sys.stdin.read()"
    )
    settings = {"LD_PRELOAD": str(hew_library), "MALLOC_CONF": conf}
    with subprocess.Popen(
        [sys.executable, "-c", script], env=environment(settings), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        wait_until(lambda: find_socket(child.pid) is not None)
        processes = Processes()
        assert processes.allocator(child.pid).startswith("hew")  # known from now on: the list need not wait for others
        feed = LiveFeed(processes)
        row = next(row for row in feed.processes() if row.pid == child.pid)
        assert row.allocator.startswith("hew")
        assert row.asks
        feed.look(child.pid)
        view = feed.look(child.pid)
        parts = {part.label: part.bytes or 0 for part in view.parts}
        assert parts["live objects"] > 20_000_000
        assert sum(parts.values()) == view.moment.outside.resident
        assert any(rate.label == "requests" and rate.value is not None for rate in view.rates)
        threads = {row[1]: row for row in thread_rows(view)}
        assert threads["my worker"][2] != threads[view.moment.name][2]
        assert "my worker" in {row[3] for row in arena_rows(view)}
        child.kill()
    with pytest.raises(HewError, match="no process"):
        feed.look(child.pid)
