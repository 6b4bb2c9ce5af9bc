#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Are limits of memory met?  Five workloads in a control group whose limit is 1.10 of what they cannot do without.

    python3 scripts/bench_limits.py [--runs 20] [--part 1.10] [--library FILE]

What a workload cannot do without is the highest usage of its group while nothing that is free is kept (decay 0, no
thread caches), the most of five runs, since threads differ from run to run.  Then runs with a limit and without one
take turns; a limited run that is killed, or ends badly, is counted, and time is compared in pairs, a limited run with
the free one before it: the median of the ratios of those that ended well.  Where no group can be made (this needs
root), the settings `limit` and `limit_hard` stand in its place, and a
refused request ends the run.

Status 1: a limited run did not end well.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Timer

ROOT = Path(__file__).resolve().parent.parent
# One thread and all sizes; large blocks of ever other sizes; other sizes in each phase; two programs with threads.
# Not exchange and its like: how much is alive there depends on who runs when.
WORKLOADS = ("store", "images", "phases", "server", "mixed lifetimes")
LEAN_RUNS = 5
LONGEST = 120  # seconds of a run: one that only gives back and takes again counts as killed
LEAN = "dirty_decay_ms:0,muzzy_decay_ms:0,tcache:false"
GROUPS = Path("/sys/fs/cgroup")
PAGE = 4096


@dataclass(frozen=True)
class Kind:
    """The files of a version of control groups."""

    parent: Path
    limit: str
    none: str
    peak: str


VERSIONS = (
    Kind(GROUPS, "memory.max", "max", "memory.peak"),
    Kind(GROUPS / "memory", "memory.limit_in_bytes", "-1", "memory.max_usage_in_bytes"),
)


@dataclass(frozen=True)
class Run:
    """How one run went."""

    status: int
    seconds: float
    processor: float
    peak: int


@dataclass
class Row:
    """All runs of one workload."""

    name: str
    limit: int
    free: list[Run] = field(default_factory=list)
    limited: list[Run] = field(default_factory=list)

    @property
    def bad(self) -> int:
        """Limited runs that did not end well."""
        return sum(run.status != 0 for run in self.limited)

    def ratio(self, what: str) -> float | None:
        """The median over pairs of neighbours, of limited beside free: what else runs on the machine hits both."""
        pairs = zip(self.limited, self.free, strict=True)
        ratios = [
            getattr(limited, what) / getattr(free, what)
            for limited, free in pairs
            if limited.status == 0 and free.status == 0 and getattr(free, what) > 0
        ]
        return statistics.median(ratios) if ratios else None

    def __str__(self) -> str:
        """A line of the closing table."""
        killed = sum(run.status < 0 for run in self.limited)
        ratios = " ".join("      -" if (one := self.ratio(what)) is None else f"{one:7.3f}" for what in RATIOS)
        over = max((run.peak for run in self.limited), default=0) / self.limit
        free = statistics.median(run.peak for run in self.free) / self.limit
        counts = f"{len(self.limited):5} {killed:7} {self.bad - killed:8}"
        return f"{self.name:16} {self.limit / 2**20:9.1f} {free:14.2f} {over:14.2f} {counts} {ratios}"


RATIOS = ("seconds", "processor")
HEAD = "workload         limit MiB  peak/limit free  peak/limit held  runs  killed  refused    wall     CPU"


@contextmanager
def group(kind: Kind, limit: str) -> Iterator[Path]:
    """A control group of our own, as long as a run."""
    folder = kind.parent / f"hew_limits_{os.getpid()}"
    folder.mkdir()
    try:
        (folder / kind.limit).write_text(limit)
        yield folder
    finally:
        folder.rmdir()


def usable(kind: Kind) -> bool:
    """Whether groups of this version can be made, limited and read here."""
    try:
        with group(kind, str(64 << 20)) as folder:
            return (folder / kind.peak).exists()
    except OSError:
        return False


def execute(words: Sequence[str], library: Path, settings: str, folder: Path | None = None) -> Run:
    """One run, in a group when there is one; `peak` is then the caller's to find."""
    environment = {**os.environ, "LD_PRELOAD": str(library), "HEW_CONF": settings}
    enter = ["sh", "-c", 'echo $$ > "$0" && export LD_PRELOAD="$1" && shift && exec "$@"']
    before = time.monotonic()
    if folder is not None:
        del environment["LD_PRELOAD"]
        words = [*enter, str(folder / "cgroup.procs"), str(library), *words]
    # The parent must not wait itself: the process's times come with its status.
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    watch = Timer(LONGEST, process.kill)
    watch.start()
    _, status, usage = os.wait4(process.pid, 0)
    watch.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - before
    return Run(process.returncode, seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def run_in_group(words: Sequence[str], library: Path, settings: str, kind: Kind, limit: str) -> Run:
    """One run in a fresh group."""
    with group(kind, limit) as folder:
        run = execute(words, library, settings, folder)
        return Run(run.status, run.seconds, run.processor, int((folder / kind.peak).read_text()))


def run_once(words: Sequence[str], library: Path, settings: str, kind: Kind | None, limit: int) -> Run:
    """One run under `limit`; 0: none."""
    if kind is not None:
        return run_in_group(words, library, settings, kind, str(limit) if limit else kind.none)
    own = f"limit:{limit},limit_hard:{limit}" if limit else ""
    return execute(words, library, ",".join(part for part in (settings, own) if part))


def measure(name: str, words: Sequence[str], options: argparse.Namespace, kind: Kind | None) -> Row:
    """Everything about one workload."""
    lean = [run_once(words, options.library, LEAN, kind, 0) for _ in range(LEAN_RUNS)]
    if bad := [run.status for run in lean if run.status != 0]:
        sys.exit(f"bench_limits: {name} ends with status {bad[0]} without any limit")
    row = Row(name, int(max(run.peak for run in lean) * options.part) // PAGE * PAGE)
    for _ in range(options.runs):
        row.free.append(run_once(words, options.library, "", kind, 0))
        row.limited.append(run_once(words, options.library, "", kind, row.limit))
    return row


def commands(suites: Path, programs: Path) -> dict[str, list[str]]:
    """The five workloads, with their words."""
    found = {}
    for workload in tomllib.loads(suites.read_text())["workloads"]:
        if workload["name"] in WORKLOADS:
            words = workload["in"].get("quick", workload["in"].get("nightly"))
            found[workload["name"]] = [
                word.replace("{programs}", str(programs)) for word in workload["command"] + words
            ]
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Are limits of memory met?")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--part", type=float, default=1.10, help="of what the workload cannot do without")
    parser.add_argument("--library", type=Path, default=ROOT / "build/release/libhew.so")
    parser.add_argument("--suites", type=Path, default=ROOT / "bench/suites.toml")
    parser.add_argument("--programs", type=Path, default=ROOT / "build/release/bench")
    parser.add_argument("--settings", action="store_true", help="use the settings even where a group can be made")
    options = parser.parse_args(arguments)
    options.library = options.library.resolve()
    kind = None if options.settings else next((one for one in VERSIONS if usable(one)), None)
    rows = [measure(name, words, options, kind) for name, words in commands(options.suites, options.programs).items()]
    print(f"bench_limits: by {kind.limit if kind else 'the settings limit and limit_hard'}, {options.part:.2f} of need")
    print(HEAD)
    for row in rows:
        print(row)
    return 1 if any(row.bad for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
