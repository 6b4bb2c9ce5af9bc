# SPDX-License-Identifier: MIT
"""What a process says of itself when it has a control socket: the settings in force, arenas, threads."""

from collections.abc import Mapping
from dataclasses import replace

from hew.model.control import RefusedError, Value
from hew.model.errors import HewError
from hew.model.process import Inside, ProcessFacts
from hew.model.statistics import MemoryLimit
from hew.sources.control import Control, connect, find_socket

NOW = {
    "background_thread": "background_thread",
    "dirty_decay_ms": "arenas.dirty_decay_ms",
    "muzzy_decay_ms": "arenas.muzzy_decay_ms",
}  # settings that can change while it runs, and where their value is
LIMIT = ("bytes", "held", "looks", "relieved", "returned")


def with_inside(facts: ProcessFacts) -> ProcessFacts:
    """The facts with what the process answers; as they are where it cannot be asked."""
    if find_socket(facts.pid) is None:
        return facts
    try:
        with connect(facts.pid) as control:
            return replace(facts, inside=_asked(control, facts.conf))
    except HewError as error:
        return replace(facts, silence=str(error))


def _asked(control: Control, wanted: Mapping[str, str]) -> Inside:
    names = {*wanted, *NOW, "narenas"}
    settings = {name: value for name in sorted(names) if (value := _get(control, f"opt.{name}")) is not None}
    now = {name: value for name, where in NOW.items() if (value := _get(control, where)) is not None}
    arenas = control.get("arenas.narenas")
    used = [one for one in range(arenas if isinstance(arenas, int) else 0) if _get(control, f"arena.{one}.initialized")]
    return Inside(settings, now, len(used), len(control.threads()), _limit(control, wanted))


def _limit(control: Control, wanted: Mapping[str, str]) -> MemoryLimit:
    """The limit of memory that hew keeps, and what it has cost; empty where there is none."""
    figures = {name: value for name in LIMIT if isinstance(value := _get(control, f"experimental.limit.{name}"), int)}
    if not figures.get("bytes"):
        return MemoryLimit()
    # mallctl has no name for which of them it is; a limit that no setting asked for is the group's.
    source = next((name for name in ("limit", "limit_hard") if wanted.get(name) == str(figures["bytes"])), "cgroup")
    return MemoryLimit(source=source, **figures)


def _get(control: Control, name: str) -> Value:
    """None: there is no such name, or it has no value from outside."""
    try:
        return control.get(name)
    except RefusedError:
        return None
