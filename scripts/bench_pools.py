#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measure pools against malloc, and the look-ups of sizes against each other; print the tables, write docs/pools.md.

    python3 scripts/bench_pools.py [--runs 9] [--save FILE | --load FILE] [--page docs/pools.md]

bench/pools/rounds runs as glibc's malloc, as hew's twice, and as pool sets, one process after the other, forwards and
backwards in turns; figures are medians over the runs.  A ratio is the median of those of a run's processes, with its
quartiles; what two runs of the same malloc are to each other shows how much of it is chance.  Only what stands between
the two marks of the page is written.  On a quiet machine, please: three to four minutes there.
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

from generated import section_of, table

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "release"
SECTION = section_of("scripts/bench_pools.py", "tables")
ROWS = {1: "declared sizes", 2: "random, unaligned", 3: "random, aligned", 4: "larger than the largest"}
PLACES = {"glibc": 0, "hew": 0, "again": 0, "within": 1, "beyond": 2}
RATIOS = {
    "within / glibc": ("within", "glibc"),
    "within / hew": ("within", "hew"),
    "beyond / glibc": ("beyond", "glibc"),
    "beyond / hew": ("beyond", "hew"),
    "hew / hew": ("again", "hew"),
}
LARGE = 4
GOAL_GLIBC = 0.5  # of its time within the fixed groups, but for large requests
GOAL_HEW = 1.0  # of its malloc's time anywhere
THREADS = (5, 2, 32)
ROUNDS = {1: 41, 2: 41, 3: 41, 4: 11}  # the last row touches 400 MB a round with 32 threads
LOOKUP_RUNS = 3
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
    """One point for each number of threads, row and place: microseconds of a first and of a later round, by run."""
    points: list[Point] = [
        {"threads": threads, "row": row, "place": place, "us": [], "first_us": []}
        for threads, row, place in product(THREADS, ROWS, PLACES)
    ]
    for run in range(runs):
        for point in points if run % 2 == 0 else reversed(points):
            command = [str(build / "bench/pools/rounds"), "--threads", str(point["threads"])]
            command += ["--row", str(point["row"]), "--place", str(PLACES[point["place"]])]
            command += ["--rounds", str(ROUNDS[point["row"]])]
            result = run_program(command, None if point["place"] == "glibc" else build / "libhew.so")[0]
            point["us"].append(result["us"])
            point["first_us"].append(result["first_us"])
    return points


def measure_lookups(build: Path) -> list[Point]:
    """Each point's median over a few processes."""
    runs = [run_program([str(build / "bench/pools/lookup")], None) for _ in range(LOOKUP_RUNS)]
    return [{**same[0], "ns": statistics.median(point["ns"] for point in same)} for same in zip(*runs, strict=True)]


def measure(build: Path, runs: int) -> Point:
    """Everything, as it is saved."""
    return {"runs": runs, "rounds": measure_rounds(build, runs), "lookups": measure_lookups(build)}


def took_by_place(points: list[Point], threads: int, row: int, key: str) -> dict[str, list[float]]:
    """What the runs' processes took in each place, in microseconds."""
    return {point["place"]: point[key] for point in points if (point["threads"], point["row"]) == (threads, row)}


def ratio_of(points: list[Point], threads: int, row: int, key: str, name: str) -> tuple[float, float, float]:
    """The first quartile, median and third quartile of what the runs' processes took of each other's time."""
    took = took_by_place(points, threads, row, key)
    upper, lower = RATIOS[name]
    ratios = [one / other for one, other in zip(took[upper], took[lower], strict=True)]
    if len(ratios) == 1:
        return ratios[0], ratios[0], ratios[0]
    first, middle, third = statistics.quantiles(ratios, n=4, method="inclusive")
    return first, middle, third


def rounds_table(points: list[Point], threads: int, key: str) -> list[str]:
    """One row for each kind of size: microseconds, and what pools take of the two mallocs' time."""
    rows = []
    shown = [place for place in PLACES if place != "again"]
    for row, title in ROWS.items():
        took = took_by_place(points, threads, row, key)
        cells = [title, *(f"{statistics.median(took[place]):,.0f}" for place in shown)]
        for name in RATIOS:
            first, middle, third = ratio_of(points, threads, row, key, name)
            cells.append(f"{middle:.2f} ({first:.2f}-{third:.2f})")
        rows.append(cells)
    return ["", *table([f"{threads} threads", "glibc", "hew", "pool, within", "pool, beyond", *RATIOS], rows), ""]


