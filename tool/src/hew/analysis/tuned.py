# SPDX-License-Identifier: MIT
"""From what tuning has learned to a setting, and from its measurement to whether it should be kept."""

import shlex
from collections.abc import Mapping, Sequence

from hew.analysis.verification import changed
from hew.model.advice import Setting
from hew.model.figures import CPU, PEAK_RSS, WALL
from hew.model.report import Ratio, Verdict
from hew.model.tuned import Tuned
from hew.model.tuning import LEVERS, Tuning
from hew.model.verification import WITHOUT, Outcome, Variant, Verification

WAY = "what it learned"
FIGURES = (CPU, WALL, PEAK_RSS)
MEMORY_MOST = 1.02


def learned(tuning: Tuning) -> tuple[Setting, ...]:
    """The settings that stayed: what a lever's steps ended at, where that is not where its first one began.

    The ring holds the last steps alone, so what is in force is taken from the numbers, and a step that was being tried
    when the command ended is taken back.
    """
    found = []
    for name in LEVERS:
        steps = [one for one in tuning.last_steps if one.setting == name]
        if not steps:
            continue
        value = steps[-1].before if steps[-1].outcome == "being tried" else getattr(tuning, name)
        if value != _usual(name, steps[0].before):
            found.append(Setting(name, str(value)))
    return tuple(found)


def _usual(name: str, first: int) -> int:
    """Where a lever begins: room at 100 percent, whatever the ring still holds."""
    return first if name == "dirty_decay_ms" else 100


def tuned_ways(settings: Sequence[Setting], variable: str, environment: Mapping[str, str]) -> list[Variant]:
    """The command as it is, and with these settings."""
    return [Variant(WITHOUT, (), {}), Variant(WAY, (), changed(settings, variable, environment))]


def outcome_of(result: Verification) -> Outcome:
    """That of the command with what was learned."""
    return next(one for one in result.outcomes if one.variant.name == WAY)


def faster(outcome: Outcome) -> bool:
    """Whether it is faster by the clock or by the processor, and slower by neither; with the same output."""
    times = [outcome.ratios[one.key].verdict for one in (CPU, WALL) if one.key in outcome.ratios]
    good = not outcome.failures and not outcome.output_differs
    return good and Verdict.BETTER in times and Verdict.WORSE not in times


def lean(outcome: Outcome, memory: int) -> bool:
    """Whether its peak is the same, but for what it may spend, in percent."""
    ratio = outcome.ratios.get(PEAK_RSS.key)
    return ratio is None or ratio.verdict is not Verdict.WORSE or ratio.value <= MEMORY_MOST + memory / 100


def saved_lines(tuned: Tuned, today: str) -> list[str]:
    """A file that a shell can read: the setting, and above it what it rests on."""
    result, outcome, tuning = tuned.result, tuned.outcome, tuned.tuning
    assert result is not None and outcome is not None  # noqa: S101, PT018 - who saves has measured
    evidence = [_spoken(one.label, outcome.ratios[one.key]) for one in FIGURES if one.key in outcome.ratios]
    command = _comment(" ".join(result.command))
    lines = [
        f"# hew tune, {today}: {command}",
        f"# {_comment(result.subject)}; {tuning.steps} steps in one run, {tuning.kept} kept",
        f"# {'; '.join(evidence)}; {result.runs} interleaved rounds",
    ]
    return lines + [f"export {name}={shlex.quote(value)}" for name, value in outcome.variant.changes.items()]


def _comment(text: str) -> str:
    """Text of others in one line of a comment."""
    return "".join(one if one.isprintable() else " " for one in text)


def _spoken(label: str, ratio: Ratio) -> str:
    return f"{label} {ratio.value:.2f} ({ratio.low:.2f} to {ratio.high:.2f})"
