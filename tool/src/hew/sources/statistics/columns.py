# SPDX-License-Identifier: MIT
"""The values of a table's line, also where a number fills or overflows its column and touches its neighbour.

jemalloc's printf aligns each value right in its column. A value longer than its column moves the rest of the line. All
readings of a line that could have produced it are tried. A count's rate per second, which follows from the count,
excludes nearly all of them. If two are left, the values in which they differ are unknown, and their names are returned.
A value is never a part of a number.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from hew.model.lazy_dataclass import dataclass

RATE = "(#/sec)"
SECOND = 1_000_000_000
NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")
SHARES = {"util"}  # the columns with decimals
MOST_READINGS = 64  # of one line; a line with more is as good as unreadable
MOST_STEPS = 20_000


@dataclass(frozen=True)
class Row:
    """A line's values, one for each name of the header; None where more than one reading is possible."""

    values: tuple[str | None, ...]

    def doubtful(self, names: Sequence[str]) -> list[str]:
        """The names of the values that could not be told."""
        return [name for name, value in zip(names, self.values, strict=True) if value is None and name != RATE]


def values_of(line: str, header: str, label: str, uptime: int) -> Row | None:
    """One value for each name of the header, after the line's label; None when the line is no row of the table.

    `header` has blanks in place of the table's name, so that positions agree. `uptime` is in ns; 0: not known."""
    values, names = line[len(label) :].split(), header.split()
    if not all(NUMBER.fullmatch(one) for one in values) or len(values) > len(names):
        return None
    if len(values) == len(names):
        return Row(tuple(values))
    readings = list(islice(_Line(line.rstrip(), header, len(label), uptime).readings(), MOST_READINGS))
    if not readings or len(readings) == MOST_READINGS:
        return None
    return Row(tuple(column[0] if len(set(column)) == 1 else None for column in zip(*readings, strict=True)))


class _Line:
    """All ways to read one line."""

    def __init__(self, line: str, header: str, start: int, uptime: int) -> None:
        self._line, self._start = line, start
        self._seconds = max(uptime // SECOND, 1) if uptime else None
        columns = list(re.finditer(r"\S+", header))
        self._names = [one[0] for one in columns]
        ends = [one.end() for one in columns]
        self._widths = [end - begin for begin, end in zip([start, *ends], ends, strict=False)]
        self._steps = 0

    def readings(self) -> Iterator[tuple[str, ...]]:
        """Each as one value a column."""
        return self._from(0, self._start, ())

    def _from(self, at: int, begin: int, read: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        self._steps += 1
        if self._steps > MOST_STEPS:
            return
        if at == len(self._widths):
            if begin == len(self._line):
                yield read
            return
        for end in self._ends(at, begin):
            value = self._line[begin:end].lstrip(" ")
            if self._fits(at, value, read):
                yield from self._from(at + 1, end, (*read, value))

    def _ends(self, at: int, begin: int) -> Iterator[int]:
        """Where the value can end: with its column, or, when it fills all of that, with any digit behind."""
        end = begin + self._widths[at]
        if end > len(self._line):
            return
        yield end
        # A label's column may have had blanks behind the label, so the first value has less room than it seems.
        if at == 0 or self._line[begin] != " ":
            while end < len(self._line) and self._line[end] != " ":
                end += 1
                yield end

    def _fits(self, at: int, value: str, read: tuple[str, ...]) -> bool:
        if not (NUMBER.fullmatch(value) if self._names[at] in SHARES else value.isdecimal()):
            return False
        if len(value) > 1 and value[0] == "0" and "." not in value:
            return False
        if self._names[at] != RATE or self._seconds is None or not at:
            return True
        return int(value) == int(read[-1]) // self._seconds
