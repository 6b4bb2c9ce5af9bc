# SPDX-License-Identifier: MIT
"""A curve that programs measure by themselves: value over place, a line for each allocator, both axes logarithmic."""

import math
from collections.abc import Mapping, Sequence

from hew.model.bench import CurvePoint
from hew.model.figures import Unit
from hew.model.quantity import quantity
from hew.views.svg import element, line, picture, spread, text, title

WIDTH, HEIGHT = 980.0, 340.0
LEFT, RIGHT, TOP, BOTTOM = 66.0, 130.0, 12.0, 34.0
LABEL_GAP = 15.0
FLOOR = HEIGHT - BOTTOM


class Axis:
    """A logarithmic axis from `low` to `high` on the picture's `start` to `end`."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        self.low, self.high = min(values), max(values) * 1.0001
        self._start, self._span = start, end - start

    def place(self, value: float) -> float:
        """Where a value is drawn."""
        return self._start + self._span * math.log(value / self.low) / math.log(self.high / self.low)

    def marks(self, base: int, most: int) -> list[float]:
        """Powers of `base` within the axis, at most about `most` of them."""
        first = math.ceil(math.log(self.low, base) - 1e-9)
        last = math.floor(math.log(self.high, base) + 1e-9)
        step = max(1, math.ceil((last - first + 1) / most))
        return [float(base) ** power for power in range(first, last + 1, step)]


def place_label(value: float) -> str:
    """A size, a number of threads or a phase, in a few characters."""
    for step, name in ((2**30, "G"), (2**20, "M"), (2**10, "K")):
        if value >= step and value % step == 0:
            return f"{value / step:g}{name}"
    return f"{value:g}"


def value_label(value: float, unit: str) -> str:
    """A value of a curve with its unit."""
    match unit:
        case "ns":
            return quantity(value * 1e-9, Unit.SECONDS) if value >= 1000 else f"{value:.3g} ns"
        case "rss_kib":
            return quantity(value * 1024, Unit.BYTES)
        case _:
            return f"{value:.3g}"


def curve_lines(points: Sequence[CurvePoint], colors: Mapping[str, str]) -> str | None:
    """The picture of one series; None when it has no line."""
    drawn = [point for point in points if point.at > 0 and any(value > 0 for value in point.medians.values())]
    places = [point.at for point in drawn]
    if len(set(places)) < 2:
        return None
    unit = drawn[0].unit
    values = [value for point in drawn for value in point.medians.values() if value > 0]
    across, up = Axis(places, LEFT, WIDTH - RIGHT), Axis([*values, max(values) * 1.2], FLOOR, TOP)
    parts = []
    for mark in up.marks(2 if unit == "rss_kib" or up.high < 100 * up.low else 10, 8):
        y = up.place(mark)
        parts += [
            line(LEFT, y, WIDTH - RIGHT, y, "grid"),
            text(value_label(mark, unit), LEFT - 8, y + 4, text_anchor="end"),
        ]
    for mark in across.marks(2, 14):
        parts.append(text(place_label(mark), across.place(mark), FLOOR + 20, text_anchor="middle"))
    names = sorted({name for point in drawn for name in point.medians}, key=lambda name: (name == "hew", name))
    ends = []
    for name in names:
        mine = [(point.at, point.medians[name]) for point in drawn if point.medians.get(name, 0) > 0]
        path = " ".join(f"{across.place(at):.1f},{up.place(value):.1f}" for at, value in sorted(mine))
        worst = max(value for _, value in mine)
        said = title(f"{name}: at most {value_label(worst, unit)}")
        parts.append(element("polyline", said, points=path, class_="trace", stroke=f"var({colors[name]})"))
        ends.append(up.place(max(mine)[1]))
    for name, y in zip(names, spread(ends, LABEL_GAP, TOP + 4, FLOOR), strict=True):
        style = f"fill:var({colors[name]});font-weight:600"
        parts.append(text(name, WIDTH - RIGHT + 10, y + 4.5, class_="name", style=style))
    return picture(WIDTH, HEIGHT, drawn[0].series, parts)
