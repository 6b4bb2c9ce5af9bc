# SPDX-License-Identifier: MIT
"""Selects among the candidates that were tried: the front, the pick, and the result of its fresh runs."""

import math
from collections.abc import Iterable, Sequence

from hew.analysis.summary import paired_ratios
from hew.model.quantity import three_digits
from hew.model.report import Ratio, Verdict
from hew.model.run import Run
from hew.model.search import Candidate, Goal, Limit, Proof, Tried, Wanted
from hew.model.verification import Outcome

LEVEL = 1.01  # costs within one per cent are the same: of those the candidate with the fewest settings is taken
SPARED = 1.03  # what a setting spares less than that is not worth a setting
HOPELESS = 1.15  # beyond this another round will not save a candidate


def dominates(one: Sequence[float], other: Sequence[float]) -> bool:
    """Whether it is nowhere worse, and better somewhere."""
    return all(a <= b for a, b in zip(one, other, strict=True)) and tuple(one) != tuple(other)


def front(tried: Iterable[Tried], wanted: Wanted) -> list[Tried]:
    """Those that nothing else beats in every goal, the base among what can beat them; the best in the first goal first.

    What breaks a limit or failed is left out. Of equal ones the one with the fewest settings stays.
    """
    sound = [one for one in tried if one.failure is None and wanted.allows(one.ratios)]
    ordered = sorted(sound, key=lambda one: (wanted.costs(one.ratios), len(one.candidate.settings)))
    kept: list[Tried] = []
    seen = {tuple(1.0 for _ in wanted.goals)}
    for one in ordered:
        costs = wanted.costs(one.ratios)
        if costs not in seen and not any(dominates(other, costs) for other in seen):
            kept.append(one)
            seen.add(costs)
    return kept


def score(one: Tried, wanted: Wanted) -> float:
    """The geometric mean of the costs: less is better, 1 is the base."""
    costs = wanted.costs(one.ratios)
    return math.exp(sum(math.log(max(cost, 1e-9)) for cost in costs) / len(costs))


def picked(found: Sequence[Tried], wanted: Wanted, harm: float = LEVEL) -> list[Tried]:
    """The candidates for a recommendation, the best first. None makes a goal worse, unless the user set a limit for it.

    `harm` is the ratio up to which a goal counts as not worse, since a few runs are not exact. Among the candidates
    within one per cent of the best, the one with the fewest settings is first.
    """
    harmless = [one for one in found if all(_harmless(goal, one, wanted, harm) for goal in wanted.goals)]
    ordered = sorted(harmless, key=lambda one: score(one, wanted))
    level = [one for one in ordered if score(one, wanted) <= score(ordered[0], wanted) * LEVEL]
    first = sorted(level, key=lambda one: (len(one.candidate.settings), score(one, wanted)))
    return first + [one for one in ordered if one not in level]


def _harmless(goal: Goal, one: Tried, wanted: Wanted, harm: float) -> bool:
    """A goal is not made worse; or the user has said how much worse it may become."""
    if any(limit.goal == goal for limit in wanted.limits):
        return True
    return goal.cost(one.ratios.get(goal.figure.key, 1.0)) <= harm


def simpler(candidate: Candidate) -> list[Candidate]:
    """The same without each of its settings; nothing for one that has a single one."""
    settings = candidate.settings
    if len(settings) < 2:
        return []
    return [
        Candidate(candidate.allocator, tuple(one for one in settings if one is not left_out)) for left_out in settings
    ]


def misses(whole: Sequence[Run], without: Sequence[Run], rounds: int, goals: Sequence[Goal]) -> bool:
    """Whether a candidate is worse without one of its settings: by more than noise and three per cent, in a goal or in
    a figure with a limit. If it did not complete `rounds` runs, it is worse."""
    if sum(run.failure is None for run in without) < rounds:
        return True
    figures = [goal.figure for goal in goals]
    ratios = paired_ratios(without, whole, figures)
    return any(
        one.verdict is Verdict.WORSE and goal.cost(one.value) > SPARED
        for goal in goals
        if (one := ratios.get(goal.figure.key)) is not None
    )


def reduced(whole: Candidate, needed: Sequence[bool]) -> Candidate:
    """The candidate with the settings that it needs; whole when there is none: then each can stand in for another."""
    kept = tuple(one for one, stays in zip(whole.settings, needed, strict=True) if stays)
    return Candidate(whole.allocator, kept) if kept else whole


def hopeless(ratios: dict[str, float], wanted: Wanted, known: Sequence[Tried]) -> bool:
    """Whether one round is enough to see that a candidate breaks a limit, or is beaten in every goal."""
    for limit in wanted.limits:
        excess = limit.excess(ratios)
        if excess > 0 and excess > limit.ratio * (HOPELESS - 1):
            return True
    costs = wanted.costs(ratios)
    best = [tuple(1.0 for _ in costs), *(wanted.costs(one.ratios) for one in known)]
    return any(all(cost > HOPELESS * other for cost, other in zip(costs, one, strict=True)) for one in best)


def proof_of(outcome: Outcome, wanted: Wanted) -> Proof:
    """What fresh runs say: confirmed, refuted; or nothing, since no ratio could be told from noise with so few."""
    if confirmed(outcome, wanted):
        return Proof.CONFIRMED
    sound = not outcome.failures and not outcome.output_differs and outcome.good_runs
    ratios = [outcome.ratios[goal.figure.key] for goal in wanted.goals if goal.figure.key in outcome.ratios]
    if sound and any(one.verdict is Verdict.TOO_FEW_RUNS for one in ratios):
        return Proof.TOO_FEW
    return Proof.REFUTED


def confirmed(outcome: Outcome, wanted: Wanted) -> bool:
    """Whether fresh runs show a goal better, none worse (beyond a limit that allows it), and every limit kept."""
    if outcome.failures or outcome.output_differs or not outcome.good_runs:
        return False
    verdicts = {goal: outcome.ratios[goal.figure.key] for goal in wanted.goals if goal.figure.key in outcome.ratios}
    limited = {limit.goal for limit in wanted.limits}
    if any(ratio.verdict is Verdict.WORSE and goal not in limited for goal, ratio in verdicts.items()):
        return False
    if not all(_kept(limit, outcome.ratios.get(limit.goal.figure.key)) for limit in wanted.limits):
        return False
    return any(ratio.verdict is Verdict.BETTER for ratio in verdicts.values())


def _kept(limit: Limit, ratio: Ratio | None) -> bool:
    """A limit is kept when the measured ratio keeps it, not only when chance would have it so."""
    return ratio is not None and limit.excess({limit.goal.figure.key: ratio.value}) <= 0


def said(one: Tried, wanted: Wanted) -> str:
    """The ratios of the goals in words: `wall time 0.93, peak RSS 0.71`."""
    return ", ".join(
        f"{goal.figure.label} {three_digits(one.ratios[goal.figure.key])}"
        for goal in wanted.goals
        if goal.figure.key in one.ratios
    )
