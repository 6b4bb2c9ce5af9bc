# SPDX-License-Identifier: MIT
"""Chooses the thread that loads the library, and says when no thread stands in bytes that are about to change."""

import os
import struct
from bisect import bisect_right
from collections.abc import Sequence

from hew.model.lazy_dataclass import dataclass
from hew.sources.attach import kernel
from hew.sources.attach.crowd import Crowd, Refusal
from hew.sources.attach.looks import DEPTH, FUTEX, RED_ZONE, USER_CODE_64, WAITS, Judge, Look, Where, has_frame
from hew.sources.attach.moment import MASKED_WAITS
from hew.sources.process_memory import parse_areas
from hew.sources.processes import PROC, read_text
from hew.sources.swap.carry import has_room

# What the kernel restarts by itself after rt_sigreturn; an interrupted epoll_wait returns EINTR.
RESTARTED = {2**64 - 512, 2**64 - 513, 2**64 - 514}
INTERRUPTED = 2**64 - 4
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


def choose(crowd: Crowd, judge: Judge, stacks: _Stacks) -> int:
    """The thread that is to call the loader: one that sleeps in a system call if there is one."""
    looks = [judge.look(thread, kernel.registers(thread)) for thread in crowd.held]
    able = [look for look in looks if _is_able(crowd, judge, look, stacks)]
    if not able:
        raise Refusal("none of its threads can load a library now", final=False)
    return min(able, key=lambda look: _cost(crowd, look)).thread


def _cost(crowd: Crowd, look: Look) -> tuple[int, bool, int]:
    if not look.waiting:
        kind = 3
    elif look.registers.rax in RESTARTED:
        kind = 0
    else:
        kind = 1 if look.registers.rax == INTERRUPTED else 2
    return kind, look.thread == crowd.pid, look.thread


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
            return usual and not _handles(judge.memory, judge.restorers, registers.rsp, stacks)
        return usual and look.where in {Where.CLEAN, Where.ASLEEP}
    return look.where is Where.CLEAN and not kernel.restartable_sequence(look.thread)


def stands_in(crowd: Crowd, memory: int, places: Ranges, restorers: frozenset[int], stacks: _Stacks) -> int | None:
    """A thread that has executed a part of these bytes, or whose signal handler will return into them."""
    for thread in crowd.held:
        registers = kernel.registers(thread)
        if _within(places, registers.rip):
            return thread
        stack = _stack(memory, registers.rsp, stacks)
        if has_frame(stack, restorers):
            words = struct.unpack(f"<{len(stack) // 8}Q", stack[: len(stack) // 8 * 8])
            if any(_within(places, word) for word in words):
                return thread
    return None


def _handles(memory: int, restorers: frozenset[int], pointer: int, stacks: _Stacks) -> bool:
    """Whether a thread may be in the handler of a signal."""
    return has_frame(_stack(memory, pointer, stacks), restorers)


def _stack(memory: int, pointer: int, stacks: _Stacks) -> bytes:
    low = (pointer - RED_ZONE) & -8
    area = stacks.around(pointer)
    end = area[1] if area is not None else low + DEPTH
    try:
        return os.pread(memory, min(end - low, DEPTH), low)
    except OSError:
        return b""


def _within(places: Ranges, address: int) -> bool:
    return any(start < address < end for start, end in places)
