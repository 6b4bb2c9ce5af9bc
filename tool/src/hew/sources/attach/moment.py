# SPDX-License-Identifier: MIT
"""Finds a moment at which no thread of a process is inside the allocator, and the thread that then runs the call.

All threads are stopped. Threads inside the allocator run on until they have left it. The others stay stopped: they hold
no lock of the allocator, so no thread waits for them. This takes few rounds even if most threads allocate all the
time.
"""

import os
import time

from hew.sources.attach import kernel
from hew.sources.attach.crowd import Crowd, Refusal
from hew.sources.attach.looks import FUTEX, USER_CODE_64, WAITS, Judge, Look, Where
from hew.sources.processes import name_of

OWN_THREAD = "jemalloc_bg_thd"  # it has no cache, and is to keep none
MOST_STOP = 0.02  # seconds for which a process stands still at most
# Shares of that which may go into waiting for a moment; and late, where it waits for a processor anyway.
SHARE, SHARE_LATE = 0.4, 0.6
STEP = 0.0001  # seconds for which a thread inside goes on
STUCK = 3  # rounds in which those inside only sleep: they will not come out now
OUT = {Where.CLEAN, Where.ASLEEP, Where.SAME}
MASKED_WAITS = {128, 130}  # rt_sigtimedwait, rt_sigsuspend: they are about the very mask that a call has to change
RSEQ_CS = 8  # of struct rseq


def gather(crowd: Crowd, judge: Judge, longest: float) -> int:
    """Stop the process at such a moment; the thread for the call. Refusal when there is none in `longest` seconds."""
    until = time.monotonic() + longest
    looks: dict[int, Look] = {}
    stuck, reason = 0, None
    while True:
        try:
            crowd.stop(until)
        except Refusal as slow:
            raise reason or slow from slow
        looks = {thread: looks.get(thread) or judge.look(thread, kernel.registers(thread)) for thread in crowd.held}
        inside = [look for look in looks.values() if look.where not in OUT]
        if not inside:
            return _carrier(crowd, judge, list(looks.values()))
        stuck = stuck + 1 if all(look.waiting for look in inside) else 0
        reason = Refusal(f"its thread {inside[0].thread} is {inside[0].where.value}", final=False)
        if stuck > STUCK or time.monotonic() > until:
            raise reason
        for look in inside:
            crowd.let(look.thread)
            del looks[look.thread]
        time.sleep(STEP)


def _carrier(crowd: Crowd, judge: Judge, looks: list[Look]) -> int:
    """The first thread that sleeps in a system call, else one that runs; the process's first before others."""
    for look in sorted(looks, key=lambda look: (not look.waiting, look.thread != crowd.pid, look.thread)):
        if _is_able(crowd, judge, look) and name_of(crowd.pid, str(look.thread)) != OWN_THREAD:
            return look.thread
    raise Refusal("none of its threads can carry a call now", final=False)


def _is_able(crowd: Crowd, judge: Judge, look: Look) -> bool:
    registers = look.registers
    if crowd.held[look.thread] or look.where is Where.SAME or registers.cs != USER_CODE_64 or not registers.fs_base:
        return False
    if look.waiting:
        return registers.orig_rax in (WAITS | {FUTEX}) - MASKED_WAITS
    return look.where is Where.CLEAN and not _in_sequence(judge.memory, look.thread)


def _in_sequence(memory: int, thread: int) -> bool:
    """Whether it may be in a restartable sequence, which another program counter would end unseen."""
    place = kernel.restartable_sequence(thread)
    if not place:
        return False
    try:
        return any(os.pread(memory, 8, place + RSEQ_CS))
    except OSError:
        return True
