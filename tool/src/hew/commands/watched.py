# SPDX-License-Identifier: MIT
"""A process that a page of `hew serve` shows."""

from collections import deque
from dataclasses import field

from hew.model.advice import Advice
from hew.model.lazy_dataclass import dataclass
from hew.model.live import Moment
from hew.model.serving import Point, Seen

POINTS = 1800  # of a process's history: half an hour


@dataclass
class Watched:
    """The samples of one process. `born` distinguishes it from a later process with the same id."""

    born: int | None
    points: deque[Point] = field(default_factory=lambda: deque(maxlen=POINTS))
    last: Moment | None = None
    seen: Seen | None = None
    ended: str = ""
    advice: dict[str, Advice] = field(default_factory=dict)
