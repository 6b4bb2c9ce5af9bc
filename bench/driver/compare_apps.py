# SPDX-License-Identifier: MIT
"""Every workload of bench/apps under every allocator: one table of ratios to glibc.

Each workload runs through `hew compare`: interleaved rounds after a warm-up, medians, ratios paired by round. The inputs
are sized for about a second each, so that the whole set takes some ten minutes on two cores.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORKLOADS: dict[str, list[str]] = {
    "buffer_churn": ["--step", "1024"],
    "serve": ["--connections", "10000"],
    "broker": ["--messages", "1500000"],
    "evaluator": ["--expressions", "40000"],
    "store": ["--ops", "2000000"],
    "json_tree": ["--rounds", "3"],
    "larson_like": ["--generations", "60"],
    "xmalloc_like": ["--batches", "15000"],
    "mixed_lifetimes": ["--rounds", "30"],
    "scratch": ["--repeats", "10000"],
    "thread_churn": ["--threads", "20000"],
}
FIGURES = ("wall_seconds", "cpu_seconds", "peak_rss_bytes")


def compare(name: str, arguments: list[str], runs: int, allocators: list[str]) -> dict[str, dict[str, float]]:
    """The medians of each allocator's figures for one workload."""
    program = ROOT / "build/release/bench/apps" / name
    chosen = [word for allocator in allocators for word in ("--alloc", allocator)]
    command = [str(ROOT / ".venv/bin/hew"), "compare", "--runs", str(runs), "--json", *chosen, "--", str(program)]
    result = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"compare_apps: {name}: {result.stderr.strip().splitlines()[-1]}")
    report = json.loads(result.stdout)
    return {entry["name"]: entry["medians"] for entry in report["allocators"] if entry["good_runs"]}


def row(cells: list[str]) -> str:
    """One line of a Markdown table."""
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Measures and prints; progress goes to stderr."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=7, help="counted rounds of each workload")
    parser.add_argument("--alloc", action="append", help="only these allocators, glibc first (default: all found)")
    parser.add_argument("--only", action="append", help="only these workloads")
    options = parser.parse_args()
    logs: dict[str, list[list[float]]] = {}
    head: list[str] = []
    for name, arguments in WORKLOADS.items():
        if options.only and name not in options.only:
            continue
        print(f"{name} …", file=sys.stderr, flush=True)
        medians = compare(name, arguments, options.runs, options.alloc or [])
        if not head:
            head = list(medians)
            print("wall / CPU / peak RSS, ratios of medians to glibc's; glibc's own in seconds and MiB\n")
            print(row(["workload", *head]))
            print(row(["---"] * (len(head) + 1)))
        base = medians["glibc"]
        cells = [f"{base['wall_seconds']:.2f} / {base['cpu_seconds']:.2f} / {base['peak_rss_bytes'] / 2**20:.0f}"]
        for allocator in head[1:]:
            ratios = [medians[allocator][figure] / base[figure] for figure in FIGURES]
            logs.setdefault(allocator, []).append([math.log(ratio) for ratio in ratios])
            cells.append(" / ".join(f"{ratio:.2f}" for ratio in ratios))
        print(row([" ".join([name, *arguments]), *cells]), flush=True)
    means = [
        " / ".join(f"{math.exp(sum(column) / len(column)):.2f}" for column in zip(*logs[allocator], strict=True))
        for allocator in head[1:]
    ]
    print(row(["geometric mean", "", *means]))


if __name__ == "__main__":
    main()