def verdict(points: list[Point], name: str, rows: tuple[int, ...], goal: float) -> str:
    """In which rows a ratio meets its goal.  Beside hew's malloc, what that one shows against itself may be chance."""
    missed = []
    for threads, row in product(THREADS, rows):
        middle = ratio_of(points, threads, row, "us", name)[1]
        if middle > goal:
            chance = ratio_of(points, threads, row, "us", "hew / hew")[2] if RATIOS[name][1] == "hew" else 0
            missed.append(
                f"{ROWS[row]} with {threads} threads ({middle:.3f}{', within chance' if middle <= chance else ''})"
            )
    count = len(THREADS) * len(rows)
    text = f"- {name} at most {goal:g}: in {count - len(missed)} of {count} rows"
    return text + (f"; not in {', '.join(missed)}." if missed else ".")


def goals(points: list[Point]) -> list[str]:
    """The goals, and what has become of them."""
    small = tuple(row for row in ROWS if row != LARGE)
    return [
        "",
        "Goals, of the medians of the later rounds' ratios;",
        "*within chance*: not above the third quartile of hew / hew in that row.",
        "",
        verdict(points, "within / glibc", small, GOAL_GLIBC),
        verdict(points, "within / hew", tuple(ROWS), GOAL_HEW),
        verdict(points, "beyond / hew", tuple(ROWS), GOAL_HEW),
        "",
    ]


def lookup_goal(points: list[Point]) -> str:
    """How far the default is from the fastest method, at worst."""
    took: dict[tuple[str, str, int], dict[str, float]] = {}
    for point in points:
        took.setdefault((point["table"], point["order"], point["sizes"]), {})[point["method"]] = point["ns"]
    ratios = {at: methods["auto"] / min(methods.values()) for at, methods in took.items()}
    shape, order, sizes = max(ratios, key=lambda at: ratios[at])
    worst = ratios[(shape, order, sizes)]
    return (
        f"Nanoseconds a request, medians of {LOOKUP_RUNS} processes. The default took at most {worst:.2f} of the "
        f"fastest column's time ({shape}, {order}, {sizes:,}); it is one of the five, measured once more."
    )


def lookup_table(points: list[Point], shape: str, order: str) -> list[str]:
    """One row for each number of sizes: nanoseconds of each method."""
    rows = []
    here = [point for point in points if (point["table"], point["order"]) == (shape, order)]
    for count in sorted({point["sizes"] for point in here}):
        took = {point["method"]: point["ns"] for point in here if point["sizes"] == count}
        rows.append([f"{count:,}", *(f"{took[method]:.1f}" if method in took else "" for method in METHODS)])
    return ["", *table([f"{shape}, {order}", *METHODS], rows), ""]


def section(document: Point) -> list[str]:
    """What stands between the marks."""
    lines = ["### Pools against malloc", ""]
    runs = document["runs"]
    lines += [
        f"Microseconds of a round, medians of {runs} processes, of {ROUNDS[1] - 1} rounds after the first in each",
        f"({ROUNDS[LARGE] - 1} in the last row). Ratios: medians and quartiles over {runs} turns.",
    ]
    for threads in THREADS:
        lines += rounds_table(document["rounds"], threads, "us")
    lines += goals(document["rounds"])
    lines += ["### Look-ups", "", lookup_goal(document["lookups"])]
    for shape in SHAPES:
        lines += lookup_table(document["lookups"], shape, ORDERS[-1])
    return lines


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
            SECTION.write(options.page, tables)
    except subprocess.CalledProcessError as error:
        print(f"bench_pools: {' '.join(error.cmd)}: {error.stderr.strip()}", file=sys.stderr)
        return 2
    except (OSError, ValueError, KeyError, subprocess.TimeoutExpired) as error:
        print(f"bench_pools: {error}", file=sys.stderr)
        return 2
    print("\n".join(tables))
    return 0


if __name__ == "__main__":
    sys.exit(main())
