# SPDX-License-Identifier: MIT
"""Real programs under an allocator: same output and exit status as under glibc, with time and peak memory against it.

    python3 tests/programs/run.py --library build/release/libhew.so --set quick
    python3 tests/programs/run.py --library build/release/libhew.so --set full --peers --save build/programs/full.json

The programs are listed in catalogue/; model.py says what a program is; trial.py runs one and judges it.  With --peers
all are measured under every other allocator that is there, too; scripts/gen_programs.py makes a page of what --save
wrote.
Exit status: 0 if nothing differs, 1 on any difference, crash or hang, 2 on wrong usage.
"""

from __future__ import annotations

import argparse
import datetime
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import allocators
import count
import crash
import execute
import packages
import report
from catalogue import PROGRAMS, TELLING
from model import Program, Verdict
from save import Saved, program_row
from trial import Bench, Trial

VENV = allocators.ROOT / "build/programs/venv"
IDLE_SECONDS = 30.0
SETS = ("quick", "telling", "full")


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--library", type=Path, help="the allocator to preload")
    parser.add_argument("--only", nargs="+", metavar="NAME", default=[], help="these programs, whatever their set")
    parser.add_argument(
        "--set",
        choices=SETS,
        default="quick",
        help="quick: few packages, under two minutes; telling: the twelve that tell most, small inputs; "
        "full: every program, larger inputs",
    )
    parser.add_argument("--runs", type=int, help="timed rounds under each allocator (default: 1 quick, 3 otherwise)")
    parser.add_argument("--sampled", type=int, default=0, help="rounds before them whose memory is sampled (default 0)")
    parser.add_argument(
        "--peers", nargs="*", metavar="NAME", help="also under these allocators, or under every one that is there"
    )
    parser.add_argument("--count", action="store_true", help="count instructions with valgrind instead, small inputs")
    parser.add_argument("--save", type=Path, help="write the figures here, after each program")
    parser.add_argument("--resume", action="store_true", help="leave out programs that --save's file has already")
    parser.add_argument("--install", action="store_true", help="install what is missing with apt")
    parser.add_argument("--keep", action="store_true", help="keep the directories of failed programs")
    parser.add_argument("--list", action="store_true", help="name the programs and stop")
    chosen = parser.parse_args(arguments)
    unknown = set(chosen.only) - {program.name for program in PROGRAMS}
    if unknown:
        parser.error(f"no program named {', '.join(sorted(unknown))}; --list names them")
    if not chosen.list and (chosen.library is None or not chosen.library.is_file()):
        parser.error("--library must name the shared library to preload; build it first (see the README)")
    unknown = set(chosen.peers or []) - set(allocators.peers())
    if unknown:
        parser.error(f"no allocator {', '.join(sorted(unknown))} here; there are {', '.join(allocators.peers())}")
    if chosen.runs is None:
        chosen.runs = 1 if chosen.set == "quick" else 3
    if chosen.runs + chosen.sampled < 1:
        parser.error("--runs and --sampled are both 0")
    return chosen


def select(chosen: argparse.Namespace) -> list[Program]:
    if chosen.only:
        return [program for program in PROGRAMS if program.name in chosen.only]
    if chosen.set == "telling":
        return [program for program in PROGRAMS if program.name in TELLING]
    return [program for program in PROGRAMS if program.quick or chosen.set == "full"]


def judge(program: Program, bench: Bench, keep: bool) -> Verdict:
    """One program, from its missing packages to its verdict."""
    lacking = packages.missing(program.packages)
    if lacking:
        names = ", ".join(f"{command} (package {package})" for command, package in lacking.items())
        return Verdict(program, "skipped", f"missing: {names}")
    verdict = Trial(program, bench).judge()
    if not (keep and verdict.state == "failed"):
        shutil.rmtree(bench.root / program.name, ignore_errors=True)
    return verdict


def install(programs: Sequence[Program]) -> None:
    """What is missing; a program that goes on lacking something is skipped later, by name."""
    wanted = {package for program in programs for package in packages.missing(program.packages).values()}
    problem = packages.install(wanted)
    problem = problem or packages.wheels((wheel for program in programs for wheel in program.wheels), VENV)
    if problem:
        print(f"could not install: {problem}", file=sys.stderr)


def measure(
    chosen: argparse.Namespace, programs: Sequence[Program], bench: Bench, saved: Saved | None
) -> list[Verdict]:
    """Every program in turn, said and saved as it ends."""
    verdicts = []
    for program in programs:
        if chosen.count:
            verdict, row = count.counted(program, bench)
        else:
            verdict = judge(program, bench, chosen.keep)
            row = program_row(verdict)
        verdicts.append(verdict)
        print(report.line(verdict), flush=True)
        for peer, problem in verdict.peers.items():
            print(f"        under {peer}: {problem}", flush=True)
        if verdict.evidence:
            print(verdict.evidence, flush=True)
        if saved is not None and row:
            saved.add(program.name, row)
    return verdicts


def open_saved(chosen: argparse.Namespace) -> Saved | None:
    if chosen.save is None:
        return None
    head = {
        "machine": report.machine(),
        "date": datetime.date.today().isoformat(),
        "set": chosen.set,
        "library": chosen.library.name,
        "idle_seconds": IDLE_SECONDS,
    }
    return Saved.opened(chosen.save, head, chosen.resume or chosen.count)


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = parse(arguments)
    if chosen.list:
        for program in PROGRAMS:
            print(f"{program.name:14}{'quick' if program.quick else 'full':7}{program.what}")
        return 0
    programs, saved = select(chosen), open_saved(chosen)
    if chosen.resume and saved is not None:
        programs = [program for program in programs if not saved.has(program.name)]
    if chosen.install:
        install(programs)
    crash.allow_cores()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # what runs is ended on the way out
    root = Path(tempfile.mkdtemp(prefix="hew-programs-"))
    root.chmod(0o755)
    there = allocators.peers() if chosen.peers is not None else {}
    bench = Bench(
        root,
        execute.build_launcher(root),
        allocators.copied("library", chosen.library, root).preload,
        chosen.runs,
        full=chosen.set == "full" and not chosen.count,
        sampled=chosen.sampled,
        peers=tuple(allocators.copied(name, there[name], root) for name in chosen.peers or there),
        idle_seconds=IDLE_SECONDS,
        venv=VENV,
    )
    verdicts: list[Verdict] = []
    try:
        verdicts = measure(chosen, programs, bench, saved)
    finally:
        if not (chosen.keep and any(verdict.state == "failed" for verdict in verdicts)):
            shutil.rmtree(root, ignore_errors=True)
    print(report.totals(verdicts))
    return 1 if any(verdict.state == "failed" for verdict in verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())
