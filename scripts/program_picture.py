# SPDX-License-Identifier: MIT
"""The picture of docs/programs.md: time against memory, a dot for each program and allocator, the means large.

Both axes are ratios to glibc's, logarithmic; the lower left corner is fast and lean.  Figures beyond the axes are drawn
at their edge.  Lines through a dot are its interval.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from program_figures import BASELINE, CPU, PEAK, SUBJECT, Ratio, Row, mean, ratio

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tool/src"))

from hew.model.allocator import Allocator
from hew.views.bench_pictures import standalone
from hew.views.curves import Axis
from hew.views.page import allocator_colors
from hew.views.svg import element, line, picture, spread, text, title

WIDTH, HEIGHT = 980.0, 560.0
LEFT, RIGHT, TOP, BOTTOM = 62.0, 250.0, 14.0, 48.0
TIMES, MEMORY = (0.5, 1.5), (0.6, 2.5)
TIME_MARKS, MEMORY_MARKS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.5), (0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 2.5)
SMALL, LARGE = 3.2, 9.0
LABEL_GAP = 34.0

Dot = tuple[str, str, Ratio, float]
"""Program, allocator, time, memory."""


def dots(programs: Mapping[str, Row], allocators: Sequence[str]) -> list[Dot]:
    """hew's last, so that they lie on top."""
    found = []
    for allocator in sorted(allocators, key=lambda name: name == SUBJECT):
        for name, program in programs.items():
            time, memory = (ratio(program, allocator, BASELINE, figure) for figure in (CPU, PEAK))
            if time and memory:
                found.append((name, allocator, time, memory.value))
    return found


def held(value: float, bounds: tuple[float, float]) -> float:
    return min(max(value, bounds[0]), bounds[1])


class Plane:
    """Where a pair of ratios is drawn."""

    def __init__(self) -> None:
        self.across = Axis(TIMES, LEFT, WIDTH - RIGHT)
        self.down = Axis(MEMORY, HEIGHT - BOTTOM, TOP)

    def x(self, value: float) -> float:
        return self.across.place(held(value, TIMES))

    def y(self, value: float) -> float:
        return self.down.place(held(value, MEMORY))

    def ground(self) -> list[str]:
        """Grid, marks, and what the axes are."""
        parts = []
        for value in TIME_MARKS:
            x = self.x(value)
            parts += [line(x, TOP, x, HEIGHT - BOTTOM, "one" if value == 1 else "grid"),
                      text(f"{value:g}", x, HEIGHT - BOTTOM + 17, text_anchor="middle")]  # fmt: skip
        for value in MEMORY_MARKS:
            y = self.y(value)
            parts += [line(LEFT, y, WIDTH - RIGHT, y, "one" if value == 1 else "grid"),
                      text(f"{value:g}", LEFT - 8, y + 4, text_anchor="end")]  # fmt: skip
        middle = (LEFT + WIDTH - RIGHT) / 2
        parts.append(text("CPU time, of glibc's", middle, HEIGHT - 8, class_="strong", text_anchor="middle"))
        high = (TOP + HEIGHT - BOTTOM) / 2
        turned = f"rotate(-90 16 {high:g})"
        parts.append(text("peak memory, of glibc's", 16, high, class_="strong", text_anchor="middle", transform=turned))
        return parts

    def dot(self, one: Dot, color: str) -> str:
        name, allocator, time, memory = one
        x, y = self.x(time.value), self.y(memory)
        words = f"{name}, {allocator}: time {time.value:.2f} ({time.low:.2f} to {time.high:.2f}), peak {memory:.2f}"
        span = element("line", x1=self.x(time.low), x2=self.x(time.high), y1=y, y2=y, stroke=color, stroke_opacity=0.25)
        circle = element("circle", cx=x, cy=y, r=SMALL, fill=color, fill_opacity=0.55)
        return element("g", title(words) + span + circle)

    def mean_dot(self, allocator: str, time: Ratio, memory: float, color: str) -> str:
        x, y = self.x(time.value), self.y(memory)
        words = f"{allocator}, mean: time {time.value:.3f}, peak {memory:.3f}"
        span = element("line", x1=self.x(time.low), x2=self.x(time.high), y1=y, y2=y, stroke=color, stroke_width=3)
        circle = element("circle", cx=x, cy=y, r=LARGE, fill=color, stroke="var(--card)", stroke_width=2)
        return element("g", title(words) + span + circle)


def picture_of(programs: Mapping[str, Row], allocators: Sequence[str]) -> str:
    """The SVG file, or nothing when no program has both figures."""
    names = [name for name in allocators if name != BASELINE]
    variables = allocator_colors([Allocator(name) for name in allocators])
    colors = {name: f"var({variable})" for name, variable in variables.items()}
    found = dots(programs, names)
    if not found:
        return ""
    plane = Plane()
    parts = plane.ground() + [plane.dot(one, colors[one[1]]) for one in found]
    means = []
    for name in sorted(names, key=lambda name: name == SUBJECT):
        of_time, of_memory = mean(programs, name, CPU), mean(programs, name, PEAK)
        if of_time and of_memory:
            means.append((name, of_time[0], of_memory[0].value))
    parts += [plane.mean_dot(*one, colors[one[0]]) for one in means]
    places = spread([plane.y(memory) for _, _, memory in means], LABEL_GAP, TOP + 12, HEIGHT - BOTTOM - 20)
    for (name, time, memory), y in zip(means, places, strict=True):
        x = WIDTH - RIGHT + 22
        parts += [
            element("circle", cx=x, cy=y, r=6, fill=colors[name]),
            text(name, x + 13, y + 1, class_="strong" if name == SUBJECT else "name"),
            text(f"time {time.value:.2f} ({time.low:.2f} to {time.high:.2f}), peak {memory:.2f}", x + 13, y + 16),
        ]
    label = f"CPU time against peak memory of {len(programs)} programs, ratios to glibc"
    return standalone(picture(WIDTH, HEIGHT, label, parts))
