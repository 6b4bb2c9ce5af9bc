# SPDX-License-Identifier: MIT
"""A search for settings: the space, the goals, the candidates that were tried, and the result."""

from collections.abc import Mapping
from dataclasses import field
from enum import Enum, auto

from hew.model.advice import MALLOC_CONF, Setting
from hew.model.allocator import Allocator
from hew.model.figures import Figure
from hew.model.lazy_dataclass import dataclass
from hew.model.verification import Verification

NEVER = 1e9  # the cost of what should be more and is nothing


@dataclass(frozen=True)
class Parameter:
    """A setting and the values to try besides leaving it alone."""

    name: str
    values: tuple[str, ...]
    variable: str = MALLOC_CONF


@dataclass(frozen=True)
class Choice:
    """An allocator that a search may choose, and the settings that it may change."""

    allocator: Allocator
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True)
class Candidate:
    """One way to run the command: an allocator and its settings, in the order of the space."""

    allocator: str
    settings: tuple[Setting, ...] = ()

    @property
    def label(self) -> str:
        """`hew dirty_decay_ms:0,narenas:1`."""
        return " ".join(filter(None, (self.allocator, ",".join(one.text for one in self.settings))))


@dataclass(frozen=True)
class Goal:
    """A figure to be made better, and the name by which the user asks for it."""

    name: str
    figure: Figure

    def cost(self, ratio: float) -> float:
        """The ratio to the base, turned so that less is better."""
        if not self.figure.more_is_better:
            return ratio
        return 1 / ratio if ratio > 0 else NEVER


@dataclass(frozen=True)
class Limit:
    """What a ratio to the base must not exceed, or fall below."""

    goal: Goal
    ratio: float
    at_most: bool

    @property
    def text(self) -> str:
        """As it is written on the command line."""
        return f"{self.goal.name}{'<=' if self.at_most else '>='}{self.ratio:g}"

    def excess(self, ratios: Mapping[str, float]) -> float:
        """By how much it is broken; 0 or less when it holds. What was not measured breaks it."""
        value = ratios.get(self.goal.figure.key)
        if value is None:
            return 1.0
        return value - self.ratio if self.at_most else self.ratio - value


@dataclass(frozen=True)
class Tried:
    """What came of one candidate: ratios to the base by figure, medians over `rounds` rounds; none when it failed."""

    candidate: Candidate
    ratios: Mapping[str, float] = field(default_factory=dict)
    rounds: int = 0
    failure: str | None = None


@dataclass(frozen=True)
class Wanted:
    """What the search is for."""

    goals: tuple[Goal, ...]
    limits: tuple[Limit, ...] = ()

    @property
    def watched(self) -> tuple[Goal, ...]:
        """The goals, and what has a limit."""
        return (*self.goals, *(one.goal for one in self.limits))

    def costs(self, ratios: Mapping[str, float]) -> tuple[float, ...]:
        """One for each goal, less is better; what was not measured counts as no change."""
        return tuple(one.cost(ratios.get(one.figure.key, 1.0)) for one in self.goals)

    def allows(self, ratios: Mapping[str, float]) -> bool:
        """Whether every limit holds."""
        return all(one.excess(ratios) <= 0 for one in self.limits)


class Proof(Enum):
    """What fresh runs say of the pick."""

    CONFIRMED = auto()
    REFUTED = auto()
    TOO_FEW = auto()  # they cannot say


@dataclass(frozen=True)
class SearchResult:
    """All of it. `final` are fresh runs of the base and of what was picked, of which the search knew nothing."""

    command: tuple[str, ...]
    server: tuple[str, ...] | None
    base: Candidate
    wanted: Wanted
    tried: tuple[Tried, ...]
    front: tuple[Tried, ...]
    final: Verification | None
    recommended: Candidate | None
    verdict: str
    interrupted: bool
    notes: tuple[str, ...] = ()
