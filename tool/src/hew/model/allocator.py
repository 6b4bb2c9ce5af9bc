# SPDX-License-Identifier: MIT
"""The allocators that a comparison knows of, found or not."""

from pathlib import Path

from hew.model.lazy_dataclass import dataclass

BASELINE = "glibc"


@dataclass(frozen=True)
class Allocator:
    """An allocator that a program can be put under; without a library it is what the program has by itself."""

    name: str
    library: Path | None = None

    @property
    def is_baseline(self) -> bool:
        """Everything else is compared with this one."""
        return self.name == BASELINE


@dataclass(frozen=True)
class Unusable:
    """An allocator that cannot take part, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class Request:
    """One `--alloc NAME[=PATH]` as the user wrote it."""

    name: str
    path: Path | None = None
