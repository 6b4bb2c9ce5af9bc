# SPDX-License-Identifier: MIT
"""Stops all threads of a process, and resumes them.

Owns      which threads are stopped, and the signal that each was about to get.
Promises  `release` resumes every thread as it was, with its signal. If this process ends, the kernel does the same.
          All threads are stopped until `until` at most. If one thread is waited for longer, call.py resumes the others.
          A stopped thread has no pending signal, since the kernel would lose it when this process ends: the thread gets
          the signal first, and stops in its handler. Nothing here changes a thread's registers.
"""

import errno
import math
import os
import signal
import time
from collections.abc import Callable

from hew.sources.attach import kernel

ROUNDS = 50  # passes in search of new threads


class Refusal(Exception):  # noqa: N818 - it is an answer
    """Why the process is not read; `final` when another try would not help."""

    def __init__(self, reason: str, final: bool = True) -> None:
        super().__init__(reason)
        self.final = final


class Crowd:
    """The threads of one process, or `only` one. `held` are stopped, with the signal that each was about to get (0:
    none). They may stand still for `most` seconds."""

    def __init__(self, pid: int, options: int, most: float = math.inf, only: int | None = None) -> None:
        self.pid = pid
        self.options = options
        self.most = most
        self.only = only
        self.within: float | None = None  # seconds from the first stop on in which all must have stopped
        self.first = 0.0  # when the first had stopped
        self.seen: Callable[[int], None] = lambda _: None  # called for each thread when it has stopped
        self.until = math.inf  # the end of what they may
        self.held: dict[int, int] = {}
        self.moving: set[int] = set()  # ours, and not stopped
        self.halted = False  # by a signal that stops processes
        self.kept: list[tuple[int, int]] = []  # threads, and signals of theirs that could not wait in the kernel
        self.began = 0.0  # when the first was interrupted
        self.together = 0.0  # when the first was let go for good
        self.ended = 0.0  # when the last was

    def seize(self) -> None:
        """Make every thread ours; they all go on."""
        for _ in range(ROUNDS):
            if not self._seize_new():
                return

    def stop(self, until: float) -> None:
        """Stop all, also those that are born meanwhile. Refusal when one does not stop. With `within`, the first thread
        alone has time `until` then: it may wait for a processor, and nothing stands still before."""
        if not self.began:
            self.began = time.monotonic()
            self.until = self.began + self.most
        for _ in range(ROUNDS):
            self._interrupt()
            self._await(until)
            if self.halted:
                raise Refusal("it is stopped (as by SIGSTOP); SIGCONT lets it go on")
            if not self.held:
                raise Refusal("it has ended", final=self.only is None)
            if not self._seize_new() and not self.moving:
                return
        raise Refusal("it makes new threads all the time", final=False)

    def let(self, thread: int) -> None:
        """One goes on, and is to be stopped again."""
        kernel.request(kernel.CONT, thread, 0, self.held.pop(thread))
        self.moving.add(thread)

    def send_kept(self) -> None:
        """The signals that were kept."""
        for thread, number in self.kept:
            kernel.send(self.pid, thread, number)
        self.kept.clear()

    def release(self, but: int | None = None) -> None:
        """All held ones go on for good, but one."""
        self.until = math.inf
        going = [one for one in self.held if one != but]
        for thread in going:
            number = self.held.pop(thread)
            try:
                kernel.request(kernel.DETACH, thread, 0, number)
            except OSError as error:
                if error.errno != errno.ESRCH:  # killed meanwhile
                    raise
        self.ended = time.monotonic()
        self.together = self.together or (self.ended if going else 0.0)

    def settle(self, until: float) -> None:
        """Wait for those that were interrupted and have not stopped yet, and let them go."""
        while self.moving and time.monotonic() < until:
            self._interrupt()
            self.take(kernel.next_stop(until))
            self.release()

    def take(self, stop: tuple[int, int] | None) -> None:
        """Note that a thread has stopped or ended."""
        if stop is None:
            return
        thread, status = stop
        self.moving.discard(thread)
        self.first = self.first or time.monotonic()
        if not os.WIFSTOPPED(status):  # it has ended
            self.held.pop(thread, None)
            return
        number = os.WSTOPSIG(status)
        if status >> 16 == kernel.EVENT_STOP:
            self.held[thread] = 0
            self.halted = self.halted or number != signal.SIGTRAP
        else:
            self.held[thread] = number

    def _seize_new(self) -> bool:
        """Whether there are threads that were not ours."""
        found = False
        tasks = f"/proc/{self.pid}/task"
        for thread in map(int, os.listdir(tasks)) if self.only is None else (self.only,):  # noqa: PTH208 - all stand still
            if thread in self.held or thread in self.moving:
                continue
            try:
                kernel.request(kernel.SEIZE, thread, 0, self.options)
            except OSError as error:
                if error.errno == errno.ESRCH or _is_dead(self.pid, thread):
                    continue
                raise
            self.moving.add(thread)
            found = True
        return found

    def _interrupt(self) -> None:
        for thread in self.moving:
            try:
                kernel.request(kernel.INTERRUPT, thread)
            except OSError as error:
                if error.errno != errno.ESRCH:
                    raise

    def _await(self, until: float) -> None:
        while self.moving:
            stop = kernel.next_stop(until if self.within is None or not self.first else self.first + self.within)
            if stop is None:
                slow = min(self.moving)
                raise Refusal(f"its thread {slow} did not stop in time (state {_state(self.pid, slow)})", final=False)
            self.take(stop)
            if self.held.get(stop[0]) == 0:
                self.seen(stop[0])
            elif stop[0] in self.held:  # a signal: behind it comes the stop for which the thread is interrupted
                kernel.request(kernel.INTERRUPT, stop[0])
                self.let(stop[0])


def _state(pid: int, thread: int) -> str:
    try:
        with open(f"/proc/{pid}/task/{thread}/stat", "rb") as file:  # noqa: PTH123 - while a process stands still
            return file.read().rpartition(b")")[2].split()[0].decode()
    except (OSError, IndexError):
        return "X"


def _is_dead(pid: int, thread: int) -> bool:
    """Whether it has ended; a first thread that has stays until the others have."""
    return _state(pid, thread) in {"Z", "X"}
