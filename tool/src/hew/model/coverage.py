# SPDX-License-Identifier: MIT
"""The basis of advice: the number of rules, how much of the process they saw, and what they could not see."""

from enum import StrEnum

from hew.model.glibc_heap import GlibcHeap
from hew.model.lazy_dataclass import dataclass

# Below this a process counts as seen only in part: "well" would also cover the unseen rest.
ENOUGH = 0.75
LITTLE = 32 << 20  # bytes: less than this unseen is never too much


class Outcome(StrEnum):
    """What came of it. A status of the command each."""

    WELL = "well"
    ADVICE = "advice"
    NOT_SEEN = "not seen"


@dataclass(frozen=True)
class Unseen:
    """Something that could not be read: why, and what would show it."""

    what: str
    why: str
    next: str


@dataclass(frozen=True)
class Slack:
    """Internal fragmentation: bytes of objects beyond their requested sizes. `known`: bytes in size classes whose
    requested sizes are known from samples."""

    subject: str
    unused: int
    known: int


@dataclass(frozen=True)
class Coverage:
    """`read`: the names of what was read, maybe none. `resident`: resident bytes of the process; `outside`: those in no
    report, heap or file. Both are None if only a report was given. `slack`: internal fragmentation where it is known.
    `blind`: parts of the input that no rule could judge."""

    rules: int
    spoke: int
    read: tuple[str, ...]
    resident: int | None = None
    outside: int | None = None
    unseen: tuple[Unseen, ...] = ()
    heap: GlibcHeap | None = None
    slack: tuple[Slack, ...] = ()
    blind: tuple[Unseen, ...] = ()

    @property
    def share(self) -> float | None:
        """Of resident memory, what was seen."""
        if not self.resident or self.outside is None:
            return None
        return 1 - self.outside / self.resident

    @property
    def outcome(self) -> Outcome:
        """Advice wins: where something is to be changed, the rest can wait."""
        if self.spoke:
            return Outcome.ADVICE
        much = self.outside is not None and self.outside >= LITTLE and (self.share or 0) < ENOUGH
        return Outcome.NOT_SEEN if not self.read or not self.rules or much else Outcome.WELL
