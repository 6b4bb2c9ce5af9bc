# SPDX-License-Identifier: MIT
"""What a process has tried by itself, beside advice that goes the same way.

hew's threads try more room for their caches, its purger a longer `dirty_decay_ms`, and depots hold more where what they
had no room for is wanted again (`tuning`). Who advises what was tried there and undone has to say so, and so has who
advises the opposite of what stayed. Deeper caches and larger caches are one way: more objects in a thread's hands.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from hew.analysis.advice.reconcile import CACHES, SMALLER_CACHES
from hew.model.advice import Advice, Evidence, Setting
from hew.model.figures import Unit
from hew.model.statistics import Snapshot
from hew.model.tuning import CACHE, DECAY, DEPOTS, USUAL_ROOM, Step, Tuning

WHERE = "stats.tuning"
# By setting: what stands of a step in `effect_…`, its unit, and how many of them one of that unit is.
EFFECTS = {
    CACHE: ("time of an operation", Unit.SECONDS, 1e12),
    DEPOTS: ("processor time of an operation", Unit.SECONDS, 1e12),
    DECAY: ("wanted pages that had gone back", Unit.SHARE, 1e6),
}


def with_trials(advice: Sequence[Advice], snapshot: Snapshot | None) -> tuple[Advice, ...]:
    """The same advice; its evidence has what the process found out by itself."""
    tuning = snapshot.tuning if snapshot is not None else None
    if tuning is None:
        return tuple(advice)
    return tuple(replace(one, evidence=(*one.evidence, *_found(one, tuning))) for one in advice)


def _found(advice: Advice, tuning: Tuning) -> Iterator[Evidence]:
    """Once for each thing that the process moves, however many of the settings ask for it."""
    ways = dict(_way(advice, setting, tuning) for setting in advice.settings)
    for lever, direction in ways.items():
        if direction and (at := _telling(lever, direction, tuning)) is not None:
            yield from _of_step(at, tuning.last_steps[at], direction)
        if lever == CACHE and direction > 0 and tuning.room_refused:
            yield Evidence("trials of more room by its threads", tuning.room_trials, Unit.COUNT, f"{WHERE}.room_trials")
            yield Evidence("of these undone", tuning.room_refused, Unit.COUNT, f"{WHERE}.room_refused")
        if lever == CACHE and direction < 0 and tuning.room_kept:
            yield Evidence("trials of more room that paid", tuning.room_kept, Unit.COUNT, f"{WHERE}.room_kept")
            yield Evidence("lent to threads' caches now", tuning.room_lent, Unit.BYTES, f"{WHERE}.room_lent")
        if lever == DEPOTS and tuning.room_depots:
            yield Evidence(
                "that depots may hold beyond their usual room", tuning.room_depots, Unit.BYTES, f"{WHERE}.room_depots"
            )


def _way(advice: Advice, setting: Setting, tuning: Tuning) -> tuple[str, int]:
    """What the process itself would move for it, and in which direction; 0 where it tries nothing like that."""
    if setting.name in CACHES:
        return CACHE, -1 if advice.rule in SMALLER_CACHES else 1
    if setting.name == DECAY:
        wanted, now = float(setting.value), float(tuning.dirty_decay_ms)
        wanted, now = (float("inf") if one < 0 else one for one in (wanted, now))  # -1: for ever
        return DECAY, (wanted > now) - (wanted < now)
    if setting.name == DEPOTS:
        percent = float(setting.value)
        return DEPOTS, (percent > USUAL_ROOM) - (percent < USUAL_ROOM)
    return setting.name, 0


def _telling(lever: str, direction: int, tuning: Tuning) -> int | None:
    """Where the last step stands that speaks against this direction: one that did not stay, or a decay time's the
    other way that did (of threads that kept more room, `room_kept` tells). A later one in this direction that stayed
    speaks for it."""
    for at in reversed(range(len(tuning.last_steps))):
        step = tuning.last_steps[at]
        if step.setting != lever:
            continue
        same = (step.after > step.before) == (direction > 0)
        if same and step.outcome == "kept":
            return None
        if same and step.outcome == "undone" and step.is_measured:  # else it ended before anybody could say
            return at
        if not same and step.outcome == "kept" and lever == DECAY:
            return at
    return None


def _of_step(at: int, step: Step, direction: int) -> Iterator[Evidence]:
    """What is known of it: of a trial what it was measured to do, of one that stayed from where to where it went."""
    where = f"{WHERE}.last_steps[{at}]"
    if step.outcome == "kept":
        yield Evidence(f"{step.setting} before it went {'down' if direction > 0 else 'up'} by itself", step.before,
                       Unit.COUNT, f"{where}.before")  # fmt: skip
        yield Evidence(f"{step.setting} since then", step.after, Unit.COUNT, f"{where}.after")
        return
    what, unit, parts = EFFECTS[step.setting]
    yield Evidence(f"{what} before it tried {step.setting} {step.after}", step.effect_before / parts, unit,
                   f"{where}.effect_before")  # fmt: skip
    yield Evidence("with that, which was undone", step.effect_after / parts, unit, f"{where}.effect_after")
