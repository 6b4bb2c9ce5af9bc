# SPDX-License-Identifier: MIT
"""Memory over time in the terminal: an area of block characters for each allocator.

All areas share both scales, so a lower one holds less and a shorter one is over sooner. It reads without colour.
"""

from collections.abc import Sequence

from hew.model.figures import Unit
from hew.model.quantity import quantity, size
from hew.model.report import AllocatorResult
from hew.model.run import RssPoint

BLOCKS = " ▁▂▃▄▅▆▇█"
STEPS = len(BLOCKS) - 1
LINES = 2  # of an area
FACTS = 30  # columns behind an area, for its figures
WIDEST = 96  # columns of an area: more tells no more
FEWEST = 3  # readings that make a picture


def memory_rows(results: Sequence[AllocatorResult], width: int) -> list[str]:
    """The lines to print, or none where too little was read. `width` is the terminal's, in columns."""
    drawn = [one for one in results if len(one.rss) >= FEWEST]
    longest = max((one.rss[-1].seconds for one in drawn), default=0.0)
    if longest <= 0:
        return []
    highest = max(point.bytes for one in drawn for point in one.rss)
    names = max(len(one.allocator.name) for one in drawn) + 4
    columns = max(min(width - names - FACTS, WIDEST), 10)
    rows = []
    for one in drawn:
        heights = _heights(one.rss, longest, columns, highest)
        peak = max(point.bytes for point in one.rss)
        facts = f"{size(peak)}, {quantity(one.rss[-1].seconds, Unit.SECONDS)}"
        for level in reversed(range(LINES)):
            area = "".join(BLOCKS[min(max(height - level * STEPS, 0), STEPS)] for height in heights).ljust(columns)
            name = one.allocator.name if level == 0 else ""
            rows.append(f"  {name:{names - 2}}{area}  {facts if level == 0 else ''}".rstrip())
    return rows


def _heights(points: Sequence[RssPoint], longest: float, columns: int, highest: int) -> list[int]:
    """The height of each column, in eighths of a line; a column holds the most that was read in its time."""
    found = [0] * (min(int(points[-1].seconds / longest * columns), columns - 1) + 1)
    for point in points:
        place = min(int(point.seconds / longest * columns), len(found) - 1)
        found[place] = max(found[place], point.bytes)
    held = 0
    for place, value in enumerate(found):  # between two readings memory is as it was read last
        held = value or held
        found[place] = held
    return [max(1, round(value / highest * LINES * STEPS)) if value else 0 for value in found]
