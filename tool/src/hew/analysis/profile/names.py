# SPDX-License-Identifier: MIT
"""Stacks of names: without the frames of the allocator, and those that the reader asks for."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from hew.model.lazy_dataclass import dataclass
from hew.model.profile import Frame, Location, Profile, Sample, Values

# Entry points of allocators: the frames below are the allocator's own, not its caller's.
ENTRY = re.compile(
    r"(__libc_|__GI___libc_|_?[a-z]{0,8}je_|hew_)?"
    r"(malloc|calloc|realloc|reallocarray|memalign|aligned_alloc|posix_memalign|valloc|pvalloc|strdup|strndup|mallocx|"
    r"rallocx|xallocx|prof_backtrace|prof_tctx_create|request|allocate)"
    r"|operator new(\[\])?(\(.*)?|__rust_alloc\w*|__rust_realloc|__rdl_\w+|__rg_\w+"
    r"|alloc::alloc::(alloc|alloc_zeroed|realloc|exchange_malloc|Global::\w+)"
    r"|<alloc::alloc::Global as core::alloc::Allocator>::\w+"
    r"|<\w+ as core::alloc::global::GlobalAlloc>::\w+"
)
NEAR = 24  # frames from the innermost one among which entry points are looked for
Names = tuple[str, ...]


@dataclass(frozen=True)
class Wanted:
    """Which stacks, and how finely."""

    by_line: bool = False
    focus: re.Pattern[str] | None = None
    ignore: re.Pattern[str] | None = None


def selected(profile: Profile, wanted: Wanted) -> Profile:
    """The profile with the stacks that are wanted, without the allocator's own frames."""
    callers = _Callers(profile.locations)
    found = []
    for sample in profile.samples:
        stack = callers.of(sample.stack)
        texts = [frame.place for place in stack for frame in callers.locations[place].frames]
        if _has(texts, wanted.focus, True) and not _has(texts, wanted.ignore, False):
            found.append(Sample(stack, sample.values))
    return replace(profile, samples=tuple(found), locations=tuple(callers.locations))


def _has(texts: Sequence[str], pattern: re.Pattern[str] | None, otherwise: bool) -> bool:
    return otherwise if pattern is None else any(map(pattern.search, texts))


class _Callers:
    """Removes the allocator's own frames from stacks. A place where an entry point was inlined gets a second location,
    without it."""

    def __init__(self, locations: Sequence[Location]) -> None:
        self.locations = list(locations)
        self._entries = [_inlined_up_to(location.frames) for location in locations]
        self._cut: dict[int, int] = {}

    def of(self, stack: Sequence[int]) -> Sequence[int]:
        """The stack from the caller of the allocator on; all of it where nothing would be left."""
        last = max((at for at, place in enumerate(stack[:NEAR]) if self._entries[place]), default=None)
        if last is None:
            return stack
        place = stack[last]
        if self._entries[place] < len(self.locations[place].frames):
            return [self._without(place), *stack[last + 1 :]]
        return stack[last + 1 :] or stack

    def _without(self, place: int) -> int:
        if place not in self._cut:
            self._cut[place] = len(self.locations)
            one = self.locations[place]
            self.locations.append(replace(one, frames=one.frames[self._entries[place] :]))
        return self._cut[place]


def _inlined_up_to(frames: Sequence[Frame]) -> int:
    """How many frames of a place, from the innermost on, are the allocator's."""
    return max((number for number, frame in enumerate(frames, 1) if ENTRY.fullmatch(frame.name)), default=0)


def named(profile: Profile, by_line: bool) -> Iterator[tuple[Names, Values]]:
    """Each sample's stack of names, the innermost first."""
    texts = [tuple(one.place if by_line else one.name for one in location.frames) for location in profile.locations]
    for sample in profile.samples:
        yield tuple(name for one in sample.stack for name in texts[one]), sample.values
