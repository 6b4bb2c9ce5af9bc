# SPDX-License-Identifier: MIT
"""Decides whether a stopped thread is inside the allocator, from its program counter and its return addresses.

Promises  a thread that is CLEAN holds no lock of the allocator: neither its program counter nor any return address
          within 64 KiB of its stack pointer is in its code. Stale words of earlier calls may make a thread look
          INSIDE that is not; the two exceptions below are for sleeping threads.
Not here  which thread carries the call: moment.py.
"""

import os
import struct
import time
from collections.abc import Sequence
from dataclasses import field
from enum import Enum

from hew.model.lazy_dataclass import dataclass
from hew.sources.attach.kernel import Registers

DEPTH = 64 << 10  # bytes of a stack: what the allocator calls needs less
# A signal frame after the word that its handler returns to: where in it the kernel keeps cs. Without a 64-bit cs no
# handler can return by it, so the word is a leftover.
FRAME_CS, USER_CODE_64 = 8 + 40 + 18 * 8, 0x33
RED_ZONE = 128
SAME = 0.25  # seconds of sleep without a change, after which leftover words count as such
# What a call that was interrupted returns, before the kernel takes it up again: EINTR, ERESTART*.
INTERRUPTED = {-4, -512, -513, -514, -516}
# System calls that wait for something and that an allocator does not make. By restart_syscall the kernel takes up one
# with a time limit: waiting for a lock has none.
WAIT_CALLS = {
    "read": 0,
    "poll": 7,
    "select": 23,
    "pause": 34,
    "nanosleep": 35,
    "accept": 43,
    "recvfrom": 45,
    "recvmsg": 47,
    "wait4": 61,
    "semop": 65,
    "flock": 73,
    "rt_sigtimedwait": 128,
    "rt_sigsuspend": 130,
    "restart_syscall": 219,
    "semtimedop": 220,
    "clock_nanosleep": 230,
    "epoll_wait": 232,
    "mq_timedreceive": 243,
    "waitid": 247,
    "pselect6": 270,
    "ppoll": 271,
    "epoll_pwait": 281,
    "accept4": 288,
    "recvmmsg": 299,
    "io_uring_enter": 426,
    "epoll_pwait2": 441,
}
WAITS = frozenset(WAIT_CALLS.values())
FUTEX = 202
# How glibc and Rust wait for a condition, a semaphore or a thread, and jemalloc's background threads for their time,
# without a lock; for a lock of the allocator's it is FUTEX_WAIT, 0.
FUTEX_WAIT_BITSET = 9
FUTEX_COMMAND = 127
Ranges = Sequence[tuple[int, int]]


class Where(Enum):
    """Of a thread."""

    CLEAN = "outside"
    ASLEEP = "outside, in a call that an allocator does not make"
    SAME = "asleep at the same place since the first look"
    INSIDE = "inside the allocator"
    BUSY = "in the loader, in fork() or in exit()"


@dataclass(frozen=True)
class Look:
    """The state of a thread. `waiting`: the kernel will restart its system call."""

    thread: int
    where: Where
    waiting: bool
    registers: Registers


