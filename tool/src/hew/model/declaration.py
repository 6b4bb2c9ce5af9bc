# SPDX-License-Identifier: MIT
"""Sizes that a program was seen to use, and the pools proposed for them."""

from enum import StrEnum

from hew.model.lazy_dataclass import dataclass


class Counted(StrEnum):
    """What a count was taken from."""

    LIVE = "live"  # most objects in use in any report
    EVER = "ever"  # capacity of all slabs ever made, or all requests: an upper bound of the objects in use


@dataclass(frozen=True)
class SeenSize:
    """One size, or one size class, of a program. Counts are estimates where the source is a sample."""

    size: int  # bytes: the class's size, or the largest request that was seen of it
    live: int  # objects in use, the most of all reports
    ever: int  # no more can have been in use at once
    requests: int


@dataclass(frozen=True)
class Seen:
    """All that a source tells."""

    source: str
    sizes: tuple[SeenSize, ...]
    larger_requests: int = 0  # larger than any size of a slab
    exact: bool = False  # sizes are requests as the program made them, not classes
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class DeclaredSize:
    """A pool to make, and why."""

    size: int
    count: int
    live: int
    requests: int  # of all sizes that land here

    @property
    def bytes(self) -> int:
        """What the fixed group takes."""
        return self.size * self.count


@dataclass(frozen=True)
class Declaration:
    """The proposal; `served` of `requests` are for one of its sizes."""

    source: str
    counted: Counted
    sizes: tuple[DeclaredSize, ...]
    requests: int
    served: int
    notes: tuple[str, ...] = ()

    @property
    def bytes(self) -> int:
        """What all fixed groups take."""
        return sum(one.bytes for one in self.sizes)

    @property
    def setting(self) -> str:
        """The declaration as a setting: the words for MALLOC_CONF."""
        return "pools:" + "|".join(f"{one.size}-{one.count}" for one in self.sizes)
