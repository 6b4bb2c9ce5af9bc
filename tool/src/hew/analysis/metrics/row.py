# SPDX-License-Identifier: MIT
"""A row of the tables of metrics: what is handed out, and where its values come from."""

from collections.abc import Callable
from typing import Generic, TypeVar

from hew.model.lazy_dataclass import dataclass
from hew.model.metric import Kind, Metric

Subject = TypeVar("Subject")
Number = int | float | None


@dataclass(frozen=True)
class Row(Generic[Subject]):
    """A metric and its values for one subject: one, or one for each value of `label`. None: it is not known."""

    metric: Metric
    values: Callable[[Subject], Number] | dict[str, Callable[[Subject], Number]]
    label: str = ""


def gauge(name: str, unit: str, about: str, where: str) -> Metric:
    """What goes up and down."""
    return Metric(name, Kind.GAUGE, unit, about, where)


def counter(name: str, unit: str, about: str, where: str) -> Metric:
    """What only grows while its process lives."""
    return Metric(name, Kind.COUNTER, unit, about, where)


def scaled(value: Number, factor: float) -> Number:
    """A value in another unit; unknown stays unknown."""
    return None if value is None else value * factor


def decay_seconds(milliseconds: int | None) -> float | None:
    """A decay time; -1 stands for never."""
    if milliseconds is None:
        return None
    return float("inf") if milliseconds < 0 else milliseconds / 1000
