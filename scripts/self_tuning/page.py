# SPDX-License-Identifier: MIT
"""The page's part about tuning by itself: the goals by name first, then the tables that they are judged from."""

from collections.abc import Iterable
from typing import Any

from generated import table

from hew.model.figures import CPU, PEAK_RSS, WALL
from hew.sources.machine import describe_machine
from self_tuning.cases import any_table, experts_table, lean_table, longest, verdict_of
from self_tuning.cost import IDLE, cost_table, said
from self_tuning.cost import verdict_of as cost_verdict
from self_tuning.judge import (
    LEAN,
    NEAR,
    Verdict,
    against_best,
    all_of,
    as_good,
    best,
    beyond,
    cell,
    compared,
    judged,
    mean_ratio,
    worst,
)
from self_tuning.plan import ARENAS_A_CPU, BY_DEFAULT, CASES, DEFAULT, HOT, HOT_LONG, OFF, ROOMS
from self_tuning.runs import FIGURES, Rounds
from self_tuning.suite import AGAIN, MOST, above, rounds_of, suite_table

MEAN_MOST, REAL_MOST, HOSTILE_MOST = 0.98, 1.01, 1.05
HOT_CASES = ("hot threads, 256", HOT, HOT_LONG)
Kept = dict[str, Any]
Row = tuple[str, str, str, Verdict]  # goal, wanted, measured, verdict


def _rounds(cases: dict[str, Kept]) -> dict[str, Rounds]:
    return {name: kept["rounds"] for name, kept in cases.items()}


def hostile(kept: Kept) -> dict[str, Rounds]:
    """The cases that play against the controller."""
    return _rounds({name: one for name, one in kept["cases"].items() if one["hostile"]})


def within_all(workloads: dict[str, Rounds], most: float) -> Verdict:
    """Every figure of every workload within a limit."""
    ratios = [one for rounds in workloads.values() for one in compared(rounds, BY_DEFAULT).values()]
    return all_of(judged(one, most) for one in ratios)


def _counted(verdicts: dict[str, Verdict]) -> str:
    """How many cases have which verdict; those that were measured and are not met by name."""
    parts = []
    for one in Verdict:
        names = [name for name, verdict in verdicts.items() if verdict is one]
        if names:
            named = "" if one in {Verdict.MET, Verdict.NONE} else f" ({'; '.join(names)})"
            parts.append(f"{len(names)} {one.value.strip('*')}{named}")
    return ", ".join(parts) or "–"


def case_goals(kept: Kept) -> list[Row]:
    """Near the best setting by hand: hot threads first, then all others."""
    cases = kept["cases"]
    wanted = f"CPU time at most {NEAR} of that setting's, memory at most {LEAN} of what it takes"
    rows: list[Row] = []
    for what, lean in (("in the memory of `tuning:off`", True), ("of all", False)):
        for name in HOT_CASES:
            measured, verdict = "–", Verdict.NONE
            if name in cases:
                one = cases[name]
                hand = best(one["rounds"], one["hand"], lean)
                ratios = against_best(one["rounds"], BY_DEFAULT, one["hand"], lean)
                measured = f"CPU {cell(ratios[CPU.key])}, peak {cell(ratios[PEAK_RSS.key])}, beside `{hand}`"
                verdict = as_good(ratios)
            rows.append((f"{name}, beside the best setting {what}", wanted, measured, verdict))
        others = {one.name: Verdict.NONE for one in CASES if one.name not in HOT_CASES}
        others |= {name: verdict_of(one, lean) for name, one in cases.items() if name not in HOT_CASES}
        rows.append(
            (f"each other case, beside the best setting {what}", wanted, _counted(others), all_of(others.values()))
        )
    return rows


def suite_goals(kept: Kept) -> list[Row]:
    """No workload pays, the whole gains."""
    every = rounds_of(kept["suite"])
    certain, perhaps = beyond(every, BY_DEFAULT, MOST)
    alone = [one.key for one in FIGURES]
    told = f"{len(certain)} figures above it for certain, {len(perhaps)} perhaps; "
    known = f"{told}worst {worst(every, BY_DEFAULT, alone)}"
    mean = mean_ratio(list(every.values()), BY_DEFAULT, CPU.key)
    wall = mean_ratio(list(every.values()), BY_DEFAULT, WALL.key)
    return [
        (
            "the suite of benchmarks: no workload pays",
            f"each at most {MOST} of `{OFF}` in time and memory",
            known if every else "–",
            within_all(every, MOST),
        ),
        (
            "the suite of benchmarks: as a whole",
            f"geometric mean of CPU time at most {MEAN_MOST}",
            f"CPU {cell(mean)}, wall {cell(wall)}",
            judged(mean, MEAN_MOST),
        ),
    ]


def real_goals(kept: Kept) -> list[Row]:
    """Programs of others, in time and in memory."""
    real = rounds_of(kept["suite"], real=True)
    means = {one.label: mean_ratio(list(real.values()), BY_DEFAULT, one.key) for one in FIGURES}
    each = f"at most {REAL_MOST}"
    return [
        (
            "real programs: each",
            f"{each} of `{OFF}` in time and memory",
            f"worst {worst(real, BY_DEFAULT, [one.key for one in FIGURES])}" if real else "–",
            within_all(real, REAL_MOST),
        ),
        (
            "real programs: as a whole",
            f"geometric means {each}",
            ", ".join(f"{label} {cell(one)}" for label, one in means.items()) if real else "–",
            all_of(judged(one, REAL_MOST) for one in means.values()),
        ),
    ]


