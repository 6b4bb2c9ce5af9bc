# SPDX-License-Identifier: MIT
"""The nightly suite of `hew bench`, tuning off against the default: no workload may pay for what others gain."""

import os
from pathlib import Path
from typing import Any

from generated import table

from hew.model.bench import Suite, Workload
from hew.model.figures import CPU, PEAK_RSS, WALL
from hew.model.quantity import quantity
from hew.model.run import Step
from hew.sources.environment import caller_environment
from hew.sources.suites import TABLE, read_suite
from hew.sources.workloads import measure_workload
from self_tuning import ROOT
from self_tuning.judge import beyond, cell, compared, mean_ratio
from self_tuning.plan import BY_DEFAULT, OFF
from self_tuning.runs import FIGURES, Rounds, interleaved, places

SUITE = "nightly"
REAL = "real programs"  # that group of the suite: programs of others
MOST = 1.02
AGAIN = 31  # rounds of who is above that for certain: of a hundred figures some are by chance
Kept = dict[str, Any]


def workloads() -> Suite:
    """What can run here. Curves are not in it: their time says nothing."""
    return read_suite(ROOT / TABLE, SUITE, caller_environment())


def measured(workload: Workload, build: Path, runs: int) -> Kept:
    """One workload, again where a figure is above the limit for certain. A server's memory is that after the load."""
    ways = (OFF, BY_DEFAULT)
    under, load = places(build, ways), os.getloadavg()[0]

    def measure(step: Step) -> Any:
        return measure_workload(workload, under[step.allocator], step)

    rounds = interleaved(workload.name, ways, runs, measure)
    if beyond({workload.name: rounds}, BY_DEFAULT, MOST)[0]:
        rounds = interleaved(workload.name, ways, max(runs, AGAIN), measure)
    return {"load": load, "group": workload.group, "rounds": rounds}


def rounds_of(suite: dict[str, Kept], real: bool | None = None) -> dict[str, Rounds]:
    """All workloads, only real programs, or only those of ours."""
    return {name: kept["rounds"] for name, kept in suite.items() if real is None or (kept["group"] == REAL) is real}


def _row(name: str, group: str, rounds: Rounds) -> list[str]:
    ratios = compared(rounds, BY_DEFAULT)
    off = {one.key: sorted(run[one.key] for run in rounds[OFF])[len(rounds[OFF]) // 2] for one in (CPU, PEAK_RSS)}
    known = [quantity(off[one.key], one.unit) for one in (CPU, PEAK_RSS)]
    return [name, group, ", ".join(known), *(cell(ratios.get(one.key)) for one in FIGURES)]


def suite_table(suite: dict[str, Kept]) -> list[str]:
    """Each workload, and the means of all, of ours and of real programs."""
    rows = [_row(name, kept["group"], kept["rounds"]) for name, kept in suite.items()]
    for said, real in (("all", None), ("our programs", False), (REAL, True)):
        found = list(rounds_of(suite, real).values())
        if found:
            means = [cell(mean_ratio(found, BY_DEFAULT, one.key)) for one in FIGURES]
            rows.append([f"*geometric mean, {said}*", "", f"{len(found)} workloads", *means])
    head = ["workload", "group", f"`{OFF}`: CPU, peak", *(f"{one.label}" for one in (CPU, WALL, PEAK_RSS))]
    return table(head, rows)


def above(suite: dict[str, Kept]) -> list[str]:
    """Who is above the limit, as lists."""
    certain, perhaps = beyond(rounds_of(suite), BY_DEFAULT, MOST)
    lines = []
    for said, found in ((f"Above {MOST} for certain:", certain), (f"Above {MOST}, but not for certain:", perhaps)):
        lines += ["", *([said, "", *(f"- {one}" for one in found)] if found else [f"{said} none."])]
    return lines


def left_out(suite: Suite) -> list[str]:
    """What cannot run here, and why; without where the checkout lies."""
    return [f"{one.name}: {one.reason}".replace(f"{ROOT}/", "") for one in suite.left_out]
