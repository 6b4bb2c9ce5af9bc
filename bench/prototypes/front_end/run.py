#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs every workload over every front end and every peer, interleaved, and prints medians as Markdown tables.

    make && ./run.py [--runs 7] [--only array,pages,...] [--peer NAME=LIBRARY ...]

Each run is a process of its own.  With --lock FILE each takes that lock, so that measurements of others do not overlap.
"""
import argparse
import fcntl
import json
import os
import pathlib
import statistics
import subprocess

WORKLOADS = """lifo64 batch128-same batch128-reverse batch128-random batch1024-same batch1024-reverse batch1024-random
rand10000x64 rand100000x1024 rand100000x1024-read rand1000000x512 tree phases pipe server2 server4 idle""".split()
FRONT_ENDS = ["array", "array-budget256", "array-depot", "array-depot-owner", "chain", "chain-nodepot", "pages"]


def run_once(binary: pathlib.Path, preload: str | None, workload: str, lock: str | None) -> list[float]:
    """The figures of one process: ns per operation, then KiB at the peak, after freeing, in slabs, after a purge."""
    environment = dict(os.environ, LD_PRELOAD=preload) if preload else None
    with open(lock or os.devnull, "w") as held:
        if lock:
            fcntl.flock(held, fcntl.LOCK_EX)
        done = subprocess.run([binary, workload], env=environment, capture_output=True, text=True, check=True)
    return [float(field) for field in done.stdout.split()[1:]]


def table(title: str, rows: dict[str, list[str]]) -> None:
    print(f"\n{title}\n\n| | {' | '.join(WORKLOADS)} |\n|---|{'---|' * len(WORKLOADS)}")
    for name, cells in rows.items():
        print(f"| {name} | {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path(__file__).parent / "build")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--only", default=",".join(FRONT_ENDS))
    parser.add_argument("--peer", action="append", default=[])
    parser.add_argument("--lock")
    parser.add_argument("--json", type=pathlib.Path, help="also write every run here")
    options = parser.parse_args()
    subjects: dict[str, tuple[pathlib.Path, str | None]] = {
        name: (options.build / name, None) for name in options.only.split(",") if name
    }
    for peer in options.peer:
        name, _, library = peer.partition("=")
        subjects[name] = (options.build / "plain", library or None)
    runs: dict[str, dict[str, list[list[float]]]] = {name: {w: [] for w in WORKLOADS} for name in subjects}
    for _ in range(options.runs):
        for workload in WORKLOADS:
            for name, (binary, preload) in subjects.items():
                runs[name][workload].append(run_once(binary, preload, workload, options.lock))
    if options.json:
        options.json.write_text(json.dumps(runs))

    def median(name: str, workload: str, field: int) -> float:
        return statistics.median(run[field] for run in runs[name][workload])

    def rows(field: int, scale: float, digits: int) -> dict[str, list[str]]:
        return {name: [f"{median(name, w, field) / scale:.{digits}f}" for w in WORKLOADS] for name in subjects}

    fastest = {name: [f"{min(run[0] for run in runs[name][w]):.1f}" for w in WORKLOADS] for name in subjects}
    table("Time, ns per pair (idle: per object, thread creation included), median", rows(0, 1, 1))
    table("The same, fastest run", fastest)
    table("Peak RSS, MiB over the start", rows(1, 1024, 1))
    table("RSS when everything has been freed, MiB", rows(2, 1024, 1))
    table("Slab pages that caches still pin then, MiB (front ends only)", rows(3, 1024, 2))
    table("RSS after free pages were returned, MiB (front ends only)", rows(4, 1024, 1))


if __name__ == "__main__":
    main()
