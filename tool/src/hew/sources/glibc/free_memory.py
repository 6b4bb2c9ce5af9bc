# SPDX-License-Identifier: MIT
"""Measures the free memory of an arena: walks its free lists, as malloc_trim(3) and mallinfo2(3) do in the process.

The process runs meanwhile. Each list is checked during the walk (links that point back, sizes that fit their bin and
the chunk behind). An inconsistent list is read again, a few times.
"""

import time
from collections.abc import Iterator

from hew.model.glibc_heap import FreeMemory
from hew.sources.glibc import layout
from hew.sources.glibc.memory import PAGE, ChangedError, ProcessMemory

TRIES = 6
Chunk = tuple[int, int]


class Walk:
    """One look at one arena. `until` is when small chunks are no longer counted."""

    def __init__(self, memory: ProcessMemory, arena: int, at: layout.Arena, mangled: bool, until: float) -> None:
        self._memory = memory
        self._arena = arena
        self._at = at
        self._mangled = mangled
        self._until = until
        self._system = 0  # what the arena has: no list can hold more

    def unused(self, main: bool) -> FreeMemory:
        """The sums. What is large comes first: small chunks hold no whole page, and there may be millions."""
        self._system = self._memory.words(self._arena + self._at.system, 1)[0]
        top, top_size = self._top()
        large = [chunk for number in self._bins(large=True) for chunk in self._held(number)]
        pages = [one for one in map(_whole_pages, large) if one[0] < one[1]]
        if main and top_size:
            pages += [_top_pages(top, top_size)]
        free, chunks, complete = top_size + sum(size for _, size in large), len(large), True
        fast = 0
        for size, count in self._fast():
            fast += size * count
            chunks += count
        for number in self._bins(large=False):
            if time.monotonic() > self._until:
                complete = False
                break
            small = self._held(number)
            chunks += len(small)
            free += sum(size for _, size in small)
        whole = sum(end - start for start, end in pages)
        return FreeMemory(free + fast, top_size, fast, whole, self._memory.resident(pages), chunks, complete)

    def _bins(self, large: bool) -> Iterator[int]:
        if large:
            yield layout.UNSORTED
            yield from range(layout.FIRST_LARGE_BIN, layout.BIN_COUNT)
        else:
            yield from range(layout.UNSORTED + 1, layout.FIRST_LARGE_BIN)

    def _top(self) -> Chunk:
        """The chunk behind the last object; of size 0 when the arena has had no request."""
        top = self._memory.words(self._arena + self._at.top, 1)[0]
        if top == self._at.bin_header(self._arena, layout.UNSORTED):
            return top, 0
        size = self._memory.words(top + 8, 1)[0] & ~layout.SIZE_BITS
        if top % 16 or not self._memory.holds(top, size):
            raise ChangedError("its top chunk does not lie in its heap")
        return top, size

    def _held(self, number: int) -> list[Chunk]:
        """The chunks of a bin; some tries."""
        for last in range(TRIES):
            try:
                return list(self._linked(number))
            except ChangedError:
                if last == TRIES - 1:
                    raise
                self._memory.forget()
        return []

    def _linked(self, number: int) -> Iterator[Chunk]:
        """A list that is linked both ways."""
        head = self._at.bin_header(self._arena, number)
        before, chunk = head, self._memory.words(head + 16, 1)[0]
        exact = 16 * number if layout.UNSORTED < number < layout.FIRST_LARGE_BIN else 0
        header, holds = self._memory.header, self._memory.holds
        left = self._system
        while chunk != head:
            if chunk % 16 or not holds(chunk, layout.LEAST_CHUNK):
                raise ChangedError("a free chunk lies outside the heap")
            _, marked, following, back = header(chunk)
            size = marked & ~layout.SIZE_BITS
            if back != before or size < layout.LEAST_CHUNK or size % 16 or (exact and size != exact):
                raise ChangedError("a free list is not linked back")
            if size >= PAGE:
                self._check_end(chunk, size)
            left -= size
            if left < 0:
                raise ChangedError("a free list has no end")
            yield chunk, size
            before, chunk = chunk, following

    def _check_end(self, chunk: int, size: int) -> None:
        """The chunk behind a free one says so, and how long that is."""
        if not self._memory.holds(chunk, size + 16):
            raise ChangedError("a free chunk ends outside the heap")
        length, marked = self._memory.pair(chunk + size)
        if length != size or marked & layout.PREVIOUS_IN_USE:
            raise ChangedError("a free chunk is followed by one that does not know")

    def _fast(self) -> Iterator[Chunk]:
        """Size and number of the chunks in each fast list."""
        for number in range(layout.FASTBIN_COUNT if self._at.fastbins is not None else 0):
            for last in range(TRIES):
                try:
                    yield layout.LEAST_CHUNK + 16 * number, self._fast_count(number)
                    break
                except ChangedError:
                    if last == TRIES - 1:
                        raise
                    self._memory.forget()

    def _fast_count(self, number: int) -> int:
        size = layout.LEAST_CHUNK + 16 * number
        chunk = self._memory.words(self._arena + (self._at.fastbins or 0) + 8 * number, 1)[0]
        count = 0
        while chunk:
            if chunk % 16 or not self._memory.holds(chunk, size) or count * size > self._system:
                raise ChangedError("a fast list leads outside the heap")
            _, marked, link, _ = self._memory.header(chunk)
            if marked & ~layout.SIZE_BITS != size:
                raise ChangedError("a fast list holds another size")
            chunk = link ^ ((chunk + 16) >> 12) if self._mangled else link
            count += 1
        return count


def _whole_pages(chunk: Chunk) -> tuple[int, int]:
    """The pages that malloc_trim returns of a free chunk: (start, end), empty when there are none."""
    address, size = chunk
    if size < PAGE + layout.CHUNK_HEAD:
        return 0, 0
    start = -(-(address + layout.CHUNK_HEAD) // PAGE) * PAGE
    return start, max(start + (address + size - start) // PAGE * PAGE, start)


def _top_pages(top: int, size: int) -> tuple[int, int]:
    """Those behind the last object."""
    start = -(-(top + layout.LEAST_CHUNK) // PAGE) * PAGE
    return start, max((top + size) // PAGE * PAGE, start)
