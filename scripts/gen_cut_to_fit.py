#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Cut hew to ten real programs: record each, find its size classes, run it with and without them, search settings over
the trace, and write the tables of docs/cut-to-fit.md.

    .venv/bin/python scripts/gen_cut_to_fit.py [--keep DIR] [--only NAME ...] [--rounds N] [--trials N] [--page]

Needs a release build.  A program that is not here is left out.  Each program's figures are kept in DIR/NAME.json, and
one that is there is not measured again; --page writes the page from what is there alone.
"""

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fitted_programs import ROOT, Program, programs
from generated import section_of, table
from program_texts import libc_of

from hew.analysis.cut import cut
from hew.analysis.schedule import rotated_schedule
from hew.analysis.verification import outcomes
from hew.commands.measuring import measurer
from hew.model.errors import HewError
from hew.model.figures import CLIENT_WALL, CPU, PEAK_RSS, SERVER_CPU, SERVER_PEAK_RSS, WALL
from hew.model.run import ServerPlan, Step
from hew.model.verification import WITHOUT, Variant
from hew.sources.environment import caller_environment
from hew.sources.experiment import run_schedule
from hew.sources.library import find_hew, find_part
from hew.sources.measure import Place
from hew.sources.server import measure_plan
from hew.sources.simulation import simulate, sizes_of
from hew.sources.trace.recorder import LIBRARY, Recording, environment_of, finish
from hew.views.simulation import standalone_picture

PAGE = ROOT / "docs/cut-to-fit.md"
SECTION = section_of("scripts/gen_cut_to_fit.py", "figures")
CLASSES = 36
FEWEST = 10_000  # operations of a program that is at work
PICTURED = "SQLite"
TIME = {True: (CLIENT_WALL, SERVER_CPU, SERVER_PEAK_RSS), False: (WALL, CPU, PEAK_RSS)}


def record(program: Program, trace: Path) -> None:
    """Its trace over glibc's malloc. The recorder is the place's library, which a server's clients do not get: a client
    that is ready sooner would be recorded in the server's place."""
    subject = program.plan.server[0] if isinstance(program.plan, ServerPlan) else program.plan.command[0]
    given = environment_of(Recording(trace, None, 1, 0, False, None), {**caller_environment(), **program.environment})
    given["LD_PRELOAD"] = libc_of(shutil.which(subject) or subject)
    run = measure_plan(program.plan, Place(find_part(LIBRARY), given), Step("recorded", 1))
    if run.failure:
        raise SystemExit(f"gen_cut_to_fit: {program.name}: {run.failure.reason} {run.failure.stderr_tail}")
    operations = finish(trace).operations
    if operations < FEWEST:
        trace.unlink()
        raise SystemExit(
            f"gen_cut_to_fit: {program.name}: {operations:,} operations were recorded, fewer than {FEWEST:,}: "
            "too few to cut classes to, and perhaps of another process"
        )


def in_simulation(trace: Path) -> dict[str, Any]:
    """What the classes would save by the model and on the trace; `least` is what classes for each 16 bytes waste."""
    sizes = sizes_of(trace)
    found = cut(sizes, CLASSES, by_peak=False)
    classes = [one.size for one in found.classes]
    everything = simulate(trace, ("hew", "slab"), ["cut=" + ",".join(map(str, classes))])
    by_name = {one.name: one for one in everything.policies}
    hew = found.others["hew"]
    return {
        "operations": everything.trace.operations,
        "classes": classes,
        "in_use": found.waste.used,
        "waste": {
            "hew": (hew.internal + hew.tails) / hew.asked,
            "cut": (found.waste.internal + found.waste.tails) / hew.asked,
        },
        "internal": {name: everything.internal(one) for name, one in by_name.items()},
        "resident": by_name["cut"].peak_resident / by_name["hew"].peak_resident,
    }


