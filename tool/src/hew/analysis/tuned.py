# SPDX-License-Identifier: MIT
"""From what tuning has learned to a setting, and from its measurement to whether it should be kept."""

import shlex
from collections.abc import Mapping, Sequence

from hew.analysis.verification import changed
from hew.model.advice import Setting
from hew.model.figures import CLIENT_WALL, CPU, PEAK_RSS, SERVER_CPU, SERVER_PEAK_RSS, WALL
from hew.model.report import Ratio, Verdict
from hew.model.tuned import Tuned
from hew.model.tuning import LEVERS, Tuning
from hew.model.verification import WITHOUT, Outcome, Variant, Verification

WAY = "what it learned"
TIMES = {one.key for one in (CPU, WALL, SERVER_CPU, CLIENT_WALL)}
PEAKS = {one.key for one in (PEAK_RSS, SERVER_PEAK_RSS)}
RATE = ".requests_per_second"
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
    """Whether it is faster by the clock, by the processor or by what is told of the work, and slower by none of these;
    with the same output. Of a server its processor time counts, and the client's clock."""
    times = [outcome.ratios[key].verdict for key in _judged(outcome) if key not in PEAKS]
    good = not outcome.failures and not outcome.output_differs
    return good and Verdict.BETTER in times and Verdict.WORSE not in times


def lean(outcome: Outcome, memory: int) -> bool:
    """Whether its peak is the same, but for what it may spend, in percent."""
    peaks = [ratio for key, ratio in outcome.ratios.items() if key in PEAKS]
    return all(one.verdict is not Verdict.WORSE or one.value <= MEMORY_MOST + memory / 100 for one in peaks)


def _judged(outcome: Outcome) -> list[str]:
    """What decides: times, the peak, metrics that were asked for, and the first rate that a client tells. Of its many
    figures some would differ by chance."""
    rates = [key for key in outcome.ratios if key.startswith("client.") and key.endswith(RATE)]
    return [key for key in outcome.ratios if key in TIMES | PEAKS or key.startswith("metric.") or key in rates[:1]]


def saved_lines(tuned: Tuned, today: str) -> list[str]:
    """A file that a shell can read: the setting, and above it what it rests on."""
    result, outcome, tuning = tuned.result, tuned.outcome, tuned.tuning
    assert result is not None and outcome is not None  # noqa: S101, PT018 - who saves has measured
    judged = set(_judged(outcome))
    evidence = [_spoken(one.label, outcome.ratios[one.key]) for one in result.figures if one.key in judged]
    command = _comment(" ".join(result.command))
    if result.server:
        command = f"{_comment(' '.join(result.server))}, loaded by {command}"
    lines = [
        f"# hew tune, {today}: {command}",
        f"# {_comment(result.subject)}; {tuning.steps} steps in one run, {tuning.kept} kept",
        f"# {_comment('; '.join(evidence))}; {result.runs} interleaved rounds",
    ]
    return lines + [f"export {name}={shlex.quote(value)}" for name, value in outcome.variant.changes.items()]


def _comment(text: str) -> str:
    """Text of others in one line of a comment."""
    return "".join(one if one.isprintable() else " " for one in text)


def _spoken(label: str, ratio: Ratio) -> str:
    return f"{label} {ratio.value:.2f} ({ratio.low:.2f} to {ratio.high:.2f})"
