# SPDX-License-Identifier: MIT
"""What a process has tried by itself, beside advice that goes the same way.

hew tries steps of `depot_room`, moves `dirty_decay_ms`, and its threads try more room for their caches (`tuning`). Who
advises what was tried there and undone has to say so, and so has who advises the opposite of what stayed. Deeper
caches, larger caches and more room for depots are one way: more objects between the threads and the arenas.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from hew.analysis.advice.reconcile import CACHES, SMALLER_CACHES
from hew.model.advice import Advice, Evidence, Setting
from hew.model.figures import Unit
from hew.model.statistics import Snapshot
from hew.model.tuning import DECAY, ROOM, Step, Tuning

WHERE = "stats.tuning"
ENDED = {"undone": "which was undone", "too costly": "which took too much memory", "outgrown": "which memory outgrew"}


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
        if lever == ROOM and direction > 0 and tuning.room_refused:
            yield Evidence("trials of more room by its threads", tuning.room_trials, Unit.COUNT, f"{WHERE}.room_trials")
            yield Evidence("of these undone", tuning.room_refused, Unit.COUNT, f"{WHERE}.room_refused")
        if lever == ROOM and direction < 0 and tuning.room_kept:
            yield Evidence("trials of more room that paid", tuning.room_kept, Unit.COUNT, f"{WHERE}.room_kept")
            yield Evidence("lent to threads' caches now", tuning.room_lent, Unit.BYTES, f"{WHERE}.room_lent")


def _way(advice: Advice, setting: Setting, tuning: Tuning) -> tuple[str, int]:
    """What the process itself would move for it, and in which direction; 0 where it moves nothing like that."""
    if setting.name in CACHES:
        return ROOM, -1 if advice.rule in SMALLER_CACHES else 1
    if setting.name in {ROOM, DECAY}:
        wanted, now = float(setting.value), float(getattr(tuning, setting.name))
        wanted, now = (float("inf") if one < 0 else one for one in (wanted, now))  # -1: for ever
        return setting.name, (wanted > now) - (wanted < now)
    return setting.name, 0


def _telling(lever: str, direction: int, tuning: Tuning) -> int | None:
    """Where the last step stands that speaks against this direction: one that did not stay, or one the other way that
    did. A later one in this direction that stayed speaks for it."""
    for at in reversed(range(len(tuning.last_steps))):
        step = tuning.last_steps[at]
        same = (step.after > step.before) == (direction > 0)
        if step.setting != lever or (step.outcome != "kept" and not (same and step.outcome in ENDED)):
            continue
        return None if same and step.outcome == "kept" else at
    return None


def _of_step(at: int, step: Step, direction: int) -> Iterator[Evidence]:
    """What is known of it: of a trial its losses and peaks, of a move from where to where it went."""
    where = f"{WHERE}.last_steps[{at}]"
    if step.outcome == "kept":
        yield Evidence(f"{step.setting} before it went {'down' if direction > 0 else 'up'} by itself", step.before,
                       Unit.COUNT, f"{where}.before")  # fmt: skip
        yield Evidence(f"{step.setting} since then", step.after, Unit.COUNT, f"{where}.after")
        return
    ended = ENDED[step.outcome]
    yield Evidence(f"lost before it tried {step.setting} {step.after}", step.lost_before_ppm / 1e6, Unit.SHARE,
                   f"{where}.lost_before_ppm")  # fmt: skip
    yield Evidence(f"lost with that, {ended}", step.lost_after_ppm / 1e6, Unit.SHARE, f"{where}.lost_after_ppm")
    if step.outcome != "undone":
        yield Evidence("peak before", step.held_before, Unit.BYTES, f"{where}.held_before")
        yield Evidence("peak with that", step.held_after, Unit.BYTES, f"{where}.held_after")
