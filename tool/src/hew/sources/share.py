# SPDX-License-Identifier: MIT
"""A share of the processor for work that can wait."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

FIRST = 0.5  # seconds of processor time that may be spent at once, at the beginning
PART, MOST = 0.01, 0.04  # of the time that passes, and the seconds of it that are saved up


class Share:
    """Limits work to a fraction of the elapsed time. A piece of work beyond its fraction delays the next one, so the
    fraction holds for pieces of any length. Not thread-safe."""

    def __init__(self, clock: Callable[[], float], spent: Callable[[], float] = time.thread_time) -> None:
        self._clock, self._spent = clock, spent
        self._left, self._at = FIRST, clock()

    def is_there(self) -> bool:
        """Whether a piece may begin now."""
        now = self._clock()
        earned, self._at = (now - self._at) * PART, now
        self._left = max(min(self._left + earned, MOST), self._left)
        return self._left > 0

    def end_of_first(self) -> None:
        """Clear the balance of the start, whether time was left or overspent."""
        self._left = 0.0

    @contextmanager
    def piece(self) -> Iterator[None]:
        """Work that counts, also when it raises."""
        began = self._spent()
        try:
            yield
        finally:
            self._left -= self._spent() - began
