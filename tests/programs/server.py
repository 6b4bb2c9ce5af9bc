# SPDX-License-Identifier: MIT
"""A server for the length of one run: started on loopback, watched for memory, asked to stop, and never left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import crash
from execute import end_session, maps_hold, spawn
from model import Place, Server

START_SECONDS = 60.0
STOP_SECONDS = 60.0
SAMPLE_SECONDS = 0.1


class ServerFailed(Exception):
    """The server did not start, or died, or would not stop; the text says which."""


def free_port() -> int:
    """A TCP port that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def status_number(pid: int, field: str) -> int:
    """A figure from /proc/PID/status, 0 when the process is gone."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1])
    except OSError:
        return 0
    return 0


def cpu_seconds(pid: int) -> float:
    """CPU time of a process and of the children it has waited for, 0 when it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(int(field) for field in fields[11:15]) / float(os.sysconf("SC_CLK_TCK"))


def proportional_kb(pid: int) -> int:
    """Proportional set size of one process, 0 when it is gone."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    except OSError:
        return 0
    return 0


def family(root: int) -> list[int]:
    """A process and all its descendants; sessions do not tell, because PostgreSQL's backends leave theirs."""
    parents: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            parents.setdefault(status_number(int(entry), "PPid"), []).append(int(entry))
    members = [root]
    for pid in members:
        members.extend(parents.get(pid, []))
    return members


class TreeSampler(threading.Thread):
    """Samples the memory of a server with several processes; shared pages count once."""

    def __init__(self, leader: int) -> None:
        super().__init__(daemon=True)
        self.leader = leader
        self.peak_kb = 0
        self.stopped = threading.Event()

    def run(self) -> None:
        while not self.stopped.wait(SAMPLE_SECONDS):
            self.peak_kb = max(self.peak_kb, sum(proportional_kb(pid) for pid in family(self.leader)))


class RunningServer:
    """Use as a context manager around the steps of a run."""

    def __init__(self, server: Server, place: Place, library: str) -> None:
        self.server = server
        self.place = place
        self.library = library
        self.mapped = False
        self.peak_kb = 0
        self.cpu_seconds = 0.0
        self.error_path = place.run / ".server-stderr"
        self.process: subprocess.Popen[bytes] | None = None
        self.sampler: TreeSampler | None = None

    def start(self) -> None:
        environment = dict(self.place.environment)
        if self.library:
            environment["LD_PRELOAD"] = self.library
        with open(self.error_path, "wb") as err, open(os.devnull, "rb") as nothing:
            argv = self.place.fill_all(self.server.argv)
            self.process = spawn(argv, self.place, nothing.fileno(), err.fileno(), err.fileno(), environment)
        self.wait_until_ready()
        self.mapped = bool(self.library) and maps_hold(self.process.pid, self.library)
        if self.server.processes > 1:
            self.sampler = TreeSampler(self.process.pid)
            self.sampler.start()

    def wait_until_ready(self) -> None:
        assert self.process is not None
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise ServerFailed(f"the server ended with status {self.process.returncode} before it was ready")
            if self.answers():
                return
            time.sleep(0.05)
        raise ServerFailed(f"the server was not ready after {START_SECONDS:.0f} s\n{self.backtrace()}")

    def answers(self) -> bool:
        if self.server.ready:
            argv = self.place.fill_all(self.server.ready)
            return (
                subprocess.run(
                    argv,
                    env=dict(self.place.environment),
                    cwd=self.place.run,
                    capture_output=True,
                    stdin=subprocess.DEVNULL,
                    timeout=START_SECONDS,
                    check=False,
                ).returncode
                == 0
            )
        try:
            socket.create_connection(("127.0.0.1", self.place.port), 1).close()
        except OSError:
            return False
        return True

    def backtrace(self) -> str:
        return crash.backtrace_of_process(self.process.pid) if self.process is not None else ""

    def stop(self) -> int:
        """Note what it took, ask the server to end, and return its exit status."""
        assert self.process is not None
        self.peak_kb = status_number(self.process.pid, "VmHWM")
        self.cpu_seconds = sum(cpu_seconds(pid) for pid in family(self.process.pid))
        if self.sampler is not None:
            self.sampler.stopped.set()
            self.sampler.join()
            self.peak_kb = self.sampler.peak_kb
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            raise ServerFailed(f"the server did not stop within {STOP_SECONDS:.0f} s\n{self.backtrace()}") from None

    def discard(self) -> None:
        """Whatever happened, leave nothing running."""
        if self.sampler is not None:
            self.sampler.stopped.set()
        if self.process is not None:
            members = family(self.process.pid) if self.process.poll() is None else []
            end_session(self.process.pid)
            self.process.wait()
            for pid in members[1:]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def errors(self) -> str:
        return self.error_path.read_text(encoding="utf-8", errors="replace") if self.error_path.exists() else ""


class Display:
    """An X server without a screen, under the C library's own malloc, for programs with windows."""

    def __init__(self) -> None:
        read_end, write_end = os.pipe()
        argv = ["Xvfb", "-displayfd", str(write_end), "-screen", "0", "1024x768x24", "-nolisten", "tcp"]
        self.process = subprocess.Popen(
            argv,
            pass_fds=(write_end,),
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(write_end)
        with os.fdopen(read_end, encoding="ascii") as report:
            number = report.readline().strip()
        if not number:
            self.discard()
            raise ServerFailed("Xvfb did not start")
        self.name = f":{number}"

    def discard(self) -> None:
        self.process.terminate()
        self.process.wait(STOP_SECONDS)
