# SPDX-License-Identifier: MIT
"""The two pictures of a comparison: ratios with their intervals, and memory over time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hew.model.figures import Figure, Unit
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


def memory_lines(results: Sequence[AllocatorResult], colors: Mapping[str, str]) -> str | None:
    """Resident memory over the time of a typical run, a line for each allocator; None when there is no line to draw."""
    drawn = [result for result in results if len(result.rss) > 1]
    if not drawn:
        return None
    longest = max(result.rss[-1].seconds for result in drawn)
    highest = max(point.bytes for result in drawn for point in result.rss) * 1.05
    across = (LINE_WIDTH - LEFT - RIGHT) / longest
    floor = LINE_HEIGHT - BOTTOM
    up = (floor - TOP) / highest
    parts = _axes(longest, highest, across, up)
    for result in sorted(drawn, key=lambda one: one.allocator.name == "hew"):
        name = result.allocator.name
        path = " ".join(f"{LEFT + point.seconds * across:.1f},{floor - point.bytes * up:.1f}" for point in result.rss)
        peak = max(point.bytes for point in result.rss)
        parts.append(
            element(
                "polyline",
                title(f"{name}: at most {quantity(peak, Unit.BYTES)}"),
                points=path,
                class_="trace",
                stroke=f"var({colors[name]})",
            )
        )
    ends = spread([floor - result.rss[-1].bytes * up for result in drawn], LABEL_GAP, TOP + 4, floor)
    for result, y in zip(drawn, ends, strict=True):
        x = LEFT + result.rss[-1].seconds * across
        color = f"var({colors[result.allocator.name]})"
        label = LINE_WIDTH - RIGHT + 16
        parts += [
            element(
                "path",
                d=f"M{x + 3:.1f} {floor - result.rss[-1].bytes * up:.1f} L{label - 4:.1f} {y:.1f}",
                stroke=color,
                stroke_width=1,
                opacity=0.45,
                fill="none",
            ),
            text(result.allocator.name, label, y + 4.5, class_="name", style=f"fill:{color};font-weight:600"),
        ]
    return picture(LINE_WIDTH, LINE_HEIGHT, "resident memory over time", parts)


def _axes(longest: float, highest: float, across: float, up: float) -> list[str]:
    floor = LINE_HEIGHT - BOTTOM
    parts = []
    unit = 1024.0 ** (3 if highest >= 2 * 1024**3 else 2)
    name = "GiB" if unit > 1024**2 else "MiB"
    for tick in ticks(highest / unit, 5):
        y = floor - tick * unit * up
        label = f"{tick:g} {name}" if tick else "0"
        parts += [line(LEFT, y, LINE_WIDTH - RIGHT, y, "grid"), text(label, LEFT - 8, y + 4, text_anchor="end")]
    scale, short = (1.0, "s") if longest >= 1 else (1e-3, "ms")
    for tick in ticks(longest / scale, 8):
        parts.append(text(f"{tick:g} {short}", LEFT + tick * scale * across, floor + 20, text_anchor="middle"))
    return parts
