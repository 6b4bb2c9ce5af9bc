#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measure pools against malloc, and the look-ups of sizes against each other; print the tables, write docs/pools.md.

    python3 scripts/bench_pools.py [--runs 9] [--save FILE | --load FILE] [--page docs/pools.md]

bench/pools/rounds runs as glibc's malloc, as hew's and as pool sets, one process after the other in turns; figures are
medians over the runs.  Only what stands between the two marks of the page is written.  On a quiet machine, please.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "release"
BEGIN, END = "<!-- tables: made by scripts/bench_pools.py -->", "<!-- end of tables -->"
ROWS = {1: "declared sizes", 2: "random, unaligned", 3: "random, aligned", 4: "larger than the largest"}
PLACES = {"glibc": 0, "hew": 0, "within": 1, "beyond": 2}
THREADS = (5, 2, 32)
ROUNDS = {1: 41, 2: 41, 3: 41, 4: 11}  # the last row touches 400 MB a round with 32 threads
METHODS = ("auto", "midpoint", "interpolation", "hybrid", "flat", "doubling")
SHAPES = ("even", "uneven", "wide")
ORDERS = ("in order", "random order", "one after the other")
Point = dict[str, Any]


def run_program(command: list[str], preload: Path | None) -> list[Point]:
    """The lines of JSON that a program of bench/pools writes."""
    environment = {**os.environ, "LD_PRELOAD": "" if preload is None else str(preload)}
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300, env=environment)
    return [json.loads(line) for line in done.stdout.splitlines()]


def measure_rounds(build: Path, runs: int) -> list[Point]:
    """One point for each number of threads, row and place: microseconds of a first round and of a later one."""
    points = []
    for threads, row in product(THREADS, ROWS):
        taken: dict[str, list[Point]] = {name: [] for name in PLACES}
        for _ in range(runs):
            for name, place in PLACES.items():
                command = [str(build / "bench/pools/rounds"), "--threads", str(threads)]
                command += ["--row", str(row), "--place", str(place), "--rounds", str(ROUNDS[row])]
                taken[name] += run_program(command, None if name == "glibc" else build / "libhew.so")
        for name, results in taken.items():
            later, first = (statistics.median(result[key] for result in results) for key in ("us", "first_us"))
            points.append({"threads": threads, "row": row, "place": name, "us": later, "first_us": first})
    return points


def measure(build: Path, runs: int) -> Point:
    """Everything, as it is saved."""
    lookups = run_program([str(build / "bench/pools/lookup")], None)
    return {"runs": runs, "rounds": measure_rounds(build, runs), "lookups": lookups}


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """A Markdown table, the first column to the left."""
    marks = ["---", *["---:"] * (len(head) - 1)]
    return ["", *("| " + " | ".join(cells) + " |" for cells in (head, marks, *rows)), ""]


def rounds_table(points: list[Point], threads: int, key: str) -> list[str]:
    """One row for each kind of size: microseconds, and what pools take of the two mallocs' time."""
    rows = []
    for row, title in ROWS.items():
        took = {point["place"]: point[key] for point in points if (point["threads"], point["row"]) == (threads, row)}
        cells = [title, *(f"{took[place]:,.0f}" for place in PLACES)]
        cells += [f"{took[place] / took[malloc]:.2f}" for place in ("within", "beyond") for malloc in ("glibc", "hew")]
        rows.append(cells)
    head = [f"{threads} threads", "glibc", "hew", "pool, within", "pool, beyond"]
    return table([*head, "within / glibc", "/ hew", "beyond / glibc", "/ hew"], rows)


def lookup_table(points: list[Point], shape: str, order: str) -> list[str]:
    """One row for each number of sizes: nanoseconds of each method."""
    rows = []
    here = [point for point in points if (point["table"], point["order"]) == (shape, order)]
    for count in sorted({point["sizes"] for point in here}):
        took = {point["method"]: point["ns"] for point in here if point["sizes"] == count}
        rows.append([f"{count:,}", *(f"{took[method]:.1f}" if method in took else "" for method in METHODS)])
    return table([f"{shape}, {order}", *METHODS], rows)


def section(document: Point) -> str:
    """What stands between the marks."""
    lines = [BEGIN, "", "### Pools against malloc", ""]
    lines.append(
        f"Microseconds of a round, medians of {document['runs']} processes, "
        f"of {ROUNDS[1] - 1} rounds after the first in each ({ROUNDS[4] - 1} in the last row)."
    )
    for threads in THREADS:
        lines += rounds_table(document["rounds"], threads, "us")
    lines.append("The first round of the process, in which pages are touched for the first time:")
    for threads in THREADS:
        lines += rounds_table(document["rounds"], threads, "first_us")
    lines += ["### Look-ups", "", "Nanoseconds a request."]
    for order, shape in product(ORDERS, SHAPES):
        lines += lookup_table(document["lookups"], shape, order)
    return "\n".join([*lines, END])


def written_into(page: str, tables: str) -> str:
    """The page with new tables; ValueError when it has no place for them."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"no {BEGIN} and {END}")
    return before + tables + after


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Measure pools against malloc, and look-ups against each other.")
    parser.add_argument("--build", type=Path, default=BUILD, help="where libhew.so and bench/pools are")
    parser.add_argument("--runs", type=int, default=9, help="processes of each kind")
    parser.add_argument("--save", type=Path, help="write the figures there, as JSON")
    parser.add_argument("--load", type=Path, help="measure nothing, take figures that were saved")
    parser.add_argument("--page", type=Path, help="write the tables into this page")
    options = parser.parse_args(arguments)
    try:
        document = json.loads(options.load.read_text()) if options.load else measure(options.build, options.runs)
        if options.save:
            options.save.parent.mkdir(parents=True, exist_ok=True)
            options.save.write_text(json.dumps(document, indent=1) + "\n")
        tables = section(document)
        if options.page:
            options.page.write_text(written_into(options.page.read_text(), tables))
    except subprocess.CalledProcessError as error:
        print(f"bench_pools: {' '.join(error.cmd)}: {error.stderr.strip()}", file=sys.stderr)
        return 2
    except (OSError, ValueError, KeyError, subprocess.TimeoutExpired) as error:
        print(f"bench_pools: {error}", file=sys.stderr)
        return 2
    print(tables)
    return 0


if __name__ == "__main__":
    sys.exit(main())
