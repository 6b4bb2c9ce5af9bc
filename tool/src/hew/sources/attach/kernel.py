# SPDX-License-Identifier: MIT
"""ptrace(2) as this folder uses it, for x86-64. Errors of the system are OSError, with its number.

Not here: when which call may be made (crowd.py, call.py).
"""

import ctypes
import os
import signal
import time

GETREGS, SETREGS, SYSCALL, CONT, DETACH = 12, 13, 24, 7, 17
GETSIGINFO, GETREGSET, SETREGSET, SEIZE, INTERRUPT = 0x4202, 0x4204, 0x4205, 0x4206, 0x4207
GETSIGMASK, SETSIGMASK, GET_RSEQ = 0x420A, 0x420B, 0x420F
TRACESYSGOOD, SUSPEND_SECCOMP = 1, 1 << 21
EVENT_STOP = 128
AT_SYSCALL = signal.SIGTRAP | 0x80
X86_XSTATE = 0x202
WALL = 0x40000000
MOST_XSTATE = 1 << 16
POLL = 0.002  # seconds: the longest that a stop is overlooked, should its SIGCHLD be lost
NAMES = "r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss fs_base gs_base "
NAMES += "ds es fs gs"

TGKILL = 234
_libc = ctypes.CDLL(None, use_errno=True)
_ptrace = _libc.ptrace
_ptrace.restype = ctypes.c_long
_ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


class Registers(ctypes.Structure):
    """struct user_regs_struct."""

    _fields_ = [(name, ctypes.c_ulonglong) for name in NAMES.split()]
    rax: int
    rbx: int
    rdx: int
    rsi: int
    rdi: int
    r8: int
    r9: int
    r10: int
    orig_rax: int
    rip: int
    rsp: int
    cs: int
    ss: int
    eflags: int
    fs_base: int

    def copy(self) -> "Registers":
        """Another one with the same values."""
        return Registers.from_buffer_copy(self)


class _Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


class _Rseq(ctypes.Structure):
    _fields_ = [("pointer", ctypes.c_ulonglong), ("size", ctypes.c_uint), ("rest", ctypes.c_uint * 3)]


def request(number: int, thread: int, address: int = 0, data: "int | ctypes._CArgObject" = 0) -> int:
    """One call of ptrace."""
    result: int = _ptrace(number, thread, address, data)
    if result == -1:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


def registers(thread: int) -> Registers:
    """Of a stopped thread."""
    found = Registers()
    request(GETREGS, thread, 0, ctypes.byref(found))
    return found


def set_registers(thread: int, wanted: Registers) -> None:
    """All of them at once."""
    request(SETREGS, thread, 0, ctypes.byref(wanted))


def vector_state(thread: int) -> bytes:
    """x87, SSE, AVX and what the processor has besides, as the kernel gives it."""
    buffer = ctypes.create_string_buffer(MOST_XSTATE)
    vector = _Vector(ctypes.addressof(buffer), MOST_XSTATE)
    request(GETREGSET, thread, X86_XSTATE, ctypes.byref(vector))
    return buffer.raw[: vector.length]


def set_vector_state(thread: int, state: bytes) -> None:
    """What `vector_state` gave."""
    buffer = ctypes.create_string_buffer(state, len(state))
    vector = _Vector(ctypes.addressof(buffer), len(state))
    request(SETREGSET, thread, X86_XSTATE, ctypes.byref(vector))


def blocked_signals(thread: int) -> int:
    """The mask, as bits: signal 1 is bit 0."""
    mask = ctypes.c_ulonglong()
    request(GETSIGMASK, thread, 8, ctypes.byref(mask))
    return mask.value


def block_signals(thread: int, mask: int) -> None:
    """Another mask."""
    request(SETSIGMASK, thread, 8, ctypes.byref(ctypes.c_ulonglong(mask)))


def signal_code(thread: int) -> int:
    """Of the signal that a thread is about to get: above 0 when the thread's own instruction caused it."""
    information = (ctypes.c_int * 32)()
    request(GETSIGINFO, thread, 0, ctypes.byref(information))
    return int(information[2])


def send(pid: int, thread: int, number: int) -> None:
    """A signal to one thread, if it still lives."""
    _libc.syscall(TGKILL, pid, thread, number)


def restartable_sequence(thread: int) -> int:
    """Where the thread's struct rseq is; 0 when it has none, or the kernel (before 5.13) does not tell."""
    found = _Rseq()
    try:
        request(GET_RSEQ, thread, ctypes.sizeof(found), ctypes.byref(found))
    except OSError:
        return 0
    return int(found.pointer)


def next_stop(until: float) -> tuple[int, int] | None:
    """The next thread that stopped or ended, and how; None if none did by `until`. SIGCHLD is blocked."""
    while True:
        try:
            thread, status = os.waitpid(-1, WALL | os.WNOHANG)
        except ChildProcessError:
            return None
        if thread:
            return thread, status
        left = until - time.monotonic()
        if left <= 0:
            return None
        signal.sigtimedwait((signal.SIGCHLD,), min(left, POLL))
