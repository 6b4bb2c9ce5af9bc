# SPDX-License-Identifier: MIT
"""What a swap of a process's allocator is: which functions change, and what came of it."""

from hew.model.lazy_dataclass import dataclass

# In this order: frees must understand both allocators' objects before any request is served by hew.
FREES = (
    *("free", "cfree", "free_sized", "free_aligned_sized", "dallocx", "sdallocx"),
    *("_ZdlPv", "_ZdaPv", "_ZdlPvm", "_ZdaPvm", "_ZdlPvRKSt9nothrow_t", "_ZdaPvRKSt9nothrow_t"),
    *("_ZdlPvSt11align_val_t", "_ZdaPvSt11align_val_t", "_ZdlPvmSt11align_val_t", "_ZdaPvmSt11align_val_t"),
    *("_ZdlPvSt11align_val_tRKSt9nothrow_t", "_ZdaPvSt11align_val_tRKSt9nothrow_t"),
)
QUERIES = ("malloc_usable_size", "sallocx", "xallocx", "rallocx")
REALLOC = "realloc"
REQUESTS = (
    *("malloc", "calloc", "posix_memalign", "memalign", "aligned_alloc", "valloc", "pvalloc"),
    *("_Znwm", "_Znam", "_ZnwmRKSt9nothrow_t", "_ZnamRKSt9nothrow_t", "_ZnwmSt11align_val_t"),
    *("_ZnamSt11align_val_t", "_ZnwmSt11align_val_tRKSt9nothrow_t", "_ZnamSt11align_val_tRKSt9nothrow_t"),
)
NEEDED = ("free", "malloc", "calloc", REALLOC, "malloc_usable_size")


@dataclass(frozen=True)
class Swapped:
    """What was done to a process. Seconds: `stop` of all its threads, in the last of some `tries`; `load` of the thread
    that loaded the library, while the others ran."""

    pid: int
    old: str  # the allocator before, with its version
    functions: int
    stop: float
    tries: int
    loaded: bool  # whether the library was loaded for this
    load: float = 0.0
    kept: tuple[str, ...] = ()  # copies of allocators under names of their own, which go on as before


@dataclass(frozen=True)
class Drained:
    """What a trim returned, in bytes; how many objects of the old allocator have been freed since the swap."""

    pid: int
    before: int
    after: int
    frees: int
    resizes: int


@dataclass(frozen=True)
class Counted:
    """How many requests each allocator of a process got in some seconds: first the one that hew would replace, then
    copies under names of their own. None: its functions could not be counted."""

    pid: int
    seconds: float
    requests: tuple[tuple[str, int | None], ...]
