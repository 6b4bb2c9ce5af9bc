#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draw the README's picture: time against memory of every allocator, from the means in docs/benchmarks.md.

    .venv/bin/python scripts/gen_front_picture.py [--check]

Writes docs/img/allocators.svg. --check only says whether it is what the figures say, and exits with 1 if not.
"""

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tool/src"))

from hew.model.allocator import Allocator  # noqa: E402
from hew.views.bench_pictures import standalone  # noqa: E402
from hew.views.curves import Axis  # noqa: E402
from hew.views.page import allocator_colors  # noqa: E402
from hew.views.svg import element, line, picture, text, title  # noqa: E402

PAGE = ROOT / "docs/benchmarks.md"
PICTURE = ROOT / "docs/img/allocators.svg"
WIDTH, HEIGHT = 820.0, 460.0
LEFT, RIGHT, TOP, BOTTOM = 64.0, 110.0, 16.0, 52.0
TIMES, MEMORY = (0.55, 1.5), (0.9, 2.7)
TIME_MARKS, MEMORY_MARKS = (0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.4), (1.0, 1.25, 1.5, 2.0, 2.5)
LETTER, LINE = 7.2, 15.0  # how wide and high a label's letters are
Means = dict[str, tuple[float, float]]


def means(page: str) -> Means:
    """Wall time and peak memory of each allocator as ratios to glibc's; glibc itself is 1 and 1."""
    table = page.partition("## Geometric means")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| \**([\w.-]+)\** \| ([\d.]+) \| [\d.]+ \| ([\d.]+) \|", table, re.MULTILINE)
    return {"glibc": (1.0, 1.0), **{name: (float(time), float(memory)) for name, time, memory in rows}}


def revision(page: str) -> str:
    """What was measured, for the caption."""
    match = re.search(r"^Measured: (.*?)\.?$", page, re.MULTILINE)
    return "" if match is None else match[1].replace("`", "")


def on_the_left(name: str, places: dict[str, tuple[float, float]]) -> bool:
    """Whether another allocator's dot lies where the label would, to the right of its own."""
    x, y = places[name]
    end = x + 14 + LETTER * len(name)
    return any(other != name and x < at <= end and abs(high - y) < LINE for other, (at, high) in places.items())


def drawn(found: Means) -> str:
    """The SVG file."""
    across, down = Axis(TIMES, LEFT, WIDTH - RIGHT), Axis(MEMORY, HEIGHT - BOTTOM, TOP)
    variables = allocator_colors([Allocator(name) for name in found])
    parts = []
    for value in TIME_MARKS:
        x = across.place(value)
        parts += [line(x, TOP, x, HEIGHT - BOTTOM, "one" if value == 1 else "grid"),
                  text(f"{value:g}", x, HEIGHT - BOTTOM + 18, text_anchor="middle")]  # fmt: skip
    for value in MEMORY_MARKS:
        y = down.place(value)
        parts += [line(LEFT, y, WIDTH - RIGHT, y, "one" if value == 1 else "grid"),
                  text(f"{value:g}", LEFT - 8, y + 4, text_anchor="end")]  # fmt: skip
    middle, high = (LEFT + WIDTH - RIGHT) / 2, (TOP + HEIGHT - BOTTOM) / 2
    parts.append(text("wall time, glibc = 1: faster to the left", middle, HEIGHT - 10, text_anchor="middle"))
    turned = f"rotate(-90 18 {high:g})"
    parts.append(text("peak memory, glibc = 1: leaner below", 18, high, text_anchor="middle", transform=turned))
    places = {name: (across.place(time), down.place(memory)) for name, (time, memory) in found.items()}
    for name, (x, y) in places.items():
        left, ours = on_the_left(name, places), name == "hew"
        dot = element("circle", cx=x, cy=y, r=9 if ours else 6, fill=f"var({variables[name]})")
        words = title(f"{name}: time {found[name][0]:.2f}, peak memory {found[name][1]:.2f}")
        below = -9 if name == "glibc" else 4  # its own lies on the lines of 1
        label = text(name, x - 12 if left else x + 12, y + below, class_="strong" if ours else "name",
                     text_anchor="end" if left else "start")  # fmt: skip
        parts.append(element("g", words + dot + label))
    return standalone(picture(WIDTH, HEIGHT, "Wall time against peak memory of each allocator, ratios to glibc", parts))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args(arguments).check
    made = drawn(means(PAGE.read_text(encoding="utf-8")))
    if check:
        if PICTURE.is_file() and PICTURE.read_text(encoding="utf-8") == made:
            return 0
        print(f"gen_front_picture: {PICTURE.name} is not what docs/benchmarks.md says: run it again", file=sys.stderr)
        return 1
    PICTURE.write_text(made, encoding="utf-8")
    print(f"gen_front_picture: {PICTURE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
