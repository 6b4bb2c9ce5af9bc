#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measure what tuning does by itself, beside the best setting that a small search by hand finds.

    python3 scripts/gen_self_tuning.py [--cases NAME;...] [--runs N] [--build DIR] [--keep FILE] [--page docs/tuning.md]

Each case is run with tuning:off, as it is by default (tuning:room), with tuning:on, with as much memory to spend as
settings by hand take, and with each setting of a grid, interleaved; healthy programs with what works by itself alone.
What was measured is added to --keep, so that cases can be measured in turns; the page shows all of it.
"""

import argparse
import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from generated import section_of, table

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tool/src"))

from hew.analysis.schedule import rotated_schedule  # noqa: E402
from hew.analysis.verification import outcomes  # noqa: E402
from hew.model.errors import HewError  # noqa: E402
from hew.model.figures import CPU, PEAK_RSS, WALL  # noqa: E402
from hew.model.run import CommandPlan, Step  # noqa: E402
from hew.model.verification import WITHOUT, Outcome, Variant  # noqa: E402
from hew.sources.environment import caller_environment  # noqa: E402
from hew.sources.experiment import run_schedule  # noqa: E402
from hew.sources.machine import describe_machine  # noqa: E402
from hew.sources.measure import Place, measure_command  # noqa: E402

SECTION = section_of("scripts/gen_self_tuning.py", "figures", "figures of self-tuning")
OFF = "tuning:off"
DEFAULT = "tuning:room"
TUNED = "tuning:on"
SPENDING = "tuning:on,tuning_memory:25"
LAVISH = "tuning:on,tuning_memory:100"
GRID = ("cache_room:400", "depot_room:400", "cache_room:800,depot_room:400")  # with tuning:off
FIGURES = (CPU, WALL, PEAK_RSS)
NOISE = 0.02  # of memory: so much more is not more

# With work for some seconds each: what a step needs to be seen.
CASES: dict[str, tuple[str, ...]] = {
    "hot threads, 256": ("hot_threads", "--messages", "3000000"),
    "hot threads, 1,776": ("hot_threads", "--threads", "1776", "--hot", "80", "--messages", "60000"),
    "batches": ("batches", "--batches", "400000"),
    "batches, 8 threads": ("batches", "--threads", "8", "--batches", "400000"),
    "hand-over (xmalloc_like)": ("xmalloc_like", "--batches", "120000"),
    "hand-over chain (pipeline)": ("pipeline", "--objects", "4000000"),
    "exchange": ("exchange", "--loops", "1000"),
    "phases": ("phases", "--phases", "12"),
    "crowd, 64 threads": ("crowd", "--threads", "64", "--pairs", "200000000"),
    "cache server (store)": ("store", "--ops", "8000000"),
    "hostile: turns of 50 batches": ("alternating", "--turn", "50", "--batches", "16000"),
    "hostile: turns of 250 batches": ("alternating", "--turn", "250", "--batches", "16000"),
    "request server (serve)": ("serve", "--connections", "30000"),
    "a build (g++)": ("g++", "-std=c++17", "-fsyntax-only", "{root}/build/bench/inputs/templates.cpp"),
    "a JVM, 100 threads": (
        *("java", "-Xms64m", "-Xmx64m", "-XX:+AlwaysPreTouch", "-XX:+UseSerialGC"),
        *("-cp", "{root}/build/bench/inputs", "Threads", "8"),
    ),
}
HEALTHY = (
    "evaluator",
    "bodies",
    "cubes",
    "factor",
    "json_tree",
    "larson_like",
    "mixed_lifetimes",
    "thread_churn",
    "slots",
    "vectors",
)


def ways(healthy: bool) -> list[Variant]:
    """Without tuning, tuned by itself, and by hand. All read a setting, which costs a small program some pages."""
    settings = {DEFAULT: DEFAULT, TUNED: TUNED}
    if not healthy:
        settings |= {SPENDING: SPENDING, LAVISH: LAVISH, **{one: f"{OFF},{one}" for one in GRID}}
    return [
        Variant(WITHOUT, (), {"HEW_CONF": OFF}),
        *(Variant(name, (), {"HEW_CONF": setting}) for name, setting in settings.items()),
    ]


def command_of(build: Path, words: tuple[str, ...]) -> tuple[str, ...]:
    """A program of ours by its name, any other one as it stands."""
    ours = build / "bench/apps" / words[0]
    rest = (word.replace("{root}", str(ROOT)) for word in words[1:])
    return (str(ours) if ours.exists() else words[0], *rest)


def measured(build: Path, words: tuple[str, ...], runs: int, healthy: bool) -> dict[str, Any]:
    """One case: for each way its medians, and its ratios to the case as it is."""
    plan = CommandPlan(command_of(build, words), Path("/dev/null"), 120)
    found = ways(healthy)
    environment = caller_environment()
    places = {one.name: Place(build / "libhew.so", {**environment, **one.changes}) for one in found}
    load = os.getloadavg()[0]
    steps = rotated_schedule([one.name for one in found], runs, 0 if runs < 4 else 1)
    done = run_schedule(
        steps, lambda step: measure_command(plan, places[step.allocator], Step(step.allocator, step.round)), _quiet
    )
    results = outcomes(found, done)
    if any(not one.good_runs for one in results):
        raise HewError(f"{' '.join(words)} failed: {results[0].failures[:1]}")
    return {
        "words": list(words),
        "runs": runs,
        "load": load,
        "healthy": healthy,
        "ways": {one.variant.name: _kept(one) for one in results},
    }


def _quiet(_step: Step, _after: bool) -> None:
    """Nobody waits before a terminal."""


def _kept(outcome: Outcome) -> dict[str, Any]:
    return {
        one.key: {
            "median": outcome.medians[one.key],
            "ratio": outcome.ratios[one.key].value if one.key in outcome.ratios else 1.0,
        }
        for one in FIGURES
    }


def _ratios(way: dict[str, Any]) -> str:
    return ", ".join(f"{way[one.key]['ratio']:.2f}" for one in FIGURES)


def best_by_hand(case: dict[str, Any], most_memory: float = float("inf")) -> str:
    """The way with the least processor time, tuning:off alone among them, of those that take no more memory."""
    ways = {name: way for name, way in case["ways"].items() if name in {WITHOUT, *GRID}}
    lean = [name for name, way in ways.items() if way[PEAK_RSS.key]["ratio"] <= most_memory]
    return str(min(lean or [WITHOUT], key=lambda name: ways[name][CPU.key]["ratio"]))


def _by_hand(case: dict[str, Any], most_memory: float = float("inf")) -> str:
    best = best_by_hand(case, most_memory)
    return OFF if best == WITHOUT else f"`{best}`: {_ratios(case['ways'][best])}"


def rows(kept: dict[str, Any]) -> list[list[str]]:
    """The cases with work for the controller."""
    found = []
    for name, case in kept.items():
        if case["healthy"]:
            continue
        own = case["ways"][WITHOUT]
        usual = max(1.0, case["ways"][DEFAULT][PEAK_RSS.key]["ratio"]) + NOISE
        found.append(
            [
                name,
                f"{own[CPU.key]['median']:.2f} s, {own[PEAK_RSS.key]['median'] / 2**20:.0f} MiB",
                *(_ratios(case["ways"][one]) for one in (DEFAULT, TUNED, SPENDING, LAVISH)),
                _by_hand(case, usual),
                _by_hand(case),
                f"{case['load']:.1f}",
            ]
        )
    return found


def lines(kept: dict[str, Any]) -> list[str]:
    """The page's part."""
    machine = describe_machine()
    counts = sorted({case["runs"] for case in kept.values()})
    where = f"{machine.cpu}, {machine.cpus_usable} CPUs, {machine.kernel}, {machine.libc}"
    said = [
        f"Measured {datetime.now(UTC).date()} on {where}; {' or '.join(map(str, counts))} interleaved rounds; "
        "beside each case the load when it began, which the case before it has raised. Ratios of CPU time, wall time, "
        "peak RSS to `tuning:off`.",
        "",
        *table(
            [
                "case",
                "`tuning:off`: CPU, peak",
                "by default (`tuning:room`)",
                "`tuning:on`",
                "and `tuning_memory:25`",
                "and `tuning_memory:100`",
                "best by hand in the default's memory",
                "best by hand (least CPU time)",
                "load",
            ],
            rows(kept),
        ),
        "",
        "Healthy programs, which must not change:",
        "",
    ]
    healthy = [
        [name, *(_ratios(case["ways"][one]) for one in (DEFAULT, TUNED)), f"{case['load']:.1f}"]
        for name, case in kept.items()
        if case["healthy"]
    ]
    return said + table(["program", "by default", "`tuning:on`", "load"], healthy)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Measure what tuning does by itself; write docs/tuning.md.")
    parser.add_argument("--cases", default="", help="only these, as the page names them, with ; between")
    parser.add_argument("--build", type=Path, default=ROOT / "build/release", help="where the library and programs are")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--keep", type=Path, default=ROOT / "build/self_tuning.json")
    parser.add_argument("--page", type=Path, default=ROOT / "docs/tuning.md")
    options = parser.parse_args(arguments)
    wanted = [one for one in options.cases.split(";") if one]
    try:
        kept = json.loads(options.keep.read_text()) if options.keep.exists() and wanted else {}
        for name, words in (*CASES.items(), *((one, (one,)) for one in HEALTHY)):
            if not wanted or name in wanted:
                kept[name] = measured(options.build, words, options.runs, name in HEALTHY)
                options.keep.write_text(json.dumps(kept, indent=1))
        SECTION.write(options.page, lines(kept))
    except (OSError, ValueError, KeyError, HewError) as error:
        print(f"gen_self_tuning: {error}", file=sys.stderr)
        return 1
    print(f"gen_self_tuning: {options.page}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
