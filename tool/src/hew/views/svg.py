# SPDX-License-Identifier: MIT
"""Small helpers for drawing: elements, scales, round ticks, labels that do not overlap."""

import math
from collections.abc import Sequence
from html import escape


def element(name: str, body: str = "", **attributes: object) -> str:
    """One SVG element; `class_` is `class`, and an underscore in a name is a hyphen."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_plain(value))}"' for key, value in attributes.items()
    )
    return f"<{name}{written}>{body}</{name}>"


def text(words: str, x: float, y: float, **attributes: object) -> str:
    """A line of text."""
    return element("text", escape(words), x=x, y=y, **attributes)


def title(words: str) -> str:
    """What a pointer that rests on the parent element is told."""
    return element("title", escape(words))


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> str:
    """A straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def picture(width: float, height: float, label: str, parts: Sequence[str]) -> str:
    """The SVG element itself, with a label for screen readers."""
    return element("svg", "".join(parts), viewBox=f"0 0 {width:g} {height:g}", role="img", aria_label=label)


def _plain(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def ticks(high: float, wanted: int, steps: Sequence[float] = (1, 2, 2.5, 5, 10)) -> list[float]:
    """Round numbers from 0 up to `high`, about `wanted` of them."""
    if high <= 0:
        return [0.0]
    raw = high / wanted
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * one for one in steps if power * one >= raw * 0.999)
    return [step * number for number in range(math.floor(high / step * 1.0001) + 1)]


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Positions near the wanted ones, at least `gap` apart and within bounds; same order as given."""
    order = sorted(range(len(wanted)), key=lambda at: wanted[at])
    placed = [0.0] * len(wanted)
    floor = low
    for at in order:
        placed[at] = max(wanted[at], floor)
        floor = placed[at] + gap
    ceiling = high
    for at in reversed(order):
        placed[at] = min(placed[at], ceiling)
        ceiling = placed[at] - gap
    return placed