@dataclass
class Judge:
    """Ranges of addresses: of the allocator (`code`), of fork() and exit() (`calls`), of the loader. `restorers` are
    where signal handlers return to. `forks` count as `calls`, unless a thread sleeps in a call that fork() does not
    make: there it is in a handler of pthread_atfork() at most, which holds no lock."""

    pid: int
    memory: int  # a descriptor of /proc/PID/mem
    code: Ranges
    calls: Ranges
    loader: Ranges
    restorers: frozenset[int]
    stacks: Ranges = ()
    forks: Ranges = ()
    _returns: dict[int, bool] = field(default_factory=dict)
    _sleepers: dict[int, tuple[int, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        every = [*self.code, *self.calls, *self.forks, *((one, one + 1) for one in self.restorers)]
        self._low = min(start for start, _ in every)
        self._size = max(end for _, end in every) - self._low

    def look(self, thread: int, registers: Registers) -> Look:
        """Where a stopped thread is."""
        number = _signed(registers.orig_rax)
        waiting = number >= 0 and _signed(registers.rax) in INTERRUPTED
        return Look(thread, self._where(thread, registers, number if waiting else -1), waiting, registers)

    def _where(self, thread: int, registers: Registers, call: int) -> Where:
        if _in(self.code, registers.rip):
            return Where.INSIDE
        calls = self.calls if call in WAITS else [*self.calls, *self.forks]
        if _in(self.loader, registers.rip) or _in(calls, registers.rip):
            return Where.BUSY
        stack = self._stack(registers.rsp)
        found = self._candidates(stack)
        handler = any(one in self.restorers for one in found) and has_frame(stack, self.restorers)
        inside = handler or any(_in(self.code, one) and self._is_return(one) for one in found)
        busy = any(_in(calls, one) and self._is_return(one) for one in found)
        if not inside and not busy:
            return Where.CLEAN
        if not handler and not busy and _waits_elsewhere(call, registers):
            return Where.ASLEEP
        if call >= 0 and self._is_same(thread, registers, stack):
            return Where.SAME
        return Where.INSIDE if inside else Where.BUSY

    def _stack(self, pointer: int) -> bytes:
        low = (pointer - RED_ZONE) & -8
        end = next((end for start, end in self.stacks if start <= pointer < end), low + DEPTH)
        try:
            return os.pread(self.memory, min(end - low, DEPTH), low)
        except OSError:
            return b""

    def _candidates(self, stack: bytes) -> list[int]:
        """The words that point somewhere between the first and the last of the ranges."""
        import numpy as np  # noqa: PLC0415 - the extra `inspect`

        words = np.frombuffer(stack, "<u8", count=len(stack) // 8)
        return [int(one) for one in words[words - np.uint64(self._low) < np.uint64(self._size)]]

    def _is_return(self, address: int) -> bool:
        """Whether a call stands before it. Addresses of functions, which lie on stacks too, have none."""
        known = self._returns.get(address)
        if known is None:
            try:
                known = follows_call(os.pread(self.memory, 7, address - 7))
            except OSError:
                known = True
            self._returns[address] = known
        return known

    def _is_same(self, thread: int, registers: Registers, stack: bytes) -> bool:
        """Whether it has slept at this place, with this stack, for some time. No thread holds an allocator's lock
        that long. (If one does, the call waits for the lock, and we wait for the call.)"""
        now = time.monotonic()
        seen = hash((registers.rip, registers.rsp, registers.rdi, stack))
        before = self._sleepers.get(thread)
        if before is None or before[0] != seen:
            self._sleepers[thread] = (seen, now)
            return False
        return now - before[1] >= SAME


def has_frame(stack: bytes, restorers: frozenset[int]) -> bool:
    """Whether a handler of a signal may return through these bytes, which begin at a word of a stack."""
    import numpy as np  # noqa: PLC0415 - the extra `inspect`

    words = np.frombuffer(stack, np.uint64, len(stack) // 8)
    for one in restorers:
        same = words == np.uint64(one)
        for at in same.nonzero()[0] if same.any() else ():
            place = int(at) * 8 + FRAME_CS
            if place + 2 > len(stack) or int.from_bytes(stack[place : place + 2], "little") == USER_CODE_64:
                return True
    return False


def follows_call(before: bytes) -> bool:
    """Whether the seven bytes before an address can end in a call instruction."""
    if len(before) < 7:
        return True
    if before[2] == 0xE8:
        return True
    # ff /2 with its operand: a register, memory by a register, with 8 or 32 bits of distance, by two registers.
    return (
        (before[5] == 0xFF and (before[6] & 0x38) == 0x10)
        or (before[4] == 0xFF and before[5] & 0xF8 in {0x50, 0x10})
        or (before[3] == 0xFF and before[4] == 0x54)
        or (before[1] == 0xFF and (before[2] & 0xF8 == 0x90 or before[2] in {0x14, 0x15}))
        or (before[0] == 0xFF and before[1] in {0x94, 0x14})
    )


def _waits_elsewhere(call: int, registers: Registers) -> bool:
    """Whether a thread sleeps in a call that an allocator does not make."""
    return call in WAITS or (call == FUTEX and registers.rsi & FUTEX_COMMAND == FUTEX_WAIT_BITSET)


def _in(ranges: Ranges, address: int) -> bool:
    return any(start <= address < end for start, end in ranges)


def _signed(value: int) -> int:
    (found,) = struct.unpack("<q", struct.pack("<Q", value))
    return int(found)
