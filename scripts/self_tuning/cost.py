# SPDX-License-Identifier: MIT
"""What the controller itself takes: processor time as it counts it, and the memory of its state."""

import os
import sys
from pathlib import Path
from typing import Any

from generated import table

from hew.model.errors import HewError
from hew.model.figures import PEAK_RSS
from hew.model.run import CommandPlan, Run, Step
from hew.sources.measure import Place, measure_command
from hew.sources.tuning import ONLY_TOTALS, run_telling
from self_tuning.judge import Verdict, difference, within
from self_tuning.plan import BY_DEFAULT, OFF, command_of, conf
from self_tuning.runs import interleaved, places

MOST_CPU = 0.002  # of the process's
MOST_MEMORY = 64 * 2**10
CPU_RUNS = 6
MEMORY_RUNS = 31  # of an effect of some KiB, where the kernel counts pages in batches of as many
TIMEOUT = 120
# Ten seconds of work each.
BUSY: dict[str, tuple[str, ...]] = {
    "crowd, 64 threads": ("crowd", "--threads", "64", "--pairs", "400000000"),
    "hot threads, 256": ("hot_threads", "--messages", "20000000"),
}
IDLE = "an idle program with a heap of 64 MiB"
# In blocks that no thread cache holds: what threads borrow for theirs is seen in the cases, here only the state is.
HOLD = "import time; kept = [b'x' * 2**20 for _ in range(64)]; time.sleep(1.2)"
Kept = dict[str, Any]


def measured(name: str, build: Path, quick: bool) -> Kept:
    """One row."""
    return _memory(build, 2 if quick else MEMORY_RUNS) if name == IDLE else _cpu(name, build, 1 if quick else CPU_RUNS)


def _cpu(name: str, build: Path, runs: int) -> Kept:
    """The controller's own time over the process's, of several runs."""
    place = places(build, [BY_DEFAULT])[BY_DEFAULT]
    told = f"{conf(BY_DEFAULT)},stats_print:true,stats_print_opts:{ONLY_TOTALS}"
    telling = Place(place.library, {**place.environment, "HEW_CONF": told})
    shares, looks = [], []
    for _ in range(runs):
        ending, reports = run_telling(command_of(build, BUSY[name]), telling, TIMEOUT, Path(os.devnull))
        if not reports:
            raise HewError(f"{name}: its report says nothing of tuning")
        shares.append(sum(one.tuning.own_ns for one in reports) / 1e9 / ending.cpu)
        looks.append(max(one.tuning.windows for one in reports))
    return {"shares": shares, "looks": looks}


def _memory(build: Path, runs: int) -> Kept:
    """Peaks with and without it, in turns. Python's hashes would differ from run to run, and its memory with them."""
    plan = CommandPlan((sys.executable, "-I", "-S", "-c", HOLD), Path(os.devnull), TIMEOUT)
    ways = (OFF, BY_DEFAULT)
    under = {
        way: Place(one.library, {**one.environment, "PYTHONHASHSEED": "0"}) for way, one in places(build, ways).items()
    }

    def measure(step: Step) -> Run:
        return measure_command(plan, under[step.allocator], step)

    rounds = interleaved(IDLE, ways, runs, measure)
    return {"peaks": {way: [run[PEAK_RSS.key] for run in rounds[way]] for way in ways}}


def cpu_verdict(kept: Kept) -> Verdict:
    """The shares are few and hardly differ: all of them on one side, or it is not told."""
    return within(min(kept["shares"]), max(kept["shares"]), MOST_CPU, len(kept["shares"]))


def memory_verdict(kept: Kept) -> Verdict:
    """By the interval of the differences."""
    _, low, high = difference(kept["peaks"][BY_DEFAULT], kept["peaks"][OFF])
    return within(low, high, MOST_MEMORY, len(kept["peaks"][OFF]))


def said(kept: Kept) -> str:
    """What was measured, in words."""
    if "shares" in kept:
        least, most = (f"{edge(kept['shares']) * 100:.3f}" for edge in (min, max))
        return f"{least} to {most} % of its CPU time, {max(kept['looks'])} looks at most"
    middle, low, high = (one / 2**10 for one in difference(kept["peaks"][BY_DEFAULT], kept["peaks"][OFF]))
    return f"{middle:+.0f} KiB ({low:+.0f} to {high:+.0f})"


def verdict_of(kept: Kept) -> Verdict:
    """Of one row."""
    return cpu_verdict(kept) if "shares" in kept else memory_verdict(kept)


def cost_table(cost: dict[str, Kept]) -> list[str]:
    """All rows."""
    rows = [[name, str(_count(kept)), said(kept), verdict_of(kept).value] for name, kept in cost.items()]
    return table(["what", "runs", "cost", "verdict"], rows)


def _count(kept: Kept) -> int:
    return len(kept["shares"]) if "shares" in kept else len(kept["peaks"][OFF])
