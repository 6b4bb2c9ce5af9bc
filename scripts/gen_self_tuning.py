#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measure what tuning does by itself, and judge the goals of docs/tuning.md by it.

    python3 scripts/gen_self_tuning.py [--parts cases,suite,cost] [--cases NAME;...] [--workloads NAME;...] [--resume]
                          [--runs N] [--suite-runs N] [--quick] [--build DIR] [--keep FILE] [--page FILE]

Cases: each with tuning:off, as it is by default, with more memory to spend, and with the best settings of an exhaustive
search by hand.  Suite: every workload of the nightly suite, off against the default.  Cost: what the controller takes.
What was measured is added to --keep, so that parts can be measured in turns; a whole run begins anew.  The page shows
all of it.  What fails is named, on the page too, and the script then ends with 1.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from generated import section_of
from self_tuning import ROOT, cases, cost, page, plan, suite

from hew.model.errors import HewError

SECTION = section_of("scripts/gen_self_tuning.py", "figures", "figures of self-tuning")
PARTS = ("cases", "suite", "cost")
FORMAT = 2
QUICK = {"cases": ("crowd, 64 threads",), "suite": ("tiny", "evaluator"), "cost": (cost.IDLE,)}
Job = tuple[str, str, Callable[[], dict[str, Any]]]  # part, name, and what measures it


def jobs(options: argparse.Namespace) -> Iterator[Job]:
    """Everything there is to measure, in the order of the page."""
    runs, suite_runs = (1, 1) if options.quick else (options.runs, options.suite_runs)
    for case in plan.CASES:
        yield "cases", case.name, partial(cases.measured, case, options.build, runs, options.quick)
    for workload in [one for one in suite.workloads().workloads if not one.curve]:
        yield "suite", workload.name, partial(suite.measured, workload, options.build, suite_runs)
    for name in (*cost.BUSY, cost.IDLE):
        yield "cost", name, partial(cost.measured, name, options.build, options.quick)


def chosen(options: argparse.Namespace, found: list[Job]) -> list[Job]:
    """Those that are asked for by part or by name; ValueError where there is no such one."""
    named = {"cases": _split(options.cases, ";"), "suite": _split(options.workloads, ";"), "cost": []}
    parts = _split(options.parts, ",") or [part for part in PARTS if named[part]] or list(PARTS)
    wrong = set(parts) - set(PARTS)
    for part in PARTS:
        wrong |= set(named[part]) - {name for one, name, _ in found if one == part}
    if wrong:
        raise ValueError(f"there is no {', '.join(sorted(wrong))} here")
    wanted = {part: named[part] or (QUICK[part] if options.quick else []) for part in parts}
    return [job for job in found if job[0] in wanted and (not wanted[job[0]] or job[1] in wanted[job[0]])]


def _split(text: str, mark: str) -> list[str]:
    return [one.strip() for one in text.split(mark) if one.strip()]


def read(keep: Path) -> dict[str, Any]:
    """What was measured before."""
    empty: dict[str, Any] = {"format": FORMAT, "failed": {}, **{part: {} for part in PARTS}}
    if not keep.exists():
        return empty
    kept: dict[str, Any] = json.loads(keep.read_text())
    if kept.get("format") != FORMAT:
        raise ValueError(f"{keep} is of another version of this script: remove it")
    return kept


def measure(job: Job, kept: dict[str, Any]) -> bool:
    """One of them; whether it went well. What fails has no figures, not even those of an earlier run."""
    part, name, work = job
    began = time.monotonic()
    kept[part].pop(name, None)
    kept["failed"].pop(f"{part}: {name}", None)
    try:
        kept[part][name] = {**work(), "date": str(datetime.now(UTC).date())}
    except HewError as error:
        reason = str(error).replace(f"{ROOT}/", "").splitlines()[0]
        kept["failed"][f"{part}: {name}"] = reason
        print(f"gen_self_tuning: {part}: {name}: failed: {error}", file=sys.stderr, flush=True)
        return False
    print(f"gen_self_tuning: {part}: {name}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return True


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description="Measure what tuning does by itself; write docs/tuning.md.")
    made.add_argument("--parts", default="", help="only these: cases, suite, cost, with , between")
    made.add_argument("--cases", default="", help="only these, as the page names them, with ; between")
    made.add_argument("--workloads", default="", help="only these of the suite, with ; between")
    made.add_argument("--build", type=Path, default=ROOT / "build/release", help="where the library and programs are")
    made.add_argument("--runs", type=int, default=9, help="rounds of each case (default 9)")
    made.add_argument("--suite-runs", type=int, default=21, help="rounds of each workload of the suite (default 21)")
    made.add_argument("--resume", action="store_true", help="measure only what is not in --keep yet")
    made.add_argument("--quick", action="store_true", help="one round of a few things, to try the script")
    made.add_argument("--keep", type=Path, default=ROOT / "build/self_tuning.json")
    made.add_argument("--page", type=Path, default=ROOT / "docs/tuning.md")
    return made


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    try:
        found = list(jobs(options))
        work = chosen(options, found)
        adds = options.resume or len(work) < len(found)
        if not adds:
            options.keep.unlink(missing_ok=True)
        kept = read(options.keep)
        went_well = True
        for job in work:
            if not (options.resume and job[1] in kept[job[0]]):
                went_well = measure(job, kept) and went_well
                options.keep.write_text(json.dumps(kept, indent=1))
        SECTION.write(options.page, page.lines(kept, suite.left_out(suite.workloads())))
    except (OSError, ValueError, KeyError, HewError) as error:
        print(f"gen_self_tuning: {error}", file=sys.stderr)
        return 1
    print(f"gen_self_tuning: {options.page}")
    return 0 if went_well else 1


if __name__ == "__main__":
    sys.exit(main())
