# SPDX-License-Identifier: MIT
"""Runs one command to its end through launch.c and measures it.

Promises: nothing that was started here is alive afterwards (each command leads a session of its own, killed by its id);
a command that takes too long is examined with gdb before it is killed; the maps of the main process are read while it
runs.  A sampled run has its memory over time; one that is not sampled is not disturbed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import crash
from model import Place
from samples import Memory, read_samples


@dataclass(frozen=True)
class Taken:
    """The last line of launch.c's report."""

    seconds: float
    user: float = 0.0
    system: float = 0.0
    peak_kb: int = 0
    faults: int = 0
    calls: int = -1
    """System calls, -1 when they were not counted."""
    wait_status: int = signal.SIGKILL

    @classmethod
    def of_line(cls, line: str) -> Taken | None:
        words = line.split()
        if len(words) != 14:
            return None
        wall, user, system = (float(word) for word in words[1:6:2])
        return cls(wall, user, system, *(int(word) for word in words[7:14:2]))


@dataclass(frozen=True)
class Finished:
    """How a command ended and what it took."""

    stdout: str
    stderr: str
    status: int
    """Exit status, or minus the signal that ended it."""
    taken: Taken
    memory: Memory | None
    """None when the run was not sampled."""
    mapped: bool
    hang: str
    """Backtrace of all threads if the command had to be killed."""


def build_launcher(directory: Path) -> Path:
    """Compile launch.c; the compiler is the one the library itself was built with."""
    launcher = directory / "launch"
    source = Path(__file__).with_name("launch.c")
    subprocess.run([os.environ.get("CC", "cc"), "-O1", "-Wall", "-o", str(launcher), str(source)], check=True)
    launcher.chmod(0o755)
    return launcher


def maps_hold(pid: int, library: str) -> bool:
    """Is the library mapped by this process now?"""
    try:
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as maps:
            return any(line.rstrip("\n").endswith(library) for line in maps)
    except OSError:
        return False


class Watcher(threading.Thread):
    """Looks at the maps of the command's main process until the library shows up or the process is gone."""

    def __init__(self, report: int, library: str) -> None:
        super().__init__(daemon=True)
        self.report = os.fdopen(report, encoding="ascii")
        self.library = library
        self.mapped = False
        self.pid = 0
        self.last_line = ""

    def run(self) -> None:
        with self.report:
            first = self.report.readline().split()
            if len(first) == 2:
                self.pid = int(first[1])
                self.look()
            self.last_line = self.report.readline()

    def look(self) -> None:
        while self.library and os.path.exists(f"/proc/{self.pid}/exe"):
            if maps_hold(self.pid, self.library):
                self.mapped = True
                return
            time.sleep(0.001)


def end_session(leader: int) -> None:
    """Kill what is left of a session that we started."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        return


def spawn(
    argv: list[str],
    place: Place,
    stdin: int,
    stdout: int,
    stderr: int,
    environment: dict[str, str],
    keep: tuple[int, ...] = (),
) -> subprocess.Popen[bytes]:
    """Start a command in the run directory, in a session of its own, as the owner of the place."""
    identity: dict[str, object] = {}
    if place.owner is not None:
        identity = {"user": place.owner[0], "group": place.owner[1], "extra_groups": []}
    process: subprocess.Popen[bytes] = subprocess.Popen(
        argv,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        cwd=place.run,
        env=environment,
        start_new_session=True,
        pass_fds=keep,
        **identity,
    )  # type: ignore[call-overload]
    return process


def run_command(
    launcher: Path, argv: list[str], place: Place, library: str, stdin_path: str | None, timeout: float, sampled: bool
) -> Finished:
    """Run a command under a library (or none) and wait for it."""
    out_path, err_path, samples = place.run / ".stdout", place.run / ".stderr", place.run / ".samples"
    read_end, write_end = os.pipe()
    with open(stdin_path or os.devnull, "rb") as stdin, open(out_path, "wb") as out, open(err_path, "wb") as err:
        command = [str(launcher), str(write_end), str(samples) if sampled else "", library, *argv]
        process = spawn(
            command, place, stdin.fileno(), out.fileno(), err.fileno(), dict(place.environment), (write_end,)
        )
        os.close(write_end)
        watcher = Watcher(read_end, library)
        watcher.start()
        hang = ""
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            hang = crash.backtrace_of_process(watcher.pid) or "no gdb to say where it hung"
        finally:
            end_session(process.pid)
            process.wait()
    watcher.join(10)
    stdout = out_path.read_text(encoding="utf-8", errors="replace")
    stderr = err_path.read_text(encoding="utf-8", errors="replace")
    memory = read_samples(samples) if sampled else None
    taken = Taken.of_line(watcher.last_line)
    if taken is None:
        return Finished(stdout, stderr, -signal.SIGKILL, Taken(timeout), memory, watcher.mapped, hang)
    return Finished(stdout, stderr, os.waitstatus_to_exitcode(taken.wait_status), taken, memory, watcher.mapped, hang)
