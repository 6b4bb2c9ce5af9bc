# SPDX-License-Identifier: MIT
"""The cases: a quick pass over the whole grid; then its best settings beside what the library does by itself."""

import os
import statistics
from pathlib import Path
from typing import Any

from generated import table

from hew.model.figures import CPU, PEAK_RSS, WALL
from hew.model.report import Ratio
from hew.model.run import CommandPlan, Run, Step
from hew.sources.measure import measure_command
from self_tuning.judge import Verdict, against_best, as_good, best, cell, compared, picks
from self_tuning.plan import BY_DEFAULT, LAVISH, OFF, OWN_ARENAS, SPENDING, TUNED, Case, command_of
from self_tuning.runs import FIGURES, Rounds, interleaved, places, side_by_side

FIRST_RUNS = 2
TIMEOUT = 120
Kept = dict[str, Any]  # one case as it lies in the file of what was measured


def measured(case: Case, build: Path, runs: int, quick: bool) -> Kept:
    """Both passes. What waits has so few settings that all of them come into the second one."""
    load = os.getloadavg()[0]
    hand = list(case.grid[:2] if quick else case.grid)
    first: Rounds = {}
    if not case.waits:
        first = _pass(case, build, [OFF, *hand], 1 if quick else FIRST_RUNS)
        hand = picks(first)
    tuned = [BY_DEFAULT] if case.waits else list(TUNED)
    rounds = _pass(case, build, [OFF, *tuned, *hand, *case.extra], runs)
    return {
        "load": load,
        "hand": hand,
        "first": first,
        "rounds": rounds,
        "hostile": case.hostile,
        "extra": list(case.extra),
    }


def _pass(case: Case, build: Path, ways: list[str], runs: int) -> Rounds:
    under = places(build, ways)
    words = command_of(build, case.words)

    def measure(step: Step) -> Run:
        plan = CommandPlan((*words, *case.extra.get(step.allocator, ())), Path(os.devnull), TIMEOUT)
        return measure_command(plan, under[step.allocator], step)

    way_of = side_by_side if case.waits else interleaved
    return way_of(case.name, ways, runs, measure)


def verdict_of(kept: Kept, lean: bool) -> Verdict:
    """Whether the default is near the best setting by hand."""
    return as_good(against_best(kept["rounds"], BY_DEFAULT, kept["hand"], lean))


def plain(rounds: Rounds, way: str) -> str:
    """CPU time, wall time and peak over those of tuning:off."""
    ratios = compared(rounds, way)
    return ", ".join(f"{ratios[one.key].value:.2f}" for one in FIGURES)


def _named(rounds: Rounds, way: str) -> str:
    return f"`{OFF}`" if way == OFF else f"`{way}`: {plain(rounds, way)}"


def _pair(ratios: dict[str, Ratio]) -> str:
    return f"{cell(ratios.get(CPU.key))}; {cell(ratios.get(PEAK_RSS.key))}"


def _median(rounds: Rounds, way: str, key: str) -> float:
    return statistics.median(run[key] for run in rounds[way])


def lean_table(cases: dict[str, Kept]) -> list[str]:
    """The default beside the best setting that takes no more memory than tuning:off."""
    rows = []
    for name, kept in cases.items():
        rounds, hand = kept["rounds"], best(kept["rounds"], kept["hand"], lean=True)
        ours = against_best(rounds, BY_DEFAULT, kept["hand"], lean=True)
        off = f"{_median(rounds, OFF, CPU.key):.2f} s, {_median(rounds, OFF, PEAK_RSS.key) / 2**20:.0f} MiB"
        rows.append(
            [
                name,
                off,
                plain(rounds, BY_DEFAULT),
                _named(rounds, hand),
                _pair(ours),
                as_good(ours).value,
                f"{kept['load']:.1f}",
            ]
        )
    head = ["case", f"`{OFF}`: CPU, peak", BY_DEFAULT, "best by hand", "default / best: CPU; peak", "verdict", "load"]
    return table(head, rows)


def any_table(cases: dict[str, Kept]) -> list[str]:
    """The same with the best of the whole grid, whatever memory it takes, and the default with memory to spend."""
    rows = []
    for name, kept in cases.items():
        rounds, hand = kept["rounds"], best(kept["rounds"], kept["hand"], lean=False)
        ours = {way: against_best(rounds, way, kept["hand"], lean=False) for way in TUNED if way in rounds}
        pairs = [_pair(ours[way]) if way in ours else "–" for way in TUNED]
        reached = as_good(ours[LAVISH]).value if LAVISH in ours else "–"
        verdict = as_good(ours[BY_DEFAULT]).value
        rows.append([name, _named(rounds, hand), pairs[0], verdict, *pairs[1:], reached])
    spending = [f"`{way}` / best: CPU; peak" for way in (SPENDING, LAVISH)]
    head = ["case", "best by hand", "default / best: CPU; peak", "verdict", *spending, f"verdict of `{LAVISH}`"]
    return table(head, rows)


def longest(cases: dict[str, Kept]) -> float:
    """The wall time of the longest case without tuning: all of them learn within that."""
    return max((_median(kept["rounds"], OFF, WALL.key) for kept in cases.values()), default=0.0)


# What a team of experts has told of its own services; the only figures of the page that were not measured by it.
EXPERTS = (
    ("experts, `narenas:1024`", "-4.5 %", "+10 %"),
    ("experts, arenas of their own for 80 hot threads of 1,776, and a shorter decay for the rest", "-4 %", "flat"),
    ("experts, over ten services", "-3 %", "–"),
)


def experts_table(cases: dict[str, Kept]) -> list[str]:
    """What they have gained beside what this machine shows of the cases that are modelled on theirs."""
    rows = [row for name, kept in cases.items() for row in _beside_experts(name, kept)]
    return table(["what", "CPU time", "memory"], [*EXPERTS, *rows])


def _beside_experts(name: str, kept: Kept) -> list[list[str]]:
    rounds = kept["rounds"]
    lean, fast = (best(rounds, kept["hand"], lean) for lean in (True, False))
    ways = dict.fromkeys([BY_DEFAULT, SPENDING, LAVISH, lean, fast, *kept.get("extra", [])])
    shown = {way: way if way in {BY_DEFAULT, OWN_ARENAS} else f"`{way}`" for way in ways}
    return [[f"{name}, {shown[way]}", *_percent(rounds, way)] for way in ways]


def _percent(rounds: Rounds, way: str) -> list[str]:
    ratios = compared(rounds, way)
    shown = [ratios[key] for key in (CPU.key, PEAK_RSS.key)]
    return [f"{_more(one.value)} % ({_more(one.low)} to {_more(one.high)})" for one in shown]


def _more(ratio: float) -> str:
    return f"{(ratio - 1) * 100:+.1f}"
