# SPDX-License-Identifier: MIT
"""From loose tables of names and values to the model: what is missing or no number becomes None."""

from collections.abc import Hashable, Mapping
from dataclasses import fields
from functools import cache
from typing import Any, TypeVar, cast

from hew.model.statistics import MemoryLimit, Mutex, Scalar

Record = TypeVar("Record")

# Names that the text report has otherwise than the JSON, and times whose names lack their unit.
OTHER_NAMES = {
    "n_lock_ops": "num_ops",
    "n_waiting": "num_wait",
    "n_spin_acq": "num_spin_acq",
    "n_owner_switch": "num_owner_switch",
    "total_wait_time": "total_wait_ns",
    "max_wait_time": "max_wait_ns",
    "max_n_thds": "max_num_thds",
    "nfill": "nfills",
    "nflush": "nflushes",
    "regs": "nregs",
    "run_interval": "run_interval_ns",
}


def number(value: object) -> int | None:
    """A whole number, or None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def table(value: object) -> Mapping[str, Any]:
    """An object of the document; anything else is as good as an empty one."""
    return value if isinstance(value, dict) else {}


def scalars(value: object) -> dict[str, Scalar]:
    """The plain values of an object of the document."""
    return {name: one for name, one in table(value).items() if isinstance(one, bool | int | str)}


@cache
def _names(kind: Hashable) -> tuple[tuple[str, str], ...]:
    """The fields of a record that are numbers, each under every name that a report has it by."""
    own = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    others = ((name, field) for name, field in OTHER_NAMES.items() if field in own)
    return (*((name, name) for name in own), *others)


def record(kind: type[Record], found: Mapping[str, object], **more: object) -> Record:
    """A frozen record of the numbers that are in `found` under its fields' names; `more` has the other fields."""
    numbers = {
        field: value
        for name, field in _names(cast(Hashable, kind))
        if name in found and field not in more and (value := number(found[name])) is not None
    }
    return kind(**numbers, **more)


def limit(found: Mapping[str, object]) -> MemoryLimit:
    """The part about the limit of memory."""
    source = found.get("source")
    return record(MemoryLimit, found, source=source if isinstance(source, str) else None)


def mutex(found: Mapping[str, object], misnamed: bool = False) -> Mutex:
    """A lock's counters. `misnamed`: as the JSON of 5.2.0 to 5.3.0 has them, each name but three one column off."""
    if not misnamed:
        return record(Mutex, found)
    return Mutex(
        num_ops=number(found.get("num_ops")),
        num_wait=number(found.get("num_spin_acq")),
        num_spin_acq=number(found.get("total_wait_time")),
        max_num_thds=number(found.get("max_num_thds")),
    )
