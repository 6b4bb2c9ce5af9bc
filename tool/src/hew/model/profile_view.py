# SPDX-License-Identifier: MIT
"""What is shown of a heap profile."""

from collections.abc import Sequence
from dataclasses import field
from typing import Any

from hew.model.lazy_dataclass import dataclass
from hew.model.profile import Kind, Profile, Values


@dataclass(frozen=True)
class Row:
    """A function (or one of its lines): what it allocated itself, and what was allocated below it."""

    name: str
    flat: Values
    cum: Values


@dataclass(frozen=True)
class Growth:
    """A stack in an older profile and in a newer one; the innermost name first. `noise` is what chance alone may do to
    the difference, in one case of twenty."""

    stack: tuple[str, ...]
    before: Values
    after: Values
    noise: float = 0

    def change(self, kind: Kind) -> int:
        """From the older to the newer."""
        return self.after[kind] - self.before[kind]


@dataclass(frozen=True)
class Tree:
    """Stacks from the outside in, as rows of nodes: each with its name, its parent's number, and what passes it."""

    names: tuple[str, ...]
    name: Sequence[int]
    parent: Sequence[int]
    values: Sequence[Values]
    before: Sequence[Values]  # of the older profile; empty without one
    left_out: int


@dataclass(frozen=True)
class Shown:
    """Everything for one output. `profile` has the base's samples with a minus where there is a base."""

    profile: Profile
    kind: Kind
    by_line: bool
    base: str = ""
    growth: tuple[Growth, ...] = ()
    about: str = ""  # the run that it is a moment of, in a line
    run: dict[str, Any] = field(default_factory=dict)  # the same for JSON
