#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write the tables of docs/benchmarks.md, and the pictures beside it, from a saved run of `hew bench`.

    python3 scripts/gen_benchmarks.py build/bench/nightly.json [docs/benchmarks.md]

What stands outside the two marks in the page is left as it is; a page that does not exist yet is made.  The pictures go
into a folder that has the page's name; those of an earlier run go.
"""

import argparse
import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

from benchmark_goals import BASELINE, BEST, SUBJECT, failed_runs, goals, ratios, size
from generated import measured_now, section_of, table

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tool/src"))

from hew.views.bench_pictures import Drawn, bench_pictures  # noqa: E402

GOLDEN = ROOT / "tests/golden/fast_path.txt"
SUITES = ROOT / "bench/suites.toml"
SECTION = section_of("scripts/gen_benchmarks.py", "tables")
EMPTY = f"<!-- SPDX-License-Identifier: MIT -->\n# Benchmarks\n\n{SECTION.text([])}\n"
FIGURES = {
    "wall_seconds": "Wall time",
    "cpu_seconds": "CPU time",
    "peak_rss_bytes": "Peak RSS",
    "rss_byte_seconds": "RSS × seconds",
    "page_faults": "Page faults",
}
DRAWN = ("wall_seconds", "peak_rss_bytes")
BY_WORKLOAD = ("wall_seconds", "cpu_seconds", "peak_rss_bytes")  # the means have all of FIGURES
CURVES = [
    ("sizes_lifo", "sizes", "malloc lifo, threads 1"),
    ("sizes_random", "sizes", "malloc random, threads 1"),
    ("sizes_8_threads", "sizes, 8 threads", "malloc random, threads 8"),
    ("sizes_40_threads", "sizes, 40 threads", "malloc random, threads 40"),
    ("live_objects", "live objects to 16M", "malloc random, threads 1, by live objects"),
    ("live_objects", "live objects", "malloc random, threads 1, by live objects"),
    ("threads_time", "threads", "time of an operation by threads"),
    ("threads_memory", "threads", "RSS of a thread by threads"),
    ("realloc", "realloc", "realloc half up, threads 1"),
    ("idle_threads", "idle threads", "RSS by milliseconds idle"),
    ("idle_burst", "idle after a burst", "RSS by milliseconds idle"),
]
VERDICT = {True: "met", False: "**not met**", None: "not measured"}
Document = dict[str, Any]


def quantity(key: str, value: float) -> str:
    """A figure of glibc's with its unit."""
    if key == "page_faults":
        return f"{value:,.0f}"
    if key.endswith(("_bytes", "_byte_seconds")):
        return f"{value / 2**20:.1f} MiB{'·s' if key.endswith('_seconds') else ''}"
    return f"{value:.2f} s" if value >= 0.1 else f"{value * 1000:.1f} ms"


def names_of(found: Document) -> list[str]:
    """The allocators besides glibc, hew first."""
    names = [one["name"] for one in found["allocators"] if one["name"] != BASELINE]
    return sorted(names, key=lambda name: name != SUBJECT)


def cell(values: dict[str, float], name: str) -> str:
    """A ratio, or a dash."""
    return f"{values[name]:.2f}" if name in values else "–"


def machine(found: Document) -> list[str]:
    """Where and when."""
    one = found["machine"]
    facts = [
        one["cpu"],
        f"{one['cpus_usable']} CPUs",
        f"{one['memory_bytes'] / 2**30:.0f} GiB",
        one["kernel"],
        one["libc"],
    ]
    took = f", {found['seconds'] / 60:.0f} minutes" if found.get("seconds") else ""
    counted = [one for one in found["workloads"] if not one["curve"]]
    rounds = (
        f"{counted[0]['report']['runs']} rounds after {counted[0]['report']['warmup']} of warm-up" if counted else ""
    )
    return [
        "## What was measured",
        "",
        f"Suite `{found['suite']}`, {found['started'][:10]}{took}: {', '.join(facts)}; "
        f"load {one['load_average']:.2f} at the start. {len(counted)} workloads, {rounds}; "
        f"{len(found['workloads']) - len(counted)} programs that measure curves.",
        "",
        *table(["allocator", "version"], [[one["name"], one.get("version") or "–"] for one in found["allocators"]]),
    ]


def workload_table(found: Document) -> list[str]:
    """What each row of the tables is, as bench/suites.toml says it."""
    rows = tomllib.loads(SUITES.read_text())["workloads"] if SUITES.is_file() else []
    said = {row["name"]: row["what"] for row in rows}
    measured = [(one["name"], one["group"]) for one in found["workloads"]]
    lines = [f"| {name} | {group} | {said.get(name, '–')} |" for name, group in measured]
    return ["## Workloads", "", "| workload | group | what it does |", "|---|---|---|", *lines]


def goal_table(found: Document) -> list[str]:
    """What hew wants to reach, and whether this run shows it."""
    judged = goals(found, GOLDEN)
    counts = {verdict: sum(one.met is verdict for one in judged) for verdict in VERDICT}
    said = f"{counts[True]} met, {counts[False]} not met, {counts[None]} not measured by this suite."
    rows = [[one.wanted, one.measured, VERDICT[one.met]] for one in judged]
    return [
        "## Goals",
        "",
        said,
        "",
        "| goal | measured | |",
        "|---|---|---|",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]


