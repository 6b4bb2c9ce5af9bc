#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run the programs of our benchmarks again and again under hew, with settings that move its limits.

    python3 scripts/soak.py [--rounds 10] [--library FILE ...] [--threads-only]

A race shows itself in one run of many: no figure is taken here, only each exit status.  A bad end is told with the
words that repeat it, and the status is 1.  What else runs on the machine only helps.
"""

import argparse
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = "{programs}/apps/"
ALONE = ("one thread", "memory over time")  # groups whose programs have one thread
SETTINGS = (
    "",
    "narenas:4",  # few arenas: every batch meets objects of another one
    "narenas:64,dirty_decay_ms:0,muzzy_decay_ms:0",  # pages come and go
    "tcache_max:4096,lg_tcache_nslots_mul:-1",  # short caches: slow paths all the time
    "retain:false,thp:never,background_thread:false",
)
LIMIT = 600.0  # seconds that a run may take: it hangs


@dataclass(frozen=True)
class Bad:
    """A run that ended badly."""

    words: Sequence[str]
    library: Path
    settings: str
    reason: str

    def __str__(self) -> str:
        """What happened, and how it is repeated."""
        settings = f" MALLOC_CONF={self.settings}" if self.settings else ""
        return f"{self.reason}\n  LD_PRELOAD={self.library}{settings} {' '.join(self.words)}"


def commands(suites: Path, programs: Path, threads_only: bool) -> list[list[str]]:
    """The programs of ours among the quick suite's workloads, with their words."""
    found = []
    for workload in tomllib.loads(suites.read_text())["workloads"]:
        ours = "command" in workload and workload["command"][0].startswith(PROGRAMS) and not workload.get("curve")
        words = workload["in"].get("quick", workload["in"].get("nightly"))
        if ours and words is not None and not (threads_only and workload["group"] in ALONE):
            found.append([word.replace("{programs}", str(programs)) for word in workload["command"] + words])
    return found


def run(words: Sequence[str], library: Path, settings: str) -> Bad | None:
    """One run."""
    environment = {**os.environ, "LD_PRELOAD": str(library), "MALLOC_CONF": settings}
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT, env=environment, check=False)
    except subprocess.TimeoutExpired:
        return Bad(words, library, settings, f"did not end within {LIMIT:g} s")
    if done.returncode == 0:
        return None
    last = (done.stderr.strip().splitlines() or ["nothing on stderr"])[-1]
    return Bad(words, library, settings, f"status {done.returncode}: {last}")


def soak(found: list[list[str]], libraries: Sequence[Path], rounds: int) -> Iterator[Bad]:
    """Every program under every library and setting, as often as asked for."""
    for turn in range(rounds):
        for settings in SETTINGS:
            for library in libraries:
                yield from (bad for words in found if (bad := run(words, library, settings)))
        print(f"soak: round {turn + 1} of {rounds} is over", flush=True)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Run the benchmarks' programs under hew, again and again.")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--library", type=Path, action="append", help="may be given more than once")
    parser.add_argument("--threads-only", action="store_true", help="leave out programs with one thread")
    parser.add_argument("--suites", type=Path, default=ROOT / "bench/suites.toml")
    parser.add_argument("--programs", type=Path, default=ROOT / "build/release/bench")
    options = parser.parse_args(arguments)
    libraries = options.library or [ROOT / "build/release/libhew.so", ROOT / "build/dev/libhew.so"]
    for library in libraries:
        if not library.is_file():
            parser.error(f"{library} is not there: make release dev")
    found = commands(options.suites, options.programs, options.threads_only)
    count = 0
    for bad in soak(found, [one.resolve() for one in libraries], options.rounds):
        count += 1
        print(f"soak: {bad}", flush=True)
    runs = len(found) * len(libraries) * len(SETTINGS) * options.rounds
    print(f"soak: {count} of {runs} runs ended badly")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
