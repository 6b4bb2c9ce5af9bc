# SPDX-License-Identifier: MIT
"""What passes between us and a process's control socket: names, typed values, and which settings can change live."""

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from enum import Enum

from hew.model.errors import HewError
from hew.model.lazy_dataclass import dataclass

Value = bool | int | str | None
NUMBERS = {"unsigned", "u32", "u64", "i64", "size", "ssize"}


class RefusedError(HewError):
    """The process has answered, with an error. `kind` is docs/control.md's word for it."""

    def __init__(self, kind: str, sentence: str) -> None:
        super().__init__(sentence)
        self.kind = kind


@dataclass(frozen=True)
class Name:
    """A name of mallctl: its type, and what may be done with it from outside (get, set, do)."""

    name: str
    type: str
    access: frozenset[str]


@dataclass(frozen=True)
class ThreadUse:
    """A thread by the number that its process knows; its arena, what it asked of that, the bytes it keeps at hand."""

    number: int
    arena: int
    requests: int
    cached: int


def value_of(kind: str, text: str) -> Value:
    """An answer's bytes as the type says."""
    if kind == "void":
        return None
    if kind == "bool":
        return text == "true"
    return int(text) if kind in NUMBERS else text


class Outcome(Enum):
    """What became of a setting."""

    APPLIED = "applied"
    RESTART = "needs a restart"
    UNKNOWN = "unknown"
    REFUSED = "refused"


@dataclass(frozen=True)
class Applied:
    """One setting of a text, and its outcome. `remark` says how it was applied, or what to do instead."""

    name: str
    value: str
    outcome: Outcome
    remark: str = ""


@dataclass(frozen=True)
class Purged:
    """What a purge of everything returned, as the library counts it, and the process's resident memory around it."""

    returned: int
    resident_before: int
    resident_after: int


@dataclass(frozen=True)
class Way:
    """How a setting is changed live: names to set, each arena's too, and what differs from a restart."""

    names: tuple[str, ...] = ()
    each_arena: str | None = None
    remark: str = ""


LIVE: Mapping[str, Way] = {
    "background_thread": Way(("background_thread",)),
    "dirty_decay_ms": Way(("arenas.dirty_decay_ms",), "dirty_decay_ms"),
    "dss": Way(("arena.4096.dss",), "dss"),
    "lg_prof_sample": Way(("prof.reset",), None, "the samples so far are dropped"),
    "max_background_threads": Way(("max_background_threads",)),
    "muzzy_decay_ms": Way(("arenas.muzzy_decay_ms",), "muzzy_decay_ms"),
    "oversize_threshold": Way((), "oversize_threshold", "arenas made later have the old one"),
    "prof_active": Way(("prof.active",)),
    "prof_gdump": Way(("prof.gdump",)),
    "prof_prefix": Way(("prof.prefix",)),
    "prof_recent_alloc_max": Way(("experimental.prof_recent.alloc_max",)),
    "prof_thread_active_init": Way(("prof.thread_active_init",), None, "threads that run already stay as they are"),
}


def read_conf(text: str) -> list[tuple[str, str]]:
    """name:value pairs. Raises HewError for what is none."""
    pairs = []
    for pair in filter(None, (part.strip() for part in text.split(","))):
        match = re.fullmatch(r"(\w+):(.+)", pair)
        if match is None:
            raise HewError(f"{pair!r} is not NAME:VALUE (several are joined by commas)")
        pairs.append((match[1], match[2]))
    return pairs


def nearest(name: str, known: Sequence[str]) -> str:
    """The message about an unknown name."""
    close = get_close_matches(name, known, 1, 0.6)
    return f"did you mean {close[0]}?" if close else "no setting has such a name: docs/options.md lists them"


def failures(results: Iterable[Applied]) -> int:
    """How many of them have come to nothing."""
    return sum(1 for one in results if one.outcome is not Outcome.APPLIED)