def in_life(program: Program, rounds: int, changes: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """Interleaved runs on hew as it is and with changes of the environment: ratios paired by round, with intervals."""
    environment = {**caller_environment(), **program.environment}
    library = find_hew(None, os.environ)
    variants = [Variant(WITHOUT, (), {}), *(Variant(name, (), change) for name, change in changes.items())]
    places = {one.name: Place(library, {**environment, **one.changes}) for one in variants}
    runs = run_schedule(rotated_schedule(list(places), rounds, 1), measurer(program.plan, places), lambda *_: None)
    figures = TIME[isinstance(program.plan, ServerPlan)]
    return {
        one.variant.name: {
            "ratios": {
                name: [one.ratios[figure.key].value, one.ratios[figure.key].low, one.ratios[figure.key].high]
                for name, figure in zip(("wall", "cpu", "rss"), figures, strict=True)
            },
            "failures": len(one.failures),
        }
        for one in outcomes(variants, runs)[1:]
    }


def searched(program: Program, trace: Path, trials: int, rounds: int) -> dict[str, Any]:
    """What `hew search` finds over the trace, its finalists and its verification measured in life."""
    words = [sys.executable, "-m", "hew", "search", "--trace", str(trace), "--json", "--seed", "1"]
    words += ["--trials", str(trials), "--rounds", "2", "--runs", str(rounds), "--goal", "cpu", "--goal", "peak-rss"]
    plan = program.plan
    if isinstance(plan, ServerPlan):
        words += ["--server", shlex.join(plan.server), "--ready", shlex.join(plan.ready or ()), "--", *plan.client]
    else:
        words += ["--input", str(plan.input), "--", *plan.command]
    given = {**caller_environment(), **program.environment}
    done = subprocess.run(words, env=given, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"gen_cut_to_fit: {program.name}: {done.stderr}")
    document = json.loads(done.stdout)
    pick = document["verification"]["variants"][1] if document["verification"] else None
    keys = [figure.key for figure in TIME[isinstance(plan, ServerPlan)]]
    return {
        "verdict": document["verdict"],
        "settings": {one["name"]: one["value"] for one in (document["recommended"] or {}).get("settings", [])},
        "ratios": {
            name: [pick["ratios"][key]["value"], *pick["ratios"][key]["interval"]]
            for name, key in zip(("wall", "cpu", "rss"), keys, strict=True)
        } if pick else {},
    }  # fmt: skip


def measure(program: Program, kept: Path, rounds: int, trials: int) -> None:
    """All of one program that is not in its file yet."""
    trace = kept.with_suffix(".trace")
    found: dict[str, Any] = (
        json.loads(kept.read_text()) if kept.exists() else {"name": program.name, "does": program.does}
    )
    if not trace.exists():
        record(program, trace)
    if "life" not in found:
        found["simulated"] = in_simulation(trace)
        conf = "classes:" + "|".join(map(str, found["simulated"]["classes"]))
        found["life"] = in_life(program, rounds, {"cut": {"HEW_CONF": conf}})
    found["load"] = os.getloadavg()[1]
    kept.write_text(json.dumps(found))
    if "searched" not in found and trials:
        found["searched"] = searched(program, trace, trials, rounds)
        kept.write_text(json.dumps(found))


def file_name(program: str) -> str:
    """Of its figures."""
    return "".join(one for one in program.lower().replace("+", "p") if one.isalnum())


def ratio(value: Sequence[float]) -> str:
    """`0.91 (0.89–0.94)`, bold where the interval leaves 1 out."""
    text = f"{value[0]:.2f} ({value[1]:.2f}–{value[2]:.2f})"
    return f"**{text}**" if value[2] < 1 or value[1] > 1 else text


def classes_table(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """Classes of its own."""
    return table(
        ["program", "classes (in use)", "waste, hew → own", "times", "least at 16-byte alignment",
         "resident, simulated",
         "wall time", "CPU time", "peak RSS"],
        (
            [
                one["name"],
                f"{len(one['simulated']['classes'])} ({one['simulated']['in_use']})",
                f"{one['simulated']['internal']['hew']:.1%} → {one['simulated']['internal']['cut']:.1%}",
                f"{one['simulated']['internal']['cut'] / one['simulated']['internal']['hew']:.2f}",
                f"{one['simulated']['internal']['slab']:.1%}",
                f"{one['simulated']['resident']:.2f}",
                *(ratio(one["life"]["cut"]["ratios"][name]) for name in ("wall", "cpu", "rss")),
            ]
            for one in found
        ),
    )  # fmt: skip


def search_table(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """What a search over the trace recommends."""
    rows = []
    for one in found:
        search = one.get("searched", {"settings": {}, "verdict": "not searched"})
        settings = ", ".join(
            f"`{name}`" if name == "classes" else f"`{name}:{value}`" for name, value in search["settings"].items()
        )
        ratios = [ratio(search["ratios"][name]) for name in ("wall", "cpu", "rss")] if settings else ["", "", ""]
        rows.append([one["name"], settings or search["verdict"].partition(":")[0], *ratios])
    return table(["program", "recommended", "wall time", "CPU time", "peak RSS"], rows)


def goals(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """How many meet what was aimed at."""
    halved = [one for one in found if one["simulated"]["internal"]["cut"] <= 0.5 * one["simulated"]["internal"]["hew"]]
    rss = [one["life"]["cut"]["ratios"]["rss"] for one in found]
    best = [one["searched"]["ratios"]["rss"] for one in found if one.get("searched", {}).get("settings")]
    worse = [one["name"] for one, value in zip(found, rss, strict=True) if value[1] > 1]
    slower = [one["name"] for one in found if one["life"]["cut"]["ratios"]["cpu"][1] > 1]
    return [
        f"Internal waste halved in {len(halved)} of {len(found)}. Peak RSS 5 % less or better in "
        f"{sum(value[0] <= 0.95 for value in rss)} of {len(found)} by classes alone, in "
        f"{sum(value[0] <= 0.95 for value in best)} by what the search recommends. "
        f"More peak RSS beyond noise: {', '.join(worse) or 'none'}; "
        f"more CPU time beyond noise: {', '.join(slower) or 'none'}."
    ]


def write_page(found: Sequence[Mapping[str, Any]], page: Path) -> None:
    """Between the marks."""
    load = max(one["load"] for one in found)
    lines = [f"{datetime.now(UTC):%Y-%m-%d}, two processors that others used too (load up to {load:.0f})."]
    lines += ["", "### Classes of its own", "", *classes_table(found), "", *goals(found)]
    lines += ["", "### What `hew search --trace` recommends", "", *search_table(found)]
    lines += ["", "### The programs", ""]
    lines += table(["program", "operations", "what it does"], (
        [one["name"], f"{one['simulated']['operations']:,}", one["does"]] for one in found
    ))  # fmt: skip
    lines += ["", "![SQLite: heap over operations, with hew's classes and with its own](cut-to-fit/sqlite.svg)"]
    SECTION.write(page, lines)


def draw(name: str, kept: Path, to: Path) -> None:
    """The heap of one program over its operations, with hew's classes and with its own."""
    classes = ",".join(map(str, json.loads(kept.read_text())["simulated"]["classes"]))
    to.parent.mkdir(exist_ok=True)
    found = simulate(kept.with_suffix(".trace"), ("hew",), [f"own={classes}"])
    to.write_text(standalone_picture(found, name) + "\n", encoding="utf-8")


def main() -> int:
    """Record, cut, measure, search, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--keep", type=Path, default=ROOT / "build/cut-to-fit", help="where traces and figures are kept"
    )
    parser.add_argument("--only", action="append", default=[], help="this program alone; may be repeated")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--page", action="store_true", help="measure nothing: write the page from what is there")
    try:
        return make(parser.parse_args())
    except (HewError, OSError, ValueError) as error:
        print(f"gen_cut_to_fit: {error}", file=sys.stderr)
        return 1


def make(asked: argparse.Namespace) -> int:
    """What is asked for, program by program."""
    asked.keep.mkdir(parents=True, exist_ok=True)
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for program in programs(Path(folder)):
            kept = asked.keep / f"{file_name(program.name)}.json"
            wanted = not asked.page and (not asked.only or program.name in asked.only)
            if wanted:
                measure(program, kept, asked.rounds, asked.trials)
                print(f"{program.name}: measured", file=sys.stderr, flush=True)
            if kept.exists():
                found.append(json.loads(kept.read_text()))
    pictured = asked.keep / f"{file_name(PICTURED)}.json"
    if pictured.exists():
        draw(PICTURED, pictured, PAGE.parent / "cut-to-fit/sqlite.svg")
    if found:
        write_page(found, PAGE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
