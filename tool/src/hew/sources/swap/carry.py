# SPDX-License-Identifier: MIT
"""Has one thread of a process call functions for us, with nothing to lose if this process is killed at any moment.

The thread gets a frame below its own stack, as the kernel makes one for a signal: the called function returns to
rt_sigreturn, which restores all registers, the vector state and the signal mask. One ptrace call switches the thread
from what it did to the function, so before it the thread is as it was, and after it the thread finds back by itself.

Not here  which thread may be taken: chooser.py.
"""

import os
import signal
import struct
import time
from dataclasses import dataclass

from hew.sources.attach import kernel
from hew.sources.attach.crowd import Crowd, Refusal
from hew.sources.attach.machine_code import BLOCK_BYTES, CODE_BYTES, FRAME, RESTART_BLOCK, frame

RED_ZONE = 128
SCRATCH = 4096  # bytes above the frame: a text for the called functions, or what they write
ROOM = 64 << 10  # bytes of stack that the thread must have left: the loader needs less than half of it
NO_CALL = 2**64 - 1
RT_SIGRETURN = 15
RESTART_SYSCALL = 219
SLEEPS = {35, 230}  # nanosleep, clock_nanosleep
RESTARTED = 2**64 - 512
FAULTS = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP, signal.SIGSYS}
WAITING = (2**64 - 1) & ~sum(1 << (number - 1) for number in FAULTS)
ARGUMENTS = ("rdi", "rsi", "rdx", "rcx", "r8", "r9")
assert CODE_BYTES + BLOCK_BYTES > FRAME  # noqa: S101 - the layout that `frame` expects


@dataclass
class Carried:
    """A stopped thread that calls for us. `scratch` is memory that a call may write to."""

    crowd: Crowd
    memory: int
    thread: int
    restorer: int
    until: float

    def __post_init__(self) -> None:
        self.saved = sleeping_again(kernel.registers(self.thread), self.memory)
        self.mask = kernel.blocked_signals(self.thread)
        vector = kernel.vector_state(self.thread)
        top = (self.saved.rsp - RED_ZONE - SCRATCH) & -64
        self.scratch = top
        context = (top - 512 - len(vector) - 64) & -64
        base = context - CODE_BYTES - FRAME
        words = frame(base, self.saved, vector, self.mask)
        self.start = context - 8
        os.pwrite(self.memory, struct.pack("<Q", self.restorer) + words, self.start)
        self.began = False

    def call(self, function: int, *arguments: int) -> None:
        """Call it, and return when it has. Refusal when it does not in time: the thread then goes on by itself."""
        wanted = self.saved.copy()
        wanted.orig_rax, wanted.rax = NO_CALL, 0
        wanted.rip, wanted.rsp = function, self.start
        wanted.eflags &= ~0x400  # the direction flag, as every function expects it
        for name, value in zip(ARGUMENTS, arguments, strict=False):
            setattr(wanted, name, value)
        kernel.set_registers(self.thread, wanted)
        if not self.began:  # after the registers: the frame has the thread's own mask
            kernel.block_signals(self.thread, self.mask | WAITING)
            self.began = True
        self._run()

    def release(self) -> None:
        """The thread goes on, by rt_sigreturn if it has called something."""
        kernel.request(kernel.DETACH, self.thread, 0, 0)

    def _run(self) -> None:
        while True:
            kernel.request(kernel.SYSCALL, self.thread)
            while (stop := kernel.next_stop(self.until)) is not None and stop[0] != self.thread:
                self.crowd.take(stop)
            if stop is None:
                self._leave()
                raise Refusal("its loader does not return; the thread that called it goes on when it does")
            status = stop[1]
            if not os.WIFSTOPPED(status):
                raise Refusal("it has ended")
            number = os.WSTOPSIG(status)
            if number == kernel.AT_SYSCALL:
                now = kernel.registers(self.thread)
                if now.orig_rax == RT_SIGRETURN and now.rsp == self.start + 8:
                    return
            elif number in FAULTS and status >> 16 != kernel.EVENT_STOP:
                kernel.request(kernel.DETACH, self.thread, 0, number)
                raise Refusal(f"it failed in its loader ({signal.Signals(number).name})")
            elif status >> 16 != kernel.EVENT_STOP:
                self.crowd.kept.append((self.thread, number))

    def _leave(self) -> None:
        kernel.request(kernel.INTERRUPT, self.thread)
        self.crowd.take(kernel.next_stop(time.monotonic() + 1))
        self.release()


def sleeping_again(saved: kernel.Registers, memory: int) -> kernel.Registers:
    """A thread that sleeps for a time begins anew: EINTR would end its sleep early. All else returns EINTR, where the
    kernel alone knows the time that is left."""
    number = saved.orig_rax
    if saved.rax == RESTART_BLOCK and number == RESTART_SYSCALL:  # it was stopped before: mov eax, NUMBER; syscall
        code = os.pread(memory, 5, saved.rip - 7)
        number = int.from_bytes(code[1:], "little") if code[0] == 0xB8 else number
    if saved.rax == RESTART_BLOCK and number in SLEEPS:
        saved.orig_rax, saved.rax = number, RESTARTED
    return saved


def has_room(start: int, pointer: int) -> bool:
    """Whether a stack that begins at `start` has room for the calls."""
    return pointer - start >= ROOM + kernel.MOST_XSTATE // 4
