# SPDX-License-Identifier: MIT
"""Chooses the thread that loads the library, and says when no thread stands in bytes that are about to change."""

import os
import struct
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import field

from hew.model.lazy_dataclass import dataclass
from hew.sources.attach import kernel
from hew.sources.attach.crowd import Crowd
from hew.sources.attach.looks import (
    DEPTH,
    FUTEX,
    RED_ZONE,
    USER_CODE_64,
    WAIT_CALLS,
    WAITS,
    Judge,
    Look,
    Where,
    has_frame,
)
from hew.sources.attach.moment import MASKED_WAITS
from hew.sources.process_memory import parse_areas
from hew.sources.processes import PROC, read_text
from hew.sources.swap.carry import has_room

INTERRUPTED = {WAIT_CALLS[name] for name in ("epoll_wait", "epoll_pwait", "epoll_pwait2", "semop", "semtimedop")}
TIMED = {
    WAIT_CALLS[name] for name in ("poll", "select", "nanosleep", "clock_nanosleep", "restart_syscall", "io_uring_enter")
}
Ranges = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class _Stacks:
    """Writable areas by their addresses, and which of them is the first thread's stack."""

    areas: list[tuple[int, int, bool]]

    def around(self, pointer: int) -> tuple[int, int, bool] | None:
        """The area of a stack pointer."""
        at = bisect_right(self.areas, pointer, key=lambda area: area[0]) - 1
        return self.areas[at] if at >= 0 and pointer < self.areas[at][1] else None

    def start_of(self, registers: kernel.Registers) -> int | None:
        """Where the stack of a thread begins, if it is the one that the C library gave it. A thread may run on a
        stack of the program's own (a coroutine), below which anything may lie."""
        area = self.around(registers.rsp)
        if area is None:
            return None
        start, end, first = area
        return start if first or (registers.rsp < registers.fs_base < end) else None


def stacks_of(pid: int) -> _Stacks:
    """Of a process, now."""
    areas = parse_areas(read_text(f"{PROC}/{pid}/maps"))
    return _Stacks([(one.start, one.end, one.path == "[stack]") for one in areas if one.rights.startswith("rw")])


def candidates(pid: int) -> list[int]:
    """The threads, the best to call the loader first: those whose system call the kernel restarts, the first thread
    after the others."""
    threads = [int(name) for name in os.listdir(f"{PROC}/{pid}/task")]  # noqa: PTH208
    return sorted(threads, key=lambda thread: (_cost(pid, thread), thread == pid, thread))


def _cost(pid: int, thread: int) -> int:
    """0: its system call goes on. 1: it returns EINTR. 2: the kernel keeps a time for it. 3: it does not sleep."""
    words = read_text(f"{PROC}/{pid}/task/{thread}/syscall").split()
    number = int(words[0]) if words and words[0].isdigit() else -1
    if number not in WAITS | {FUTEX}:
        return 3
    return 1 if number in INTERRUPTED else 2 if number in TIMED else 0


def is_able(crowd: Crowd, judge: Judge, thread: int, stacks: _Stacks) -> bool:
    """Whether a stopped thread can call the loader."""
    return _is_able(crowd, judge, judge.look(thread, kernel.registers(thread)), stacks)


def _is_able(crowd: Crowd, judge: Judge, look: Look, stacks: _Stacks) -> bool:
    registers = look.registers
    if crowd.held[look.thread] or registers.cs != USER_CODE_64 or not registers.fs_base:
        return False
    start = stacks.start_of(registers)
    if start is None or not has_room(start, registers.rsp):
        return False
    if look.waiting:
        usual = registers.orig_rax in (WAITS | {FUTEX}) - MASKED_WAITS
        if look.where is Where.SAME:  # the words of earlier calls on its stack mean nothing, unless a handler sleeps
            return usual and not has_frame(_stack(judge.memory, registers, stacks), judge.restorers)
        return usual and look.where in {Where.CLEAN, Where.ASLEEP}
    return look.where is Where.CLEAN and not kernel.restartable_sequence(look.thread)


@dataclass
class Watch:
    """Looks at each thread when it has stopped, while others are still waited for: whether it has executed a part of
    these bytes, or its signal handler will return into them."""

    memory: int
    places: Ranges
    restorers: frozenset[int]
    stacks: _Stacks
    stands: dict[int, bool] = field(default_factory=dict)

    def note(self, thread: int) -> None:
        """A stopped thread."""
        registers = kernel.registers(thread)
        stack = b"" if _within(self.places, registers.rip) else _stack(self.memory, registers, self.stacks)
        self.stands[thread] = not stack or (has_frame(stack, self.restorers) and self._returns(stack))

    def _returns(self, stack: bytes) -> bool:
        return any(_within(self.places, word) for word in struct.unpack(f"<{len(stack) // 8}Q", stack))

    def found(self, crowd: Crowd) -> int | None:
        """One that must move on."""
        return next((thread for thread in crowd.held if self.stands.get(thread, True)), None)


def _stack(memory: int, registers: kernel.Registers, stacks: _Stacks) -> bytes:
    """The words of a stack, up to what the C library keeps above it."""
    low = (registers.rsp - RED_ZONE) & -8
    area = stacks.around(registers.rsp)
    end = area[1] if area is not None else low + DEPTH
    if low < registers.fs_base < end:
        end = registers.fs_base
    try:
        return os.pread(memory, min(end - low, DEPTH) & -8, low)
    except OSError:
        return b""


def _within(places: Ranges, address: int) -> bool:
    return any(start < address < end for start, end in places)
