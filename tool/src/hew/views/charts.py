# SPDX-License-Identifier: MIT
"""The two pictures of a comparison: ratios with their intervals, and memory over time."""

from collections.abc import Mapping, Sequence

from hew.model.figures import Figure, Unit
from hew.model.lazy_dataclass import dataclass
from hew.model.quantity import quantity
from hew.model.report import AllocatorResult, Ratio, Verdict
from hew.views.svg import element, line, picture, spread, text, ticks, title
from hew.views.text import interval, judgement, times

CSS_CLASS = {
    Verdict.BETTER: "better",
    Verdict.WORSE: "worse",
    Verdict.NO_DIFFERENCE: "no-difference",
    Verdict.TOO_FEW_RUNS: "too-few-runs",
}

BAR_WIDTH, NAME_WIDTH, VALUE_WIDTH = 480.0, 78.0, 84.0
LETTER_WIDTH = 7.2  # about what a letter of a name takes
ROW, BAR, AXIS = 37.0, 16.0, 24.0
CLIP_ABOVE, CLIP_AT = 3.5, 3.0  # a bar longer than this would squeeze all others: it is cut, and says so

LINE_WIDTH, LINE_HEIGHT = 980.0, 320.0
LEFT, RIGHT, TOP, BOTTOM = 66.0, 130.0, 12.0, 34.0
LABEL_GAP = 16.0


@dataclass(frozen=True)
class Scale:
    """Where bars begin, how long a ratio of 1 is drawn, and the ratio at which bars are cut."""

    left: float
    unit: float
    limit: float

    def x(self, ratio: float) -> float:
        """Where a ratio ends."""
        return self.left + min(ratio, self.limit) * self.unit


def ratio_bars(figure: Figure, results: Sequence[AllocatorResult], colors: Mapping[str, str]) -> str:
    """A bar for each allocator's ratio to glibc, its interval as a whisker, every round as a dot."""
    compared = [result for result in results if figure.key in result.medians]
    ratios = [result.ratios[figure.key] for result in compared if figure.key in result.ratios]
    longest = max([1.0, *(ratio.high for ratio in ratios), *(max(ratio.per_round) for ratio in ratios)])
    limit = CLIP_AT if longest > CLIP_ABOVE else longest * 1.04
    left = max([NAME_WIDTH, *(10 + LETTER_WIDTH * len(result.allocator.name) for result in compared)])
    scale = Scale(left, (BAR_WIDTH - VALUE_WIDTH - left) / limit, limit)
    bottom = ROW * len(compared)
    parts = []
    for tick in ticks(limit, 4, (1, 2.5, 5, 10)):
        x = scale.x(tick)
        parts += [line(x, 0, x, bottom, "grid"), text(f"{tick:g}×", x, bottom + 17, text_anchor="middle")]
    parts += [
        _bar(result, figure, (row + 0.5) * ROW, scale, colors[result.allocator.name])
        for row, result in enumerate(compared)
    ]
    parts.append(line(scale.x(1), 0, scale.x(1), bottom, "one"))
    return picture(BAR_WIDTH, bottom + AXIS, f"{figure.label}, ratio to glibc", parts)


def _bar(result: AllocatorResult, figure: Figure, middle: float, scale: Scale, color: str) -> str:
    ratio = result.ratios.get(figure.key)
    value = ratio.value if ratio else 1.0
    name, median = result.allocator.name, quantity(result.medians[figure.key], figure.unit)
    length = scale.x(value) - scale.left
    parts = [
        text(name, scale.left - 10, middle + 4.5, text_anchor="end", class_="name"),
        element("rect", x=scale.left, y=middle - BAR / 2, width=length, height=BAR, rx=2, fill=f"var({color})"),
    ]
    right = BAR_WIDTH - VALUE_WIDTH + 12
    if ratio is None:
        parts += [text(median, right, middle + 4.5), title(f"{name}: {median}")]
        return element("g", "".join(parts))
    parts += _spread_of(ratio, middle, scale)
    parts += [
        text(times(ratio.value), right, middle - 2.5, class_=f"strong {CSS_CLASS[ratio.verdict]}"),
        text(median, right, middle + 12.5),
        title(f"{name}: {median}, {times(ratio.value)} glibc's ({interval(ratio)}), {judgement(ratio, figure)}"),
    ]
    return element("g", "".join(parts))


