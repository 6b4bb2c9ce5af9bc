# SPDX-License-Identifier: MIT
"""Samples each process that a page shows once a second. A process that hangs delays only its own samples."""

import threading
import time
from collections.abc import Callable

EVERY = 1.0  # seconds
PATIENCE = 5.0  # seconds from the last request for a process to its last sample: a page asks each second
MOST = 16  # processes at a time; the one that was asked for longest ago gives way


class Rounds:
    """Threads that sample processes. `look` returns whether there is more to sample."""

    def __init__(self, look: Callable[[int], bool], every: float = EVERY, patience: float = PATIENCE) -> None:
        self._look, self._every, self._patience = look, every, patience
        self._lock = threading.Lock()
        self._wanted: dict[int, float] = {}  # under the lock: when it was asked for; the keys have a thread each

    def want(self, pid: int) -> None:
        """Look at this one for a while from now on."""
        with self._lock:
            runs = pid in self._wanted
            self._wanted[pid] = time.monotonic()
            if runs:
                return
            if len(self._wanted) > MOST:
                oldest = min(self._wanted, key=self._wanted.__getitem__)
                self._wanted[oldest] = float("-inf")
        threading.Thread(target=self._work, args=(pid,), name=f"looks {pid}", daemon=True).start()

    def watched(self) -> frozenset[int]:
        """Which processes are looked at."""
        with self._lock:
            return frozenset(self._wanted)

    def _work(self, pid: int) -> None:
        while True:
            begun = time.monotonic()
            more = self._look(pid)
            with self._lock:
                asked = self._wanted[pid]
                # A request during the last sample of a process may mean a new process with the same id.
                if (not more and asked < begun) or time.monotonic() - asked > self._patience:
                    del self._wanted[pid]
                    return
            time.sleep(max(begun + self._every - time.monotonic(), 0))
