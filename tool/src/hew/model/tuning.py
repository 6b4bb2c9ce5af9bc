# SPDX-License-Identifier: MIT
"""What a process on hew has changed by itself (`tuning`)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any

from hew.model.errors import HewError

CACHE, DECAY, DEPOTS = "cache_room", "dirty_decay_ms", "depot_room"
USUAL_ROOM = 100  # percent, of the two rooms
WORD = re.compile(r"[a-z][a-z0-9_ ]{0,31}")  # a mode, setting or outcome; a newer library may know more of them
MOST = (1 << 64) - 1
MOST_STEPS = 1024


@dataclass(frozen=True)
class Step:
    """One step of a setting: why it was made, and what it did, before and after.

    Of `cache_room`: misses in a million operations, and picoseconds of an operation. Of `dirty_decay_ms`: of the pages
    that went back, millionths that were wanted again, and of the pages that were wanted, millionths that had gone back.
    Of `depot_room`, a verdict on room that depots have: picoseconds of the processor time of the process for an
    operation, with the usual room and with more.
    All four are 0 where they are not told, as by another library.
    """

    at_ms: int
    setting: str
    before: int
    after: int
    outcome: str
    reason_before: int = 0
    reason_after: int = 0
    effect_before: int = 0
    effect_after: int = 0

    @property
    def is_measured(self) -> bool:
        """Whether what is after it is known. Nothing at all may be wanted again after a longer time; a shorter one
        needs no trial, and one that ended early was not judged."""
        if self.outcome not in {"kept", "undone"}:
            return False
        longer = self.setting == DECAY and self.after > self.before and self.effect_before > 0
        return longer or self.reason_after > 0 or self.effect_after > 0


@dataclass(frozen=True)
class Tuning:
    """The numbers of a report's `stats.tuning`, and its last steps, the oldest first. Steps are of the decay time."""

    mode: str
    windows: int
    own_ns: int
    steps: int
    kept: int
    undone: int
    dirty_decay_ms: int
    last_steps: tuple[Step, ...]
    room_depots: int = 0  # bytes that depots may hold beyond the usual; from here on: not in reports of older libraries
    room_lent: int = 0  # bytes that threads' caches have borrowed
    room_trials: int = 0
    room_kept: int = 0
    room_refused: int = 0
    depots_judged: int = 0  # times that their room was tried against the usual one
    depots_undone: int = 0

    @property
    def tells(self) -> bool:
        """Whether there is something to tell: it is on by default, and most processes never need it."""
        tried = any((self.room_trials, self.steps, self.room_depots, self.depots_judged))
        return self.mode == "observe" or (self.mode != "off" and tried)


@dataclass(frozen=True)
class Told:
    """What one process has told of its tuning, and the bytes that all its depots may hold; None: not told."""

    tuning: Tuning
    depots: int | None = None


def tuning_of(document: object) -> Tuning | None:
    """The part of a JSON report that tells of tuning; None where it has none, as of an older library."""
    stats = _table(_table(document).get("jemalloc")).get("stats")
    told = _table(stats).get("tuning")
    if not isinstance(told, Mapping):
        return None
    steps = told.get("last_steps")
    if not isinstance(steps, list) or len(steps) > MOST_STEPS:
        raise HewError(f"the report's part about tuning lacks 'last_steps', a list of at most {MOST_STEPS}")
    return tuning_from(told, steps)


def tuning_from(told: Mapping[str, object], steps: Sequence[object]) -> Tuning:
    """The numbers of one record, and its steps."""
    return Tuning(**_checked(Tuning, told), last_steps=tuple(Step(**_checked(Step, _table(one))) for one in steps))


def _checked(kind: type[Step | Tuning], told: Mapping[str, object]) -> dict[str, Any]:
    """The words and whole numbers of one record: any process can write a report, so nothing else gets in."""
    found: dict[str, object] = {}
    for one in fields(kind):
        if one.name == "last_steps":
            continue
        if one.name not in told:
            if one.default is MISSING:
                raise HewError(f"the report's part about tuning lacks '{one.name}'")
            continue
        value = told[one.name]
        if one.type is str and not (isinstance(value, str) and WORD.fullmatch(value)):
            raise HewError(f"the report's part about tuning: '{one.name}' is not a word")
        least = -1 if one.name == "dirty_decay_ms" else 0  # for ever
        if one.type is int and not (type(value) is int and least <= value <= MOST):
            raise HewError(f"the report's part about tuning: '{one.name}' is not a whole number below 2^64")
        found[one.name] = value
    return found


def _table(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}
