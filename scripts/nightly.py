#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run what CI does not: longer tests, packages, measurements; and say what changed since the last run.

    python3 scripts/nightly.py --list
    python3 scripts/nightly.py [--minutes 480] [--resume] [NAME...]

Without names it runs every job in the order of the list. A job is a target of scripts/nightly.mk. Its output goes to
build/nightly/NAME.log, and its result to build/nightly/results.json, which the next run compares with: a job that
passed and now fails, or the other way round; another last line; a page under docs/ with new figures. When a job fails,
or takes four times its usual time and is ended, the others still run. With --minutes no job begins that would, by its
usual time, end later. --resume goes on with a run that was stopped: jobs that passed at this revision are left out,
whatever pages they have changed. Exits with 1 when a job failed.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from generated import revision_of

ROOT = Path(__file__).parent.parent
PATIENCE = 4.0  # a job that takes more than this many times its usual minutes is ended
FOLDER = ROOT / "build" / "nightly"


@dataclass(frozen=True)
class Job:
    """A target of scripts/nightly.mk, what it finds out, and how many minutes it takes on two processors."""

    name: str
    what: str
    minutes: int


@dataclass(frozen=True)
class Result:
    """How a job ended, with the last line that it printed."""

    passed: bool
    seconds: int
    revision: str
    said: str


# Tests first, then what is installed, then measurements: those want a machine that does nothing else.
JOBS = (
    Job("tidy", "clang-tidy over all of src/", 4),
    Job("refused-calls", "system calls refused by chance", 12),
    Job("simulate", "random histories on a simulated machine", 5),
    Job("hardened", "simulator, models, fuzzers and programs at each level of hardening", 15),
    Job("coverage", "branches that no test takes", 10),
    Job("mutants", "changes of the code that no test notices", 90),
    Job("test-aarch64", "unit tests and programs for aarch64, under qemu-user", 20),
    Job("soak", "programs under settings that move limits", 30),
    Job("attach-soak", "hew attaches to busy programs on jemalloc", 30),
    Job("swap-soak", "hew swaps the allocator of busy programs, and is killed at each step", 60),
    Job("test-engines", "hew export with real engines that are killed", 4),
    Job("compat", "programs and crates written for jemalloc", 20),
    Job("packages", "each package installed, used and removed; release parts made twice", 40),
    Job("bench-nightly", "the suite: docs/benchmarks.md", 60),
    Job("bench-unseen", "programs that nothing was tuned to: docs/unseen.md", 40),
    Job("bench-limits", "five workloads near a memory limit", 20),
    Job("bench-weeks", "a server's fortnight: docs/weeks.md", 25),
    Job("bench-pools", "pools: docs/pools.md", 5),
    Job("cut-to-fit", "ten programs, cut: docs/cut-to-fit.md", 15),
    Job("tuning", "from statistics to a gain: docs/tuning.md", 3),
    Job("tool-output", "what each command prints: docs/tool_output.md", 3),
    Job("python-lines", "ten programs in Python: bytes with a line, beside memray", 5),
    Job("recorder-cost", "CPU of a compiler, Python and Redis under hew record, heaptrack and memray", 10),
    Job("long-page", "the page of a run of 10^9 operations", 15),
    Job("nightly-fleet", "simulated fleets: docs/fleet.md", 40),
    Job("programs", "real programs under every allocator: docs/programs.md", 240),
)


def run_job(job: Job, words: Sequence[str] = ("make",)) -> Result:
    """Runs a job to its end, or ends it with all that it started; what it prints goes to its log."""
    log = FOLDER / f"{job.name}.log"
    began = time.monotonic()
    with log.open("w", encoding="utf-8") as output:
        process = subprocess.Popen(
            (*words, job.name), cwd=ROOT, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        try:
            status = process.wait(60 * job.minutes * PATIENCE)
        except subprocess.TimeoutExpired:
            end(process)
            status = -1
            output.write(f"\nended after {PATIENCE * job.minutes:g} minutes\n")
        except BaseException:  # what a run that is stopped leaves would disturb the next one
            end(process)
            raise
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
    said = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return Result(status == 0, round(time.monotonic() - began), revision(), said)


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends a job and the programs that it started, which are in its process group."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, how)
            process.wait(30)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue


def revision() -> str:
    """The commit, without a mark for changed files: jobs write pages."""
    return revision_of(ROOT).removesuffix("-dirty")


def read_results(file: Path) -> dict[str, Result]:
    """The results of earlier runs; none where there are none."""
    if not file.is_file():
        return {}
    return {name: Result(**row) for name, row in json.loads(file.read_text(encoding="utf-8")).items()}


def change(before: Result | None, now: Result) -> str:
    """What is different from the last run of the same job; nothing: nothing is."""
    if before is None:
        return "first run"
    if before.passed != now.passed:
        return f"{'passed' if before.passed else 'failed'} at {before.revision}"
    return f"said before: {before.said}" if before.said != now.said else ""


def left_to_do(jobs: Sequence[Job], results: dict[str, Result], now: str) -> list[Job]:
    """The jobs that have not passed at this revision."""
    done = {name for name, one in results.items() if one.passed and one.revision == now}
    return [job for job in jobs if job.name not in done]


def changed_pages() -> list[str]:
    """Pages that differ from the commit, with the lines that do."""
    words = ("git", "diff", "--stat=100", "--", "docs", "README.md")
    done = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    return done.stdout.splitlines()


def run_all(jobs: Sequence[Job], minutes: float, run: Callable[[Job], Result], file: Path) -> list[str]:
    """Runs the jobs that there is time for, one after the other. The names of those that failed."""
    ends = time.monotonic() + 60 * minutes
    results = read_results(file)
    failed = []
    for job in jobs:
        before = results.get(job.name)
        usual = before.seconds if before is not None and before.passed else 60 * job.minutes
        if time.monotonic() + usual > ends:
            print(f"nightly: {job.name}: not begun, it takes {usual / 60:.0f} minutes", flush=True)
            continue
        now = run(job)
        failed += [] if now.passed else [job.name]
        results[job.name] = now
        file.write_text(json.dumps({name: asdict(one) for name, one in results.items()}, indent=1) + "\n")
        word = "passed" if now.passed else "FAILED"
        print(f"nightly: {job.name}: {word} in {now.seconds / 60:.0f} min: {now.said}", flush=True)
        if said := change(before, now):
            print(f"    {said}", flush=True)
    return failed


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("names", nargs="*", metavar="NAME", help="jobs to run; default: all")
    parser.add_argument("--list", action="store_true", help="print the jobs and run none")
    parser.add_argument("--resume", action="store_true", help="leave out jobs that passed at this revision")
    parser.add_argument("--minutes", type=float, default=24 * 60.0, help="begin no job that would end later than this")
    options = parser.parse_args(arguments)
    known = {job.name: job for job in JOBS}
    if unknown := set(options.names) - set(known):
        parser.error(f"no such job: {', '.join(sorted(unknown))}")
    jobs = [known[name] for name in options.names] or list(JOBS)
    if options.list:
        for job in jobs:
            print(f"{job.name:15} {job.minutes:4} min  {job.what}")
        return 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    file = FOLDER / "results.json"
    if options.resume:
        jobs = left_to_do(jobs, read_results(file), revision())
    failed = run_all(jobs, options.minutes, run_job, file)
    for line in changed_pages():
        print(f"nightly: changed: {line.strip()}")
    print(f"nightly: {len(jobs)} jobs, {len(failed)} failed{':' if failed else ''} {' '.join(failed)}".rstrip())
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
