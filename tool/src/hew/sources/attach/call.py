# SPDX-License-Identifier: MIT
"""One stopped thread calls malloc_stats_print for us, and is afterwards as it was.

Owns      the thread's registers, vector state and signal mask while it works for us, and the memory mapped for that.
Promises  whatever goes wrong, the thread is put back: by `restore`, or by the frame in its memory when this process has
          been killed in the middle. Its signals wait in the kernel meanwhile.
"""

import math
import os
import signal
import struct
import time
from dataclasses import dataclass

from hew.sources.attach import kernel, machine_code
from hew.sources.attach.crowd import Crowd, Refusal
from hew.sources.attach.kernel import Registers
from hew.sources.attach.machine_code import Functions

MMAP, MUNMAP, RT_SIGRETURN = 9, 11, 15
READ_WRITE, READ_EXECUTE = 3, 5
PRIVATE_ANONYMOUS, FIXED = 0x22 | 0x4000, 0x10  # with MAP_NORESERVE
NONE = 2**64 - 1
ERRORS = 2**64 - 4095  # from here on a result is an error's number
FAULTS = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP, signal.SIGSYS}
# All others wait. A fault that is blocked would make the kernel forget the program's handler for it.
WAITING = (2**64 - 1) & ~sum(1 << (number - 1) for number in FAULTS)
SHORT = 1.0  # seconds for a thread to stop that may also be left as it is
EVER = math.inf  # a thread whose registers are ours is waited for: it gets a processor some time, or is killed


@dataclass
class Carrier:
    """A thread at work for us. `at` says how it stands: "still" as it was, at a system call's "entry" or "exit", at a
    "signal" or another "trap"; or how it goes on: "running", "within" a system call, "abandoned"."""

    crowd: Crowd
    thread: int
    gadget: int  # the address of a syscall instruction
    at: str = "still"

    def __post_init__(self) -> None:
        self.saved = kernel.registers(self.thread)
        self.vector = kernel.vector_state(self.thread)
        self.mask = kernel.blocked_signals(self.thread)
        kernel.block_signals(self.thread, self.mask | WAITING)

    def system_call(self, number: int, *arguments: int) -> int:
        """Make a system call; its result, or Refusal with the error."""
        wanted = self.saved.copy()
        for name, value in zip(("rdi", "rsi", "rdx", "r10", "r8", "r9"), arguments, strict=False):
            setattr(wanted, name, value)
        if self.at == "entry":  # in place of the one that it is about to make
            wanted.orig_rax = number
            kernel.set_registers(self.thread, wanted)
        else:
            wanted.rax, wanted.orig_rax, wanted.rip = number, NONE, self.gadget
            kernel.set_registers(self.thread, wanted)
            self._go()
        self._go()
        result = kernel.registers(self.thread).rax
        if result >= ERRORS:
            raise Refusal(f"the system refuses it memory for the report: {os.strerror(2**64 - result)}")
        return result

    def start(self, wanted: Registers) -> None:
        """Begin with these registers."""
        kernel.set_registers(self.thread, wanted)
        kernel.request(kernel.SYSCALL, self.thread)
        self.at = "running"

    def finished(self, end: int, until: float) -> bool:
        """Whether the code has come to its end by then: to rt_sigreturn, before `end`."""
        while self._wait(until):
            if self.at == "entry":
                now = kernel.registers(self.thread)
                if now.orig_rax == RT_SIGRETURN and now.rip == end:
                    return True
            kernel.request(kernel.SYSCALL, self.thread)
            self.at = "within" if self.at == "entry" else "running"
        return False

    def restore(self) -> None:
        """The thread as it was, stopped where it was stopped. Only the first lines have no net: a system call that is
        about to be made is left out, then everything is put back, then it stops again, so that the kernel takes up
        the system call in which it was."""
        if self.at == "abandoned":
            return
        if self.at == "still":
            kernel.block_signals(self.thread, self.mask)
            return
        if self.at == "entry":
            skipped = kernel.registers(self.thread)
            skipped.orig_rax = NONE
            kernel.set_registers(self.thread, skipped)
            self._go()
        kernel.request(kernel.INTERRUPT, self.thread)
        kernel.set_registers(self.thread, self.saved)
        kernel.set_vector_state(self.thread, self.vector)
        kernel.block_signals(self.thread, self.mask)
        kernel.request(kernel.CONT, self.thread)
        self.at = "running"
        while self.at != "trap":
            self._wait(EVER)

    def abandon(self) -> None:
        """It goes on, and puts itself back when the call ends: only the memory stays."""
        kernel.request(kernel.INTERRUPT, self.thread)
        self._wait(time.monotonic() + SHORT)
        self.at = "abandoned"

    def _go(self) -> None:
        """On to the next entry or exit of a system call."""
        stands = self.at
        while self.at in {stands, "trap"}:  # at a trap, as when the process is told to stop, it goes on
            kernel.request(kernel.SYSCALL, self.thread)
            self.at = "within" if self.at == "entry" else "running"
            self._wait(EVER)

    def _wait(self, until: float) -> bool:
        """Whether it has stopped by then. Signals that it was to get are kept, and it goes on."""
        while True:
            stop = kernel.next_stop(min(until, self.crowd.until))
            if stop is None and self.crowd.until < until:  # they have stood still for long enough
                self.crowd.release(but=self.thread)
                continue
            if stop is None and until == EVER:  # no thread is left to wait for
                raise Refusal("it has ended")
            if stop is None:
                return False
            thread, status = stop
            if thread != self.thread:
                self.crowd.take(stop)
                continue
            if not os.WIFSTOPPED(status):
                self.crowd.take(stop)
                raise Refusal("it has ended")
            if self._has_stopped(os.WSTOPSIG(status), status >> 16):
                return True

    def _has_stopped(self, number: int, event: int) -> bool:
        if number == kernel.AT_SYSCALL:
            self.at = "exit" if self.at == "within" else "entry"
            return True
        if event == kernel.EVENT_STOP:
            self.at = "trap"
            return True
        if number in FAULTS and kernel.signal_code(self.thread) > 0:
            self.at = "signal"
            raise Refusal(f"its allocator failed while it wrote statistics ({signal.Signals(number).name})")
        if number == signal.SIGSTOP:  # now, since a SIGCONT undoes those before it; at the stop, a trap, it goes on
            kernel.request(kernel.SYSCALL, self.thread, 0, number)
            return False
        self.crowd.kept.append((self.thread, number))
        kernel.request(kernel.SYSCALL, self.thread)
        return False


