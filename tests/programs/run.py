# SPDX-License-Identifier: MIT
"""Real programs under an allocator: same output and exit status as under glibc, with time and peak memory against it.

    python3 tests/programs/run.py --library build/release/libhew.so --set quick

The programs are listed in catalogue/; model.py says what a program is; trial.py runs one and judges it.
Exit status: 0 if nothing differs, 1 on any difference, crash or hang, 2 on wrong usage.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import crash
import execute
import packages
import report
from catalogue import PROGRAMS
from model import Program, Verdict
from trial import Bench, Trial


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--library", type=Path, help="the allocator to preload")
    parser.add_argument("--only", nargs="+", metavar="NAME", default=[], help="these programs, whatever their set")
    parser.add_argument(
        "--set",
        choices=("quick", "full"),
        default="quick",
        help="quick: few packages, under two minutes; full: every program, larger inputs",
    )
    parser.add_argument("--runs", type=int, default=0, help="runs under each allocator (default: 1 quick, 3 full)")
    parser.add_argument("--table", type=Path, help="write the Markdown table here")
    parser.add_argument("--install", action="store_true", help="install what is missing with apt")
    parser.add_argument("--keep", action="store_true", help="keep the directories of failed programs")
    parser.add_argument("--list", action="store_true", help="name the programs and stop")
    chosen = parser.parse_args(arguments)
    unknown = set(chosen.only) - {program.name for program in PROGRAMS}
    if unknown:
        parser.error(f"no program named {', '.join(sorted(unknown))}; --list names them")
    if not chosen.list and (chosen.library is None or not chosen.library.is_file()):
        parser.error("--library must name the shared library to preload; build it first (see the README)")
    return chosen


def select(chosen: argparse.Namespace) -> list[Program]:
    if chosen.only:
        return [program for program in PROGRAMS if program.name in chosen.only]
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


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = parse(arguments)
    if chosen.list:
        for program in PROGRAMS:
            print(f"{program.name:12}{'quick' if program.quick else 'full':7}{program.what}")
        return 0
    programs = select(chosen)
    full = chosen.set == "full"
    runs = chosen.runs or (3 if full else 1)
    if chosen.install:
        wanted = {package for program in programs for package in packages.missing(program.packages).values()}
        problem = packages.install(wanted)
        if problem:
            print(f"could not install: {problem}", file=sys.stderr)
    crash.allow_cores()
    root = Path(tempfile.mkdtemp(prefix="hew-programs-"))
    root.chmod(0o755)
    library = root / chosen.library.name
    shutil.copyfile(chosen.library, library)
    library.chmod(0o755)
    verdicts = []
    bench = Bench(root, execute.build_launcher(root), str(library), runs, full)
    try:
        for program in programs:
            verdict = judge(program, bench, chosen.keep)
            verdicts.append(verdict)
            print(report.line(verdict), flush=True)
            if verdict.evidence:
                print(verdict.evidence, flush=True)
    finally:
        if not (chosen.keep and any(verdict.state == "failed" for verdict in verdicts)):
            shutil.rmtree(root, ignore_errors=True)
    if chosen.table is not None:
        report.write_table(chosen.table, verdicts, chosen.library.name, runs, full)
    print(report.totals(verdicts))
    return 1 if any(verdict.state == "failed" for verdict in verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())
