# SPDX-License-Identifier: MIT
"""Verdicts as lines on the terminal; the page is made by scripts/gen_programs.py."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from pathlib import Path

from model import Verdict

NONE = "-"


def ratio(pair: tuple[float, float]) -> str:
    return f"{pair[1] / pair[0]:.2f}" if pair[0] > 0 and pair[1] > 0 else NONE


def line(verdict: Verdict) -> str:
    """One program on the terminal."""
    if verdict.state != "passed":
        return f"{verdict.state:8}{verdict.program.name:14}{verdict.reason}"
    pairs = (
        ("time", verdict.seconds, figure(verdict.seconds[0], "s")),
        ("cpu", verdict.cpu_seconds, figure(verdict.cpu_seconds[0], "s")),
        ("peak", verdict.peak_kb, figure(verdict.peak_kb[0] / 1024, "MiB")),
    )
    figures = "   ".join(f"{label} {text:>8} x{ratio(pair):4}" for label, pair, text in pairs)
    return f"{verdict.state:8}{verdict.program.name:14}{figures}"


def machine() -> str:
    """CPU, cores, memory, system, and how busy it was: what a reader needs to weigh the figures."""
    model = platform.machine()
    for text in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if text.startswith("model name"):
            model = text.split(":", 1)[1].strip()
            break
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    system = platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    cores = len(os.sched_getaffinity(0))
    kernel, libc = platform.release(), " ".join(platform.libc_ver())
    load = f"load average {os.getloadavg()[2]:.1f} over the last 15 minutes"
    return f"{model}, {cores} cores, {memory:.0f} GiB, {system}, Linux {kernel}, {libc}, {load}"


def figure(value: float, unit: str) -> str:
    """A figure with its unit, or the sign for none."""
    return f"{value:.{0 if value >= 100 else 1 if value >= 10 else 2}f} {unit}" if value else NONE


def totals(verdicts: Sequence[Verdict]) -> str:
    count = {state: sum(verdict.state == state for verdict in verdicts) for state in ("passed", "failed", "skipped")}
    return f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped"
