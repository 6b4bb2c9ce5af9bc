# SPDX-License-Identifier: MIT
"""A server for the length of one run: started on loopback by launch.c, asked to stop, and never left behind."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import TextIO

import crash
from execute import Taken, end_session, maps_hold, spawn
from model import Place, Server
from samples import Memory, read_samples

START_SECONDS = 60.0
STOP_SECONDS = 60.0


class ServerFailed(Exception):
    """The server did not start, or died, or would not stop; the text says which."""


def free_port() -> int:
    """A TCP port that is free now."""
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


class RunningServer:
    """Use as a context manager around the steps of a run."""

    def __init__(self, server: Server, place: Place, library: str, launcher: Path, sampled: bool) -> None:
        self.server = server
        self.place = place
        self.library = library
        self.launcher = launcher
        self.samples = place.run / ".server-samples" if sampled else None
        self.mapped = False
        self.pid = 0
        self.ready_at = 0.0
        self.taken: Taken | None = None
        self.error_path = place.run / ".server-stderr"
        self.process: subprocess.Popen[bytes] | None = None
        self.report: TextIO = io.StringIO()

    def start(self) -> None:
        read_end, write_end = os.pipe()
        self.report = os.fdopen(read_end, encoding="ascii")
        command = [str(self.launcher), str(write_end), str(self.samples or ""), self.library]
        with open(self.error_path, "wb") as err, open(os.devnull, "rb") as nothing:
            argv = [*command, *self.place.fill_all(self.server.argv)]
            environment = dict(self.place.environment)
            self.process = spawn(
                argv, self.place, nothing.fileno(), err.fileno(), err.fileno(), environment, (write_end,)
            )
        os.close(write_end)
        self.pid = int(self.report.readline().split()[1])
        self.wait_until_ready()
        self.ready_at = time.monotonic()
        self.mapped = bool(self.library) and maps_hold(self.pid, self.library)

    def wait_until_ready(self) -> None:
        assert self.process is not None
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise ServerFailed(f"the server ended with status {self.status()} before it was ready")
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
        return crash.backtrace_of_process(self.pid)

    def status(self) -> int:
        """Exit status of the server, or minus the signal that ended it, once launch.c has ended."""
        self.taken = Taken.of_line(self.report.readline())
        return -signal.SIGKILL if self.taken is None else os.waitstatus_to_exitcode(self.taken.wait_status)

    def memory(self) -> Memory:
        """Everything from when it answered until now."""
        if self.samples is None:
            return Memory()
        return read_samples(self.samples).between(self.ready_at, time.monotonic())

    def stop(self) -> int:
        """Ask the server to end, and return its exit status; what it took is known then."""
        assert self.process is not None
        if self.process.poll() is None:
            os.kill(self.pid, signal.SIGTERM)
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            raise ServerFailed(f"the server did not stop within {STOP_SECONDS:.0f} s\n{self.backtrace()}") from None
        return self.status()

    def discard(self) -> None:
        """Whatever happened, leave nothing running."""
        if self.process is not None:
            members = family(self.process.pid) if self.process.poll() is None else []
            end_session(self.process.pid)
            self.process.wait()
            for pid in members[1:]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        self.report.close()

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