def means(found: Document) -> list[str]:
    """The suite as one workload."""
    rows = []
    for name in [*names_of(found), BEST]:
        values = [cell(ratios(found["mean"], key), name) for key in FIGURES]
        if values != ["–"] * len(values):
            rows.append([f"**{name}**" if name == SUBJECT else name, *values])
    return ["## Geometric means", "", *table(["", *FIGURES.values()], rows)]


def figure_table(found: Document, key: str) -> list[str]:
    """One figure: workloads down, allocators across."""
    names, rows = names_of(found), []
    for workload in found["workloads"]:
        if workload["curve"]:
            continue
        report, best = workload["report"], workload["best"].get(key)
        glibc = next(one for one in report["allocators"] if one["name"] == BASELINE)["medians"].get(key)
        values = ratios(report, key)
        against = f"{best['ratio']['value']:.2f} ({best['name']})" if best and best["ratio"] else "–"
        first = quantity(key, glibc) if glibc is not None else "failed"
        rows.append([workload["name"], first, *(cell(values, name) for name in names), against])
    for group, report in [*found["groups"].items(), ("everything", found["mean"])]:
        values = ratios(report, key)
        against = f"{values[SUBJECT] / values[BEST]:.2f}" if {SUBJECT, BEST} <= values.keys() else "–"
        rows.append([f"*mean, {group}*", "", *(cell(values, name) for name in names), against])
    return [f"## {FIGURES[key]}", "", *table(["workload", "glibc", *names, "hew / best peer"], rows)]


def place(mean: Document) -> str:
    """Where hew is furthest behind: a size, or a number of something."""
    counted = re.search(r"\bby\b", mean["series"])
    return f"{mean['worst_at']:,.0f}" if counted else size(mean["worst_at"])


def curves(found: Document) -> list[str]:
    """Each series of points in one row."""
    names, rows = names_of(found), []
    for workload in found["workloads"]:
        for mean in workload["curve_means"]:
            tail = [f"{mean['to_best']:.2f}", f"{mean['worst']:.2f} at {place(mean)}"] if mean["worst"] else ["–", "–"]
            rows.append(
                [f"{workload['name']}: {mean['series']}", *(cell(mean["ratios"], name) for name in names), *tail]
            )
    return ["## Curves", "", *table(["series", *names, "hew / best peer", "worst place"], rows)] if rows else []


def notes(found: Document) -> list[str]:
    """What was left out and what went wrong."""
    lines = [f"- {one['name']}: left out: {one['reason']}" for one in found["unusable"]]
    lines += [f"- {note}" for note in found["notes"]]
    lines += failures(found)
    return ["## Notes", "", *lines] if lines else []


def failures(found: Document) -> list[str]:
    """Each allocator that a workload did not get through with, whatever the tables could still be made of."""
    return [
        f"- {workload['name']} under {row['name']}: {row['failures'][0]['reason']}; "
        f"{row['good_runs']} of {workload['report']['runs']} rounds went well"
        for workload in found["workloads"]
        for row in workload["report"]["allocators"]
        if row["failures"]
    ]


def pictures(drawn: list[Drawn], folder: str) -> list[str]:
    """Each picture under what it shows."""
    shown = [line for one in drawn for line in (f"{one.title}:", "", f"![{one.title}]({folder}/{one.name}.svg)", "")]
    return ["## Pictures", "", *shown[:-1]] if shown else []


def tables(found: Document, drawn: list[Drawn], folder: str) -> str:
    """Everything between the marks."""
    parts = [machine(found), goal_table(found)]
    if found["mean"]:
        parts += [means(found), *(figure_table(found, key) for key in BY_WORKLOAD)]
    sections = [*parts, curves(found), pictures(drawn, folder), workload_table(found), notes(found)]
    return "\n\n".join("\n".join(section) for section in sections if section)


def drawn_from(found: Document) -> list[Drawn]:
    """The pictures, those of one name once."""
    wanted = {name: (name, workload, series) for name, workload, series in reversed(CURVES) if has(found, workload)}
    curves_in_order = [one for one in CURVES if one in wanted.values()]
    return bench_pictures(found, {key: FIGURES[key] for key in DRAWN}, curves_in_order)


def has(found: Document, workload: str) -> bool:
    return any(one["name"] == workload for one in found["workloads"])


def write_pictures(drawn: list[Drawn], folder: Path) -> None:
    """These and no others."""
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.svg"):
        old.unlink()
    for one in drawn:
        (folder / f"{one.name}.svg").write_text(one.svg)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description="Write the tables of docs/benchmarks.md from a saved run of hew bench."
    )
    parser.add_argument("saved", type=Path)
    parser.add_argument("page", type=Path, nargs="?", default=ROOT / "docs/benchmarks.md")
    options = parser.parse_args(arguments)
    try:
        before = options.page.read_text() if options.page.is_file() else EMPTY
        found = json.loads(options.saved.read_text())
        drawn, folder = drawn_from(found), options.page.with_suffix("")
        options.page.write_text(measured_now(SECTION.put(before, [tables(found, drawn, folder.name)])))
        write_pictures(drawn, folder)
    except (OSError, ValueError, KeyError) as error:
        print(f"gen_benchmarks: {error}", file=sys.stderr)
        return 1
    print(f"gen_benchmarks: {options.page}")
    failed = failed_runs(found, SUBJECT)
    for one in failed:
        print(f"gen_benchmarks: a run under {SUBJECT} failed: {one}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
