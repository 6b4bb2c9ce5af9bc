#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write the tables of docs/benchmarks.md from a saved run of `hew bench`.

    python3 scripts/gen_benchmarks.py build/bench/nightly.json [docs/benchmarks.md]

What stands outside the two marks in the page is left as it is; a page that does not exist yet is made.
"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- tables: made by scripts/gen_benchmarks.py -->", "<!-- end of tables -->"
EMPTY = f"<!-- SPDX-License-Identifier: MIT -->\n# Benchmarks\n\n{BEGIN}\n{END}\n"
FIGURES = {"wall_seconds": "Wall time", "cpu_seconds": "CPU time", "peak_rss_bytes": "Peak RSS"}
SUBJECT, BASELINE, BEST = "hew", "glibc", "best peer"
Document = dict[str, Any]


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """A Markdown table, the first column to the left."""
    marks = ["---", *["---:"] * (len(head) - 1)]
    return ["| " + " | ".join(cells) + " |" for cells in (head, marks, *rows)]


def quantity(key: str, value: float) -> str:
    """A figure of glibc's with its unit."""
    if key.endswith("_bytes"):
        return f"{value / 2**20:.1f} MiB"
    return f"{value:.2f} s" if value >= 0.1 else f"{value * 1000:.1f} ms"


def names_of(found: Document) -> list[str]:
    """The allocators besides glibc, hew first."""
    names = [one["name"] for one in found["allocators"] if one["name"] != BASELINE]
    return sorted(names, key=lambda name: name != SUBJECT)


def ratios(report: Document, key: str) -> dict[str, float]:
    """Each allocator's ratio to glibc."""
    return {one["name"]: one["ratios"][key]["value"] for one in report["allocators"] if key in one["ratios"]}


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
    return [
        f"Suite `{found['suite']}`, {found['started'][:10]}: {', '.join(facts)}; "
        f"load {one['load_average']:.2f} at the start.",
        "Ratios to glibc, lower is better; the method is that of `hew compare` ([tool.md](tool.md)).",
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


def curves(found: Document) -> list[str]:
    """Each series of points in one row."""
    names, rows = names_of(found), []
    for workload in found["workloads"]:
        for mean in workload["curve_means"]:
            tail = (
                [f"{mean['to_best']:.2f}", f"{mean['worst']:.2f} at {mean['worst_at']:.0f}"]
                if mean["worst"]
                else ["–", "–"]
            )
            rows.append(
                [f"{workload['name']}: {mean['series']}", *(cell(mean["ratios"], name) for name in names), *tail]
            )
    return ["## Curves", "", *table(["series", *names, "hew / best peer", "worst place"], rows)] if rows else []


def notes(found: Document) -> list[str]:
    """What was left out and what went wrong."""
    lines = [f"- {one['name']}: left out: {one['reason']}" for one in found["unusable"]]
    lines += [f"- {note}" for note in found["notes"]]
    return ["## Notes", "", *lines] if lines else []


def tables(found: Document) -> str:
    """Everything between the marks."""
    parts: list[Callable[[Document], list[str]]] = [machine]
    if found["mean"]:
        parts += [means, *(lambda whole, key=key: figure_table(whole, key) for key in FIGURES)]
    sections = [part(found) for part in (*parts, curves, notes)]
    return "\n\n".join("\n".join(section) for section in sections if section)


def page(before: str, found: Document) -> str:
    """The page with new tables."""
    head, begin, rest = before.partition(BEGIN)
    _, end, foot = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no {BEGIN} … {END}")
    return f"{head}{BEGIN}\n{tables(found)}\n{END}{foot}"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description="Write the tables of docs/benchmarks.md from a saved run of hew bench."
    )
    parser.add_argument("saved", type=Path)
    parser.add_argument("page", type=Path, nargs="?", default=ROOT / "docs/benchmarks.md")
    options = parser.parse_args(arguments)
    try:
        before = options.page.read_text() if options.page.is_file() else EMPTY
        options.page.write_text(page(before, json.loads(options.saved.read_text())))
    except (OSError, ValueError, KeyError) as error:
        print(f"gen_benchmarks: {error}", file=sys.stderr)
        return 1
    print(f"gen_benchmarks: {options.page}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
