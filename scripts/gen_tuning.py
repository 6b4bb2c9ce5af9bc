#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measure the way from statistics to a gain on bench/apps/hot_threads, and write its figures into docs/tuning.md.

    python3 scripts/gen_tuning.py [--runs N] [--page docs/tuning.md]

Under Debian's jemalloc and under hew: one run for the statistics, what hew advise says of them, then the program as it
is, with each advice, with all of it, and with a change of code (an arena of its own for each hot thread that makes
messages), interleaved.  What stands outside the two marks in the page is left as it is.
"""

import argparse
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from generated import section_of, table

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tool/src"))

from hew.commands.plan_options import PlanOptions  # noqa: E402
from hew.commands.verify import measured, place_of  # noqa: E402
from hew.model.advice import Advice  # noqa: E402
from hew.model.allocator import Request  # noqa: E402
from hew.model.errors import HewError  # noqa: E402
from hew.model.figures import CPU, PEAK_RSS, WALL, Unit  # noqa: E402
from hew.model.quantity import quantity  # noqa: E402
from hew.model.report import Ratio  # noqa: E402
from hew.model.statistics import Snapshot  # noqa: E402
from hew.model.verification import WITHOUT, Outcome, Variant, Verification  # noqa: E402
from hew.sources.statistics_run import Observed, conf_variable, observe  # noqa: E402
from hew.views.text import interval, judgement, times  # noqa: E402
from hew.views.verification import settings_of  # noqa: E402

PROGRAM = ROOT / "build/release/bench/apps/hot_threads"
SECTION = section_of("scripts/gen_tuning.py", "figures")
ALLOCATORS = {"jemalloc": "Debian's jemalloc", "hew": "hew"}
OWN_ARENAS = Variant("an arena of its own for each producer (code)", (), {}, ("--exclusive", "1"))
FIGURES = (CPU, WALL, PEAK_RSS)
CLASSES = (512, 1024, 2048, 4096)


def statistics(snapshot: Snapshot) -> list[str]:
    """The numbers that a reader of the dump would look at first."""
    arena = snapshot.all_arenas
    if arena is None:
        return ["The report has no sum of its arenas."]
    rows = [["threads (at the end)", _count(arena.nthreads)], ["arenas in use", _count(len(snapshot.arenas))]]
    for kind in ("dirty", "muzzy", "retained"):
        lock = arena.mutexes.get(f"extents_{kind}")
        if lock and lock.num_ops:
            waited = (
                "" if lock.total_wait_ns is None else f", {quantity(lock.total_wait_ns / 1e9, Unit.SECONDS)} in all"
            )
            rows.append(
                [f"extents_{kind}: taken; waited for", f"{_count(lock.num_ops)}; {_count(lock.num_wait)}{waited}"]
            )
    bins = [
        [
            f"{one.size} B",
            _count(one.nregs),
            _count(one.nrequests),
            _count(one.nfills),
            f"{(one.nrequests or 0) / one.nfills:.1f}" if one.nfills else "–",
            _count((one.nslabs or 0) + (one.nreslabs or 0)),
        ]
        for one in arena.bins
        if one.size in CLASSES
    ]
    head = ["class", "regions in a slab", "requests", "fills", "requests a fill", "slabs made or reused"]
    return [*table(["", ""], rows), "", *table(head, bins)]


def _count(value: int | None) -> str:
    return "not reported" if value is None else f"{value:,}"


def advice_of(result: Verification) -> list[Advice]:
    """All advice of a verification, measured or not."""
    single = [one.variant.advice[0] for one in result.outcomes if len(one.variant.advice) == 1]
    return [*single, *result.unmeasured]


def advice_lines(advice: Iterable[Advice]) -> list[str]:
    """Each advice with its first evidence and its setting."""
    lines = []
    for one in advice:
        evidence = "; ".join(
            f"{each.label.strip()} {quantity(each.value, each.unit)}" for each in one.evidence[:3] if each.value
        )
        setting = "`" + ",".join(each.text for each in one.settings) + "`" if one.settings else one.change or ""
        lines.append(f"- **{one.rule}**: {one.title} ({evidence}). {'Try' if one.settings else 'Change'}: {setting}")
    return lines or ["- nothing"]


def outcome_rows(result: Verification) -> list[list[str]]:
    """One row for each way of running it."""
    rows = []
    for outcome in result.outcomes:
        name = "as it is" if outcome.variant.name == WITHOUT else outcome.variant.name
        rows.append([name, *(_cell(outcome, figure.key, figure.unit) for figure in FIGURES)])
    return rows


def _cell(outcome: Outcome, key: str, unit: Unit) -> str:
    if key not in outcome.medians:
        return "failed"
    ratio = outcome.ratios.get(key)
    median = quantity(outcome.medians[key], unit)
    return median if ratio is None else f"{median}: {times(ratio.value)} ({interval(ratio)})"


def sentence(outcome: Outcome) -> str:
    """What a row means."""
    said = [f"{figure.label} {judgement(_ratio(outcome, figure.key), figure)}" for figure in FIGURES]
    setting = settings_of(outcome)
    name = f"`{setting}`" if setting else f"{outcome.variant.name} (`{' '.join(outcome.variant.words)}`)"
    return f"- {name}: {', '.join(said)}"


def _ratio(outcome: Outcome, key: str) -> Ratio:
    return outcome.ratios[key]


def section(name: str, seen: Observed, result: Verification) -> list[str]:
    """One allocator's part of the page."""
    lines = [f"## {ALLOCATORS[name]}: {result.subject}", "", "### 1. The statistics", ""]
    lines += statistics(max(seen.reading.snapshots, key=_requests))
    lines += ["", "### 2. What `hew advise` says of them", "", *advice_lines(advice_of(result))]
    lines += [
        "",
        "### 3. With and without",
        "",
        *table(["", *(one.label for one in FIGURES)], outcome_rows(result)),
        "",
    ]
    lines += [sentence(one) for one in result.outcomes if one.variant.name != WITHOUT and one.good_runs]
    return [*lines, ""]


