#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run a command where the machine has just booted: in a time namespace whose clocks, but for the wall's, stand at 1 s.

    python3 scripts/just_booted.py ctest --test-dir build/release -R '^unit'

No test may depend on how long the machine has been up.  Where the system refuses such a namespace (it takes root, and
Linux 5.6), the command is left out, which is said, and the exit status is 0.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from pathlib import Path

CLONE_NEWTIME = 0x80
BEGIN_S = 1
OFFSETS = Path("/proc/self/timens_offsets")


def offsets() -> str:
    """What sets both clocks back to BEGIN_S, in the kernel's words."""
    monotonic = int(time.clock_gettime(time.CLOCK_MONOTONIC)) - BEGIN_S
    boottime = int(time.clock_gettime(time.CLOCK_BOOTTIME)) - BEGIN_S
    return f"monotonic {-monotonic} 0\nboottime {-boottime} 0\n"


def enter() -> str | None:
    """Children of this process will live in the namespace.  None, or why not."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWTIME) != 0:
        return os.strerror(ctypes.get_errno())
    try:
        OFFSETS.write_text(offsets(), encoding="ascii")
    except OSError as error:
        return str(error)
    return None


def main() -> int:
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    refused = enter()
    if refused is not None:
        print(f"just_booted: left out, the system refuses a time namespace: {refused}")
        return 0
    return subprocess.run(sys.argv[1:], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
