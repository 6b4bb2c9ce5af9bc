# SPDX-License-Identifier: MIT
"""glibc's heap as it lies in a process's memory. Sizes are in bytes."""

from dataclasses import dataclass


@dataclass(frozen=True)
class FreeMemory:
    """The free memory of an arena.

    `whole_pages` is the part of `free` that fills whole pages, which malloc_trim(3) returns; `resident` of these bytes
    are in memory. `top` is the part of `free` behind the last object. `complete` is False when there were too many
    small chunks to read in time; the true value is then at least `free`.
    """

    free: int
    top: int
    fast: int
    whole_pages: int
    resident: int
    chunks: int
    complete: bool


@dataclass(frozen=True)
class HeapArena:
    """One arena. `system` is what it has from the system, used or not; the main one lies in [heap]."""

    address: int
    main: bool
    system: int
    threads: int
    unused: FreeMemory

    @property
    def scattered(self) -> int:
        """Free memory in pages that hold something else, too."""
        return self.unused.free - self.unused.whole_pages


@dataclass(frozen=True)
class GlibcHeap:
    """All arenas. `mapped`: chunks with a mapping of their own, None where that was not found. `cached`: what is in the
    `caches` of threads (tcache) that were found. `moving`: the process allocated while it was read."""

    version: str
    arenas: tuple[HeapArena, ...]
    mapped: int | None
    cached: int
    caches: int
    moving: bool
    taken: str

    @property
    def system(self) -> int:
        """Bytes from the system, in all arenas."""
        return sum(one.system for one in self.arenas)

    @property
    def free(self) -> int:
        """Free bytes in all arenas."""
        return sum(one.unused.free for one in self.arenas)

    @property
    def trimmable(self) -> int:
        """Resident bytes that malloc_trim(0) would return."""
        return sum(one.unused.resident for one in self.arenas)

    @property
    def scattered(self) -> int:
        """Free bytes in pages that hold something else, too."""
        return sum(one.scattered for one in self.arenas)

    @property
    def complete(self) -> bool:
        """Whether every free chunk was seen."""
        return all(one.unused.complete for one in self.arenas)
