# SPDX-License-Identifier: MIT
"""Where glibc's malloc has its figures, for pointers of 64 bits, glibc 2.30 to 2.41.

struct malloc_state (an arena) has been the same in all of them; free lists hold mangled pointers from 2.32 on, and
struct malloc_par begins with settings of huge pages from 2.35 on. Checked against malloc_info(3) on 2.31, 2.36, 2.41.
"""

import re
from dataclasses import dataclass

OLDEST, NEWEST = (2, 30), (2, 41)
FASTBINS = 16  # of an arena: ten lists
FASTBIN_COUNT = 10
TOP = 96
BINS = 112  # from bin 1 on, 127 of them, two words each
BIN_COUNT = 127
NEXT = 2160
THREADS = 2176
SYSTEM = 2184
LARGEST_SYSTEM = 2192
ARENA_BYTES = 2200
FIRST_CHUNK = 2208  # of an arena that is not the main one, behind it
FIRST_LARGE_BIN = 64
UNSORTED = 1
LEAST_CHUNK = 32
CHUNK_HEAD = 48  # sizeof(struct malloc_chunk): what malloc_trim leaves at the start of a free chunk
SIZE_BITS = 7
PREVIOUS_IN_USE = 1
TCACHE_CHUNK = 0x290
TCACHE_BINS = 64
TCACHE_DEFAULTS = (TCACHE_BINS, 1032, 7, 0)  # how struct malloc_par ends, unless tunables change it
VERSION = re.compile(r"(\d+)\.(\d+)")


MAPPED_WORD = -3  # before those: bytes mapped, the most that ever were, where the heap begins


@dataclass(frozen=True)
class Layout:
    """What differs."""

    mangled: bool


def layout_of(version: str) -> Layout | None:
    """The layout of a version; None for one that nobody has looked at."""
    found = VERSION.match(version)
    numbers = (int(found[1]), int(found[2])) if found else (0, 0)
    return Layout(mangled=numbers >= (2, 32)) if OLDEST <= numbers <= NEWEST else None


def bin_header(arena: int, number: int) -> int:
    """The address of a bin, taken for a chunk: its links stand where a chunk's would."""
    return arena + BINS + 16 * (number - 1) - 16
