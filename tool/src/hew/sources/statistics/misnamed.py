# SPDX-License-Identifier: MIT
"""Whether a JSON report has its locks' counters under wrong names, as jemalloc 5.2.0 to 5.3.0 write them.

There `num_wait` holds the operations per second, `num_spin_acq` the waits, `num_owner_switch` the waits per second,
`total_wait_time` the spins and `max_wait_time` the spins per second; the owner's switches and the times are not in it.
The report itself shows it: `num_wait` is then `num_ops` divided by the seconds of uptime, in every lock. The version
decides only where that tells nothing (no operations, or less than one a second), since builds between two releases and
patched ones exist.
"""

import re
from collections.abc import Iterable, Mapping

from hew.sources.statistics.fields import number, table

SECOND = 1_000_000_000
NOTE = (
    "the locks' counters stand under wrong names in this report (a defect of jemalloc 5.2.0 to 5.3.0's JSON): "
    "waits and spins were put right; owner switches and times of waiting are not reported (the text report has them)"
)


def misnamed(version: str | None, arenas: Iterable[Mapping[str, object]]) -> bool:
    """The verdict for one report, from its version and its arenas' objects."""
    agrees = False
    for arena in arenas:
        uptime = number(arena.get("uptime_ns")) or 0
        for lock in table(arena.get("mutexes")).values():
            expected = _per_second(number(table(lock).get("num_ops")) or 0, uptime)
            if expected and number(table(lock).get("num_wait")) != expected:
                return False
            agrees = agrees or expected > 0
    return agrees or _affected(version)


def _per_second(count: int, uptime: int) -> int:
    """As jemalloc rounds: an uptime below a second counts as one."""
    if not count or not uptime:
        return 0
    return count if uptime < SECOND else count // (uptime // SECOND)


def _affected(version: str | None) -> bool:
    numbers = re.match(r"(\d+)\.(\d+)\.(\d+)", version or "")
    return numbers is not None and (5, 2, 0) <= tuple(map(int, numbers.groups())) <= (5, 3, 0)