def _spread_of(ratio: Ratio, middle: float, scale: Scale) -> list[str]:
    """The rounds as dots, and the whisker; or the mark of a bar that was cut."""
    if ratio.value > scale.limit:
        end = scale.x(scale.limit)
        cut = " ".join(f"M{end - at:g} {middle + BAR / 2 + 2:g} l6 {-BAR - 4:g}" for at in (14, 9))
        return [element("path", d=cut, stroke="var(--card)", stroke_width=2.5, fill="none")]
    dots = [
        element("circle", cx=scale.x(one), cy=middle + (-3.0, 3.0)[number % 2], r=1.8, class_="round")
        for number, one in enumerate(ratio.per_round)
        if one <= scale.limit
    ]
    low, high = scale.x(ratio.low), scale.x(ratio.high)
    begin = f"M{low:.2f} {middle - 5:g} v10 M{low:.2f} {middle:g} H{high:.2f}"
    if ratio.high <= scale.limit:
        return [*dots, element("path", d=f"{begin} M{high:.2f} {middle - 5:g} v10", class_="whisker")]
    arrow = f"M{high - 7:.2f} {middle - 5:g} L{high:.2f} {middle:g} L{high - 7:.2f} {middle + 5:g} Z"
    return [*dots, element("path", d=begin, class_="whisker"), element("path", d=arrow, class_="clipped")]


@dataclass(frozen=True)
class Line:
    """Bytes over something that goes from left to right."""

    name: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Across:
    """What goes from left to right: how much a mark's number is multiplied by, and its unit."""

    scale: float
    unit: str


def memory_lines(results: Sequence[AllocatorResult], colors: Mapping[str, str]) -> str | None:
    """Resident memory over the time of a typical run, a line for each allocator; None when there is no line to draw."""
    lines = [
        Line(one.allocator.name, [(point.seconds, point.bytes) for point in one.rss])
        for one in sorted(results, key=lambda one: one.allocator.name == "hew")
    ]
    longest = max((line.points[-1][0] for line in lines if len(line.points) > 1), default=0.0)
    return byte_lines(
        lines, colors, "resident memory over time", Across(1.0, "s") if longest >= 1 else Across(1e-3, "ms")
    )


def byte_lines(lines: Sequence[Line], colors: Mapping[str, str], label: str, unit: Across) -> str | None:
    """The lines, each with its name at its end; those that come later lie above. None when there is no line to draw."""
    drawn = [one for one in lines if len(one.points) > 1]
    longest = max((one.points[-1][0] for one in drawn), default=0)
    if longest <= 0:
        return None
    highest = max(1.0, *(value for one in drawn for _, value in one.points)) * 1.05
    across = (LINE_WIDTH - LEFT - RIGHT) / longest
    floor = LINE_HEIGHT - BOTTOM
    up = (floor - TOP) / highest
    parts = _axes(longest, highest, across, up, unit)
    for one in drawn:
        path = " ".join(f"{LEFT + at * across:.1f},{floor - value * up:.1f}" for at, value in one.points)
        peak = max(value for _, value in one.points)
        said = title(f"{one.name}: at most {quantity(peak, Unit.BYTES)}")
        parts.append(element("polyline", said, points=path, class_="trace", stroke=f"var({colors[one.name]})"))
    ends = spread([floor - one.points[-1][1] * up for one in drawn], LABEL_GAP, TOP + 4, floor)
    for one, y in zip(drawn, ends, strict=True):
        x, end = LEFT + one.points[-1][0] * across, floor - one.points[-1][1] * up
        color = f"var({colors[one.name]})"
        lead = f"M{x + 3:.1f} {end:.1f} L{LINE_WIDTH - RIGHT + 12:.1f} {y:.1f}"
        parts += [
            element("path", d=lead, stroke=color, stroke_width=1, opacity=0.45, fill="none"),
            text(one.name, LINE_WIDTH - RIGHT + 16, y + 4.5, class_="name", style=f"fill:{color};font-weight:600"),
        ]
    return picture(LINE_WIDTH, LINE_HEIGHT, label, parts)


def _axes(longest: float, highest: float, across: float, up: float, shown: Across) -> list[str]:
    floor = LINE_HEIGHT - BOTTOM
    parts = []
    power, name = next((pair for pair in ((3, "GiB"), (2, "MiB")) if highest >= 2 * 1024.0 ** pair[0]), (1, "KiB"))
    unit = 1024.0**power
    for tick in ticks(highest / unit, 5):
        y = floor - tick * unit * up
        label = f"{tick:g} {name}" if tick else "0"
        parts += [line(LEFT, y, LINE_WIDTH - RIGHT, y, "grid"), text(label, LEFT - 8, y + 4, text_anchor="end")]
    for tick in ticks(longest / shown.scale, 8):
        x = LEFT + tick * shown.scale * across
        parts.append(text(f"{tick:g} {shown.unit}".strip(), x, floor + 20, text_anchor="middle"))
    return parts
