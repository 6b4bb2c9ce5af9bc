# SPDX-License-Identifier: MIT
"""Starts a command so that the kernel's figures are the command's alone.

A process's peak RSS (ru_maxrss) starts, at exec, from that of the process it was forked from: started by Python, every
command would seem to need Python's tens of megabytes. So a shell of about one megabyte forks it, the shell goes away,
and the command becomes our own child because we are its nearest "child subreaper". It waits at a gate until we open it:

    hew ──spawn──> sh ──fork──> subshell: prints its pid, waits for the gate ──exec──> command
     └─ reads the pid, kills sh, adopts the subshell, takes the time, opens the gate

Owns      the gate and the process group; each command is the leader's group of a session of its own.
Not here  what is measured (measure.py, server.py), sampling (sampler.py).
"""

import contextlib
import ctypes
import fcntl
import os
import signal
import threading
import time
from collections.abc import Mapping, Sequence
from resource import struct_rusage
from typing import BinaryIO, Self

from hew.model.errors import HewError
from hew.model.lazy_dataclass import dataclass
from hew.sources.executable import find_command

SHELL = "/bin/sh"
GATE = (
    "( read -r pid rest </proc/self/stat; echo $pid >&3; read -r go <&4 || exit 125; "
    '[ -z "$0" ] || export LD_PRELOAD="$0"; exec "$@" 3>&- 4<&- ); exit'
)
SET_CHILD_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
FIRST_PRIVATE_DESCRIPTOR = 10  # above those the gate uses


@dataclass(frozen=True)
class Streams:
    """Where a command reads and writes."""

    input: BinaryIO
    output: BinaryIO
    errors: BinaryIO


@dataclass(frozen=True)
class Ending:
    """How a command ended: its status as subprocess gives it, and what it used, its waited-for children included."""

    status: int
    wall: float
    cpu: float
    peak_rss: int
    page_faults: int
    timed_out: bool


class Launched:
    """A command behind its gate, then running, then ended. `pid` is the command's own.

    A context manager: however its block is left, by an interrupt at any point too, the command and what it left running
    in its group are ended and collected.
    """

    def __init__(self, pid: int, group: int, gate: int) -> None:
        self.pid = pid
        self._group = group
        self._gate = os.fdopen(gate, "wb", buffering=0)
        self._ended = False
        self._expired = threading.Event()
        self.started = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def open_gate(self) -> None:
        """Let the command start; its wall time counts from here."""
        self.started = time.monotonic()
        self._gate.write(b"go\n")
        self._gate.close()

    def running(self) -> bool:
        """Whether the command has not ended yet."""
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    def signal(self, number: int) -> None:
        """Send a signal to the command itself, not to its children."""
        if not self._ended:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill the command and what it left running in its process group."""
        if not self._ended:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._group, signal.SIGKILL)

    def wait(self, timeout: float | None) -> Ending:
        """Wait for the end, kill at the timeout, and collect the command and the leftovers of its group."""
        timer = threading.Timer(timeout or 0, self._expire)
        try:
            if timeout:
                timer.start()
            os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
            wall = time.monotonic() - self.started
        finally:
            timer.cancel()
            if timer.is_alive():
                timer.join()
        status, usage = self._collect()
        return Ending(
            status=os.waitstatus_to_exitcode(status),
            wall=wall,
            cpu=usage.ru_utime + usage.ru_stime,
            peak_rss=usage.ru_maxrss * 1024,
            page_faults=usage.ru_minflt + usage.ru_majflt,
            timed_out=self._expired.is_set(),
        )

    def end(self) -> None:
        """Kill and collect what has not ended yet."""
        self._gate.close()
        if not self._ended:
            self._collect()

    def _expire(self) -> None:
        self._expired.set()
        self.kill()

    def _collect(self) -> tuple[int, struct_rusage]:
        """Kill what runs, and collect the command and the adopted children of its group, so that no zombie stays."""
        self.kill()  # a zombie still holds the group's id, so this reaches no other group
        _, status, usage = os.wait4(self.pid, 0)
        self._ended = True
        with contextlib.suppress(ChildProcessError):
            while True:
                os.waitpid(-self._group, 0)
        return status, usage


def launch(command: Sequence[str], environment: Mapping[str, str], preload: str | None, streams: Streams) -> Launched:
    """Put a command behind the gate. `environment` decides PATH; `preload` is the command's whole LD_PRELOAD."""
    find_command(command[0], environment)
    _adopt_orphans()
    said, say = _pipe()
    wait, gate = _pipe()
    try:
        inherited = [stream.fileno() for stream in (streams.input, streams.output, streams.errors)]
        shell = os.posix_spawn(
            SHELL,
            [SHELL, "-c", GATE, preload or "", *command],
            {name: value for name, value in environment.items() if name != "LD_PRELOAD"},
            file_actions=_file_actions([*inherited, say, wait]),
            setsid=True,
            setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],
        )
    finally:
        os.close(say)
        os.close(wait)
    with os.fdopen(said) as answer:
        line = answer.readline()
    os.kill(shell, signal.SIGKILL)
    os.waitpid(shell, 0)
    if not line.strip().isdigit():
        os.close(gate)
        raise HewError(f"{SHELL} could not start {command[0]}")
    return Launched(int(line), shell, gate)


def _adopt_orphans() -> None:
    """Make this process the one that orphaned descendants are given to."""
    if ctypes.CDLL(None, use_errno=True).prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise HewError(f"prctl(PR_SET_CHILD_SUBREAPER): {os.strerror(ctypes.get_errno())}")


def _pipe() -> tuple[int, int]:
    """A pipe whose ends are above the descriptors that the gate uses."""
    ends = os.pipe()
    moved = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, FIRST_PRIVATE_DESCRIPTOR) for end in ends]
    for end in ends:
        os.close(end)
    return moved[0], moved[1]


def _file_actions(wanted: Sequence[int]) -> list[tuple[int, int, int]]:
    """Give the child `wanted` as its descriptors 0, 1, 2 ...

    A low descriptor may be both a source and a target, so every source goes by way of a high one first.
    """
    high = 100
    park = [(os.POSIX_SPAWN_DUP2, source, high + target) for target, source in enumerate(wanted)]
    place = [(os.POSIX_SPAWN_DUP2, high + target, target) for target in range(len(wanted))]
    drop = [(os.POSIX_SPAWN_CLOSE, high + target) for target in range(len(wanted))]
    return [*park, *place, *drop]  # type: ignore[list-item]
