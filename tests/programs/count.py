# SPDX-License-Identifier: MIT
"""Instructions of a program under each allocator, counted by callgrind: a figure that repeats on a busy machine.

Only programs without a server and without windows, at their small sizes; the kernel's instructions are not counted.  A
program that valgrind cannot run, or not in time, is skipped by name.  Threads run one at a time under valgrind: figures
of programs with threads repeat less well.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import execute
import packages
from model import Allocator, Place, Program, Verdict
from save import Row
from server import free_port
from trial import Bench, Trial

CALLGRIND = ("valgrind", "-q", "--tool=callgrind", "--trace-children=yes", "--smc-check=all-non-file")
LIMIT = 900.0
"""Seconds for one step."""

OBJECT = re.compile(r"^ob=\((\d+)\)(?: (.*))?$")


def costs(lines: Iterable[str]) -> dict[str, int]:
    """Object file -> instructions in it, of one file of callgrind's; calls' inclusive costs are not counted twice."""
    names: dict[str, str] = {}
    found: dict[str, int] = {}
    current, skip = "", False
    for line in lines:
        if line[:1] in "0123456789+-*":
            if not skip:
                found[current] = found.get(current, 0) + int(line.split()[1])
            skip = False
        elif line.startswith("ob="):
            match = OBJECT.match(line.rstrip("\n"))
            if match is not None:
                names.setdefault(match[1], match[2] or "")
                current = names[match[1]]
        elif line.startswith("cob="):
            match = OBJECT.match(line.rstrip("\n")[1:])
            if match is not None:
                names.setdefault(match[1], match[2] or "")
        elif line.startswith("calls="):
            skip = True
    return found


def counted_run(trial: Trial, allocator: Allocator, launcher: Path) -> tuple[dict[str, int], str]:
    """Instructions by object over all processes of one run, and what went wrong."""
    place: Place = trial.place(f"counted-{allocator.label}", free_port())
    problem = ""
    for step in trial.program.steps:
        argv = place.fill_all(step.argv)
        library = allocator.preload if step.under_library else ""
        if step.under_library and step.timed:
            argv = [*CALLGRIND, f"--callgrind-out-file={place.run}/.callgrind.%p", *argv]
        stdin = place.fill(step.stdin) if step.stdin else None
        done = execute.run_command(launcher, argv, place, library, stdin, LIMIT, sampled=False)
        if done.status != 0:
            problem = f"{os.path.basename(step.argv[0])} under valgrind: status {done.status}"
            break
    total: dict[str, int] = {}
    for path in place.run.glob(".callgrind.*"):
        with open(path, encoding="utf-8", errors="replace") as lines:
            for name, instructions in costs(lines).items():
                total[name] = total.get(name, 0) + instructions
    shutil.rmtree(place.run, ignore_errors=True)
    return total, problem


def counted(program: Program, bench: Bench) -> tuple[Verdict, Row]:
    """The program's instructions under each allocator, as a row for the file of figures."""
    if program.server is not None or program.display:
        return Verdict(program, "skipped", "not counted: a server or a window"), {}
    if packages.missing({**program.packages, "valgrind": "valgrind"}):
        return Verdict(program, "skipped", "not counted: something is missing"), {}
    trial = Trial(program, replace(bench, full=False))
    if program.prepare is not None:
        program.prepare(trial.place("inputs", free_port()))
    row: Row = {}
    for allocator in (Allocator("glibc", ""), Allocator("hew", bench.library), *bench.peers):
        total, problem = counted_run(trial, allocator, bench.launcher)
        if problem:
            return Verdict(program, "skipped", f"not counted: {problem} ({allocator.label})"), {}
        # Of hew's one segment for code and constants callgrind knows the functions, and not the file.
        inside = (total.get(allocator.preload) or total.get("???")) if allocator.preload else None
        row[allocator.label] = {"all": sum(total.values()), "library": inside}
    shutil.rmtree(bench.root / program.name, ignore_errors=True)
    return Verdict(program, "passed"), {"instructions": row}