def other_goals(kept: Kept) -> list[Row]:
    """What the controller costs, and who plays against it."""
    cost, turns = kept["cost"], hostile(kept)
    busy = {name: one for name, one in cost.items() if name != IDLE}
    told = "; ".join(f"{name}: {said(one)}" for name, one in busy.items()) or "–"
    idle = cost.get(IDLE)
    return [
        (
            "cost of the controller: time",
            "at most 0.2 % of the CPU time",
            told,
            all_of(cost_verdict(one) for one in busy.values()),
        ),
        (
            "cost of the controller: memory",
            "at most 64 KiB",
            said(idle) if idle else "–",
            cost_verdict(idle) if idle else Verdict.NONE,
        ),
        (
            "hostile patterns",
            f"never worse than {HOSTILE_MOST} of `{OFF}` in time and memory",
            f"worst {worst(turns, BY_DEFAULT, [one.key for one in FIGURES])}" if turns else "–",
            within_all(turns, HOSTILE_MOST) if _all_hostile(turns) else Verdict.NONE,
        ),
    ]


def _all_hostile(turns: dict[str, Rounds]) -> bool:
    return {one.name for one in CASES if one.hostile} <= turns.keys()


def goals(kept: Kept) -> list[Row]:
    """All of them, as the issue names them."""
    return [*case_goals(kept), *suite_goals(kept), *real_goals(kept), *other_goals(kept)]


def hostile_table(kept: Kept) -> list[str]:
    """Each figure with its interval."""
    rows = []
    for name, rounds in hostile(kept).items():
        ratios = compared(rounds, BY_DEFAULT)
        rows.append([name, *(cell(ratios.get(one.key)) for one in FIGURES), within_all({name: rounds}, HOSTILE_MOST)])
    return table(["case", *(one.label for one in FIGURES), "verdict"], rows)


def circumstances(kept: Kept) -> list[str]:
    """Where, when, and how often."""
    machine = describe_machine()
    where = f"{machine.cpu}, {machine.cpus_usable} CPUs, {machine.kernel}, {machine.libc}"
    every = [one for part in ("cases", "suite", "cost") for one in kept[part].values()]
    days = sorted({one["date"] for one in every})
    when = " to ".join(dict.fromkeys([days[0], days[-1]])) if days else "never"
    counts = {part: _counts(_rounds(kept[part])) for part in ("cases", "suite")}
    return [
        f"Measured {when} on {where}; interleaved rounds: {counts['cases']} of each case, {counts['suite']} of each "
        f"workload of the suite. By default is `{DEFAULT}`. The longest case takes {longest(kept['cases']):.1f} s "
        "without tuning; the time in which the library learns counts in all of them.",
    ]


def _counts(workloads: dict[str, Rounds]) -> str:
    return " or ".join(map(str, sorted({len(rounds[OFF]) for rounds in workloads.values()}))) or "no"


def how_to_read() -> list[str]:
    """For who has not seen these tables before."""
    rooms = ", ".join(map(str, ROOMS))
    return [
        "How to read it: a ratio below 1 is less time or memory. In brackets is the 95 % interval over rounds. A "
        "goal is *met* where the whole interval lies within it, *not met* where the whole interval lies beyond it, "
        "and *not told apart* where it holds the limit; a goal of many figures is met when all of them are. Of a "
        "hundred such intervals some five miss the truth, so a single figure just above a limit may be chance; a "
        f"workload of the suite with one above for certain is measured again, {AGAIN} rounds, and those alone are "
        "shown. Three ratios without brackets are CPU time, wall time and peak RSS, to `tuning:off`. By hand is "
        f"`tuning:off` with `cache_room` and `depot_room` of {rooms} percent and, for programs with several threads, "
        f"{ARENAS_A_CPU} arenas for each CPU, in all combinations; the fastest few of a quick pass over all of them "
        "are measured again, beside the default. The best of those is named; but each half of the rounds is "
        "compared with what is best in the other half, since the best of several looks better in the rounds that "
        "chose it than it is. For bursts and silence it is `dirty_decay_ms` of 20, 40 and 80 seconds.",
    ]


def _part(title: str, there: bool, lines: Iterable[str]) -> list[str]:
    return ["", f"### {title}", "", *lines] if there else []


def lines(kept: Kept, missing: list[str]) -> list[str]:
    """All that stands between the marks. `missing` is what the suite cannot run here."""
    cases, suite, cost = kept["cases"], kept["suite"], kept["cost"]
    rows = [(goal, wanted, measured, verdict.value) for goal, wanted, measured, verdict in goals(kept)]
    found = [*circumstances(kept), "", *how_to_read(), "", "### Goals", ""]
    found += table(["goal", "wanted", "measured", "verdict"], rows)
    found += _part("Cases: the best setting in the memory of `tuning:off`", bool(cases), lean_table(cases))
    found += _part("Cases: the best setting of all", bool(cases), any_table(cases))
    theirs = {name: cases[name] for name in (HOT, HOT_LONG) if name in cases}
    text = "Theirs are told of services with dozens of CPUs; the rest is measured here, to `tuning:off`."
    found += _part("Next to what experts gain by hand", bool(theirs), [text, "", *experts_table(theirs)])
    found += _part("Hostile patterns, to `tuning:off`", bool(hostile(kept)), hostile_table(kept))
    found += _part("The suite, the default to `tuning:off`", bool(suite), [*suite_table(suite), *above(suite)])
    found += _part("What the controller costs", bool(cost), cost_table(cost))
    wrong = [f"- {name}: failed: {reason}" for name, reason in kept["failed"].items()]
    wrong += [f"- left out: {one}" for one in missing] if suite else []
    return found + _part("Not measured", bool(wrong), wrong)
