# SPDX-License-Identifier: MIT
"""The values of a table's line, also where a number fills or overflows its column and runs into its neighbour."""

import re

RATE = "(#/sec)"
SECOND = 1_000_000_000
NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")


def values_of(line: str, header: str, label: str, uptime: int) -> list[str] | None:
    """One value for each name of the header, behind the line's label; None when the line is no row of the table.

    `header` has blanks where the table's own name stands, so that positions hold. `uptime` is in ns."""
    rest = line[len(label) :]
    values = rest.split()
    names = header.split()
    if not all(NUMBER.fullmatch(one) for one in values):
        return None
    if len(values) != len(names) and len(line.rstrip()) == len(header.rstrip()):
        values = _by_position(line, header, len(label))
    if len(values) != len(names):
        values = _by_rate(values, names, uptime)
    return values if len(values) == len(names) and all(NUMBER.fullmatch(one) for one in values) else None


def _by_position(line: str, header: str, start: int) -> list[str]:
    """Columns are flush right: each ends where its name does."""
    ends = [found.end() for found in re.finditer(r"\S+", header)]
    return [line[begin:end].strip() for begin, end in zip([start, *ends], ends, strict=False)]


def _by_rate(values: list[str], names: list[str], uptime: int) -> list[str]:
    """A count and its rate in one: the rate follows from the count."""
    found: list[str] = []
    for value in values:
        at = len(found)
        cut = _cut(value, uptime) if at + 1 < len(names) and names[at + 1] == RATE else None
        found += cut or [value]
    return found


def _cut(value: str, uptime: int) -> list[str] | None:
    seconds = max(uptime // SECOND, 1)
    for at in range(max(len(value) // 2, 1), len(value) if value.isdecimal() else 0):
        count, rate = value[:at], value[at:]
        if int(count) > 0 and rate == str(int(count) // seconds):
            return [count, rate]
    return None