@dataclass(frozen=True)
class Report:
    """What it wrote; of how many arenas; whether there was room for it; whether the others had to be let go before the
    call was over: it waited for one of them, or for a processor."""

    text: bytes
    arenas: int
    whole: bool
    waited: bool


def take_report(crowd: Crowd, thread: int, functions: Functions, memory: int, patience: float) -> Report:
    """Have a thread call, and wait `patience` seconds for its end. The others stand still meanwhile, as long as they
    may: it would have to wait for them to leave it a processor."""
    carrier = Carrier(crowd, thread, functions.gadget)
    try:
        base = _map(carrier)
        try:
            _write(carrier, base, functions, memory)
            _run(carrier, machine_code.entry(base, carrier.saved), patience)
            waited = math.isinf(crowd.until)
            crowd.release(but=thread)
            return _fetch(base, memory, waited)
        finally:
            if carrier.at != "abandoned":
                carrier.system_call(MUNMAP, base, machine_code.TOTAL)
    finally:
        carrier.restore()


def _map(carrier: Carrier) -> int:
    """Memory for the call: all of it writable but the code, which is executable."""
    base = carrier.system_call(MMAP, 0, machine_code.TOTAL, READ_WRITE, PRIVATE_ANONYMOUS, NONE, 0)
    try:
        carrier.system_call(MMAP, base, machine_code.CODE_BYTES, READ_EXECUTE, PRIVATE_ANONYMOUS | FIXED, NONE, 0)
    except Refusal:
        carrier.system_call(MUNMAP, base, machine_code.TOTAL)
        raise
    return base


def _write(carrier: Carrier, base: int, functions: Functions, memory: int) -> None:
    """The code, and what it is told."""
    frame = machine_code.frame(base, carrier.saved, carrier.vector, carrier.mask)
    os.pwrite(memory, machine_code.CODE, base)
    os.pwrite(memory, machine_code.block(base, functions, frame), base + machine_code.CODE_BYTES)


def _run(carrier: Carrier, entry: Registers, patience: float) -> None:
    """The call."""
    carrier.start(entry)
    if not carrier.finished(entry.rip + machine_code.RETURN, time.monotonic() + patience):
        carrier.abandon()
        raise Refusal("its malloc_stats_print does not return; the thread that called it goes on when it does")


def _fetch(base: int, memory: int, waited: bool) -> Report:
    start = base + machine_code.TOTAL - machine_code.BUFFER_BYTES
    block = base + machine_code.CODE_BYTES
    at, _, full = struct.unpack("<3Q", os.pread(memory, 24, block + machine_code.CURSOR))
    (arenas,) = struct.unpack("<Q", os.pread(memory, 8, block + machine_code.ARENAS))
    return Report(os.pread(memory, at - start, start), arenas, not full, waited)
