# SPDX-License-Identifier: MIT
"""From what tuning has learned to a setting, and from its measurement to whether it should be kept."""

import shlex
from collections.abc import Mapping, Sequence

from hew.analysis.verification import changed
from hew.model.advice import Setting
from hew.model.figures import CLIENT_WALL, CPU, PEAK_RSS, SERVER_CPU, SERVER_PEAK_RSS, WALL
from hew.model.quantity import size
from hew.model.report import Ratio, Verdict
from hew.model.tuned import Tuned
from hew.model.tuning import CACHE, DECAY, DEPOTS, USUAL_ROOM, Told, Tuning
from hew.model.verification import WITHOUT, Outcome, Variant, Verification

WAY = "what it learned"
TIMES = {one.key for one in (CPU, WALL, SERVER_CPU, CLIENT_WALL)}
PEAKS = {one.key for one in (PEAK_RSS, SERVER_PEAK_RSS)}
RATE = ".requests_per_second"
MEMORY_MOST = 1.02
TWICE, MOST_ROOM = 200, 800  # percent: what a trial goes to, and the most that is tried by itself


def learned(told: Told) -> tuple[Setting, ...]:
    """The settings that would begin where this run has ended."""
    values = {
        CACHE: _cache_room(told.tuning),
        DEPOTS: _depot_room(told),
        DECAY: _decay(told.tuning),
    }
    return tuple(Setting(name, str(value)) for name, value in values.items() if value is not None)


def _cache_room(tuning: Tuning) -> int | None:
    """The most that a thread has kept. Each thread gets it then, so it is what steps are in: a hundred percent."""
    if tuning.room_kept == 0:
        return None
    kept = [one.after for one in tuning.last_steps if one.setting == CACHE and one.outcome == "kept"]
    return _hundreds(max(kept, default=TWICE), TWICE)


def _depot_room(told: Told) -> int | None:
    """As much as depots came to hold, or what they had where more did not pay; a process that begins with that need not
    find out."""
    verdicts = [one for one in told.tuning.last_steps if one.setting == DEPOTS and one.is_measured]
    if verdicts and verdicts[-1].outcome == "undone":
        return USUAL_ROOM
    more = told.tuning.room_depots
    usual = (told.depots or 0) - more
    if usual <= 0 or more * 2 <= usual:
        return None
    return _hundreds(100 * (usual + more) / usual, TWICE)


def _hundreds(percent: float, least: int) -> int:
    return min(max(int(percent / 100 + 0.5) * 100, least), MOST_ROOM)


def _decay(tuning: Tuning) -> int | None:
    """What is in force, where that is not where it began; a step that was being tried at the end is taken back.

    Steps go up from the setting, and back to it at most: of those that are still known it is the lowest.
    """
    steps = [one for one in tuning.last_steps if one.setting == DECAY]
    if not steps:
        return None
    value = steps[-1].before if steps[-1].outcome == "being tried" else tuning.dirty_decay_ms
    usual = min(min(one.before, one.after) for one in steps)
    return value if value != usual else None


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
        f"# {_comment(result.subject)}; in one run {_tried(tuning)}",
        f"# {_comment('; '.join(evidence))}; {result.runs} interleaved rounds",
    ]
    return lines + [f"export {name}={shlex.quote(value)}" for name, value in outcome.variant.changes.items()]


def _tried(tuning: Tuning) -> str:
    """What the run that learned has tried."""
    parts = []
    if tuning.room_trials:
        parts.append(f"{tuning.room_trials} trials of threads, {tuning.room_kept} kept")
    if tuning.steps:
        parts.append(f"{tuning.steps} steps of {DECAY}, {tuning.kept} kept")
    if tuning.room_depots:
        parts.append(f"{size(tuning.room_depots)} more for depots")
    if tuning.depots_judged:
        parts.append(f"more for depots undone {tuning.depots_undone} of {tuning.depots_judged} times")
    return "; ".join(parts) or "nothing tried"


def _comment(text: str) -> str:
    """Text of others in one line of a comment."""
    return "".join(one if one.isprintable() else " " for one in text)


def _spoken(label: str, ratio: Ratio) -> str:
    return f"{label} {ratio.value:.2f} ({ratio.low:.2f} to {ratio.high:.2f})"