def _requests(snapshot: Snapshot) -> int:
    arena = snapshot.all_arenas
    return arena.small.nmalloc or 0 if arena else 0


def measure(name: str, words: tuple[str, ...], runs: int) -> tuple[Observed, Verification]:
    """The statistics of one run, and what its advice is worth."""
    asked = PlanOptions(words, Request(name), runs, 1, 120, Path("/dev/null"))
    place = place_of(asked)
    seen = observe(words, place, conf_variable(words, place), asked.timeout, asked.input_file)
    return seen, measured(asked, place, seen, [OWN_ARENAS])


def circumstances(result: Verification, load: float, runs: int) -> list[str]:
    """Where and when."""
    machine = result.machine
    busy = (
        f"**The machine was busy** (load {load:.1f} on {machine.cpus_usable} CPUs when it began): the ratios are rough."
        if load > machine.cpus_usable / 2
        else f"Load when it began: {load:.1f}."
    )
    return [
        f"Measured {result.started[:10]} on {machine.cpu}, {machine.cpus_usable} CPUs, {machine.kernel}, "
        f"{machine.libc}; {runs} interleaved rounds; in brackets the {result.confidence:.0%} interval. {busy}",
        "",
    ]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Measure hot_threads with and without advice; write docs/tuning.md.")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--messages", type=int, default=300_000)
    parser.add_argument("--page", type=Path, default=ROOT / "docs/tuning.md")
    options = parser.parse_args(arguments)
    load = os.getloadavg()[0]
    words = (str(PROGRAM), "--messages", str(options.messages))
    try:
        found = {name: measure(name, words, options.runs) for name in ALLOCATORS}
        lines = circumstances(found["hew"][1], load, options.runs)
        for name, (seen, result) in found.items():
            lines += section(name, seen, result)
        SECTION.write(options.page, lines)
    except (OSError, ValueError, KeyError, HewError) as error:
        print(f"gen_tuning: {error}", file=sys.stderr)
        return 1
    print(f"gen_tuning: {options.page}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
