# SPDX-License-Identifier: MIT
"""What a process on hew has changed by itself (`tuning:on`)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any

from hew.model.errors import HewError

ROOM, DECAY = LEVERS = ("depot_room", "dirty_decay_ms")
WORD = re.compile(r"[a-z][a-z0-9_ ]{0,31}")  # a mode, setting or outcome; a newer library may know more of them
MOST = (1 << 64) - 1
MOST_STEPS = 1024


@dataclass(frozen=True)
class Step:
    """One step of a setting. Losses are millionths of the processor time; `lost_after_ppm` is 0 until it is known."""

    at_ms: int
    setting: str
    before: int
    after: int
    outcome: str
    lost_before_ppm: int
    lost_after_ppm: int
    held_before: int
    held_after: int


@dataclass(frozen=True)
class Tuning:
    """The numbers of a report's `stats.tuning`, and its last steps, the oldest first."""

    mode: str
    windows: int
    own_ns: int
    steps: int
    kept: int
    undone: int
    lost_ppm: int
    depot_room: int
    dirty_decay_ms: int
    last_steps: tuple[Step, ...]
    outgrown: int = 0  # from here on: not in reports of the first libraries that tune
    room_lent: int = 0  # bytes that threads' caches have borrowed
    room_trials: int = 0
    room_kept: int = 0
    room_refused: int = 0

    @property
    def tells(self) -> bool:
        """Whether there is something to tell: threads try room for their caches by default, and most never do."""
        return self.mode not in {"off", "room"} or self.room_trials > 0


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
