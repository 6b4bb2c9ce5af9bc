# SPDX-License-Identifier: MIT
"""What the tests of `hew swap` share: programs that sleep, and where the tests can run."""

import platform

import pytest

from conftest import may_attach

LONG = 60.0  # seconds in which a moment is found, however busy the machine is
SLEEPS = """#include <stdio.h>
#include <unistd.h>
{head}
int main(void) {{ {before} puts("ready"); fflush(stdout); return pause(); }}
"""
MARKS = [
    pytest.mark.skipif(platform.machine() != "x86_64", reason="hew swap works on x86-64 only"),
    pytest.mark.skipif(not may_attach(), reason="kernel.yama.ptrace_scope lets only root attach"),
    pytest.mark.usefixtures("patient_swaps"),
]


def sleeps(head: str = "", before: str = "") -> str:
    """A program that does something, says "ready" and sleeps."""
    return SLEEPS.format(head=head, before=before)
