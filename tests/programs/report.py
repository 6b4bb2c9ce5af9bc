# SPDX-License-Identifier: MIT
"""Verdicts as lines on the terminal and as the table in docs/programs.md."""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Sequence
from pathlib import Path

from model import Verdict

INTRODUCTION = """\
<!-- SPDX-License-Identifier: MIT -->
<!-- Written by tests/programs/run.py; do not edit by hand. -->
# Real programs under {library}

Each program below runs unchanged, once under glibc's malloc and once with `LD_PRELOAD={library}`, in turn. It passes
when its output, the files it leaves and its exit status are the same, the library is mapped in its main process, the
dynamic linker really took malloc and free from it, and the allocator had nothing to complain about. Ratios are the
library divided by glibc, medians of {runs} run{plural} each: below 1 is faster or leaner. Peak memory is the largest
process of the program; for a server it is the server's own (for one with several processes: their proportional set
sizes together, at the highest of samples taken every 0.1 s). CPU time is that of the program with all its children, or
of the server alone. Small times carry noise of several percent, wall time more than CPU time.

Measured {date} on {machine}.

    cmake --preset release && cmake --build build/release
    python3 tests/programs/run.py --library build/release/{library} --set {which} --runs {runs} --install{table}

| program | version | what runs | result | time, glibc | ratio | CPU, glibc | ratio | peak, glibc | ratio | notes |
|---|---|---|---|---|---|---|---|---|---|---|
"""

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


def row(verdict: Verdict) -> str:
    """One program in the table."""
    program = verdict.program
    unit = "s per 1000 requests" if any(step.cost for step in program.steps) else "s"
    notes = "; ".join(([verdict.reason] if verdict.reason else []) + verdict.notes).replace("|", "\\|")
    cells = [
        program.name,
        verdict.version,
        program.what,
        verdict.state,
        figure(verdict.seconds[0], unit),
        ratio(verdict.seconds),
        figure(verdict.cpu_seconds[0], "s"),
        ratio(verdict.cpu_seconds),
        figure(verdict.peak_kb[0] / 1024, "MiB"),
        ratio(verdict.peak_kb),
        notes,
    ]
    return "| " + " | ".join(cells) + " |\n"


def write_table(path: Path, verdicts: Sequence[Verdict], library: str, runs: int, full: bool) -> None:
    """The whole file, replaced in one piece."""
    text = INTRODUCTION.format(
        library=library,
        runs=runs,
        plural="" if runs == 1 else "s",
        machine=machine(),
        date=datetime.date.today().isoformat(),
        which="full" if full else "quick",
        table=f" --table {path.as_posix()}" if not path.is_absolute() else "",
    )
    text += "".join(row(verdict) for verdict in verdicts)
    text += "\n" + totals(verdicts) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def totals(verdicts: Sequence[Verdict]) -> str:
    count = {state: sum(verdict.state == state for verdict in verdicts) for state in ("passed", "failed", "skipped")}
    return f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped"
