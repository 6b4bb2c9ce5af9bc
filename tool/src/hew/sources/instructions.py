# SPDX-License-Identifier: MIT
"""Counts the instructions of a command and its children in user mode, where the machine lets us (perf_event_open).

A counter is attached to the process behind the gate. It starts at exec and is inherited by children; a child's count is
added to it when the child ends.
"""

import ctypes
import os
import platform
import struct

SYSCALL = {"x86_64": 298, "aarch64": 241}.get(platform.machine())
HARDWARE, INSTRUCTIONS = 0, 1
SOFTWARE, PAGE_FAULTS = 1, 2
# Bits of struct perf_event_attr behind read_format.
DISABLED, INHERIT, EXCLUDE_KERNEL, EXCLUDE_HYPERVISOR, ENABLE_ON_EXEC = 1 << 0, 1 << 1, 1 << 5, 1 << 6, 1 << 12
ATTRIBUTE_BYTES = 112
CLOSE_ON_EXEC = 1 << 3


class Counter:
    """One event of one process tree. Reads as None where it cannot be counted."""

    def __init__(self, pid: int, kind: int = HARDWARE, event: int = INSTRUCTIONS) -> None:
        self._file = _open(pid, kind, event)

    def close(self) -> float | None:
        """The count, once the process has ended."""
        if self._file < 0:
            return None
        with os.fdopen(self._file, "rb") as file:
            self._file = -1
            (count,) = struct.unpack("Q", file.read(8))
        return float(count) if count else None


def _open(pid: int, kind: int, event: int) -> int:
    """The counter's descriptor, or a negative number."""
    if SYSCALL is None:
        return -1
    flags = DISABLED | INHERIT | ENABLE_ON_EXEC | EXCLUDE_HYPERVISOR | (EXCLUDE_KERNEL if kind == HARDWARE else 0)
    attribute = struct.pack("IIQQQQQ", kind, ATTRIBUTE_BYTES, event, 0, 0, 0, flags).ljust(ATTRIBUTE_BYTES, b"\0")
    syscall = ctypes.CDLL(None, use_errno=True).syscall
    syscall.restype = ctypes.c_long
    words = [ctypes.c_long(one) for one in (pid, -1, -1, CLOSE_ON_EXEC)]
    return int(syscall(ctypes.c_long(SYSCALL), attribute, *words))
