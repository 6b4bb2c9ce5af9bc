# SPDX-License-Identifier: MIT
"""The pictures of a saved run, each an SVG file for a page of Markdown; light or dark as the reader's system is.

Each picture brings its colours, those of page.css, and a ground to be read on wherever it is shown.
"""

import re
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from hew.model.allocator import BASELINE, Allocator
from hew.model.bench import SUBJECT, CurvePoint
from hew.model.lazy_dataclass import dataclass
from hew.model.report import AllocatorResult
from hew.model.run import RssPoint
from hew.views.charts import memory_lines
from hew.views.curves import Axis, curve_lines
from hew.views.page import allocator_colors
from hew.views.svg import element, line, picture, text

WIDTH, NAMES, RIGHT, ROW, HEAD, LEGEND = 980.0, 190.0, 24.0, 19.0, 30.0, 46.0
LOW, HIGH = 0.1, 5.0  # ratios beyond are drawn at the edge
MARKS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
MOST_READINGS = 70  # of memory over time, for each allocator
PADDING = 10.0
RULES = (
    "svg{font:12px system-ui,sans-serif}text{fill:var(--soft)}.name{fill:var(--text);font-size:13px}"
    ".strong{fill:var(--text);font-weight:600}.grid{stroke:var(--grid)}.one{stroke:var(--faint);stroke-dasharray:3 3}"
    ".trace{fill:none;stroke-width:1.4;stroke-linejoin:round}.trace[stroke*=hew]{stroke-width:3.2}"
    ".dots,.halo{fill:none;stroke-width:7;stroke-linecap:round}.halo{stroke:var(--card);stroke-width:9.5}"
)
Document = Mapping[str, Any]


@dataclass(frozen=True)
class Drawn:
    """One file: its name without the ending, what it shows, and the SVG."""

    name: str
    title: str
    svg: str


def bench_pictures(found: Document, figures: Mapping[str, str], curves: Sequence[tuple[str, str, str]]) -> list[Drawn]:
    """All pictures of a run: bars of these figures, these series (file, workload, series), memory over time."""
    colors = allocator_colors([Allocator(one["name"]) for one in found["allocators"]])
    drawn = [_bars(found, key, title, colors) for key, title in figures.items()] if found["mean"] else []
    workloads = {one["name"]: one for one in found["workloads"]}
    for name, workload, series in curves:
        points = [_point(one) for one in workloads.get(workload, {"points": []})["points"] if one["series"] == series]
        lines = curve_lines(points, colors) if points else None
        if lines:
            drawn.append(Drawn(name, f"{workload}: {series}", standalone(lines)))
    for workload in found["workloads"]:
        if workload["group"] == "memory over time":
            lines = memory_lines(_results(workload["report"]), colors)
            if lines:
                title = f"{workload['name']}: RSS over the time of a run"
                drawn.append(Drawn(f"memory_{_file_name(workload['name'])}", title, standalone(lines)))
    return drawn


def standalone(svg: str) -> str:
    """A picture as a file: with its colours and its ground, and coordinates of whole pixels."""
    width, height = (float(one) for one in re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)[0])
    wide, high = width + 2 * PADDING, height + 2 * PADDING
    compact = re.sub(r'points="([^"]*)"', lambda found: f'points="{_whole(found[1])}"', svg)
    opening, body = compact.split(">", 1)
    label = re.search(r'aria-label="[^"]*"', opening)
    ground = element("rect", x=-PADDING, y=-PADDING, width=wide, height=high, rx=8, fill="var(--card)")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:g}" height="{high:g}" '
        f'viewBox="{-PADDING:g} {-PADDING:g} {wide:g} {high:g}" role="img" {label[0] if label else ""}>'
        f"<style>{_colors(body)}{RULES}</style>{ground}{body}\n"
    )


def _whole(points: str) -> str:
    return re.sub(r"\d+\.\d+", lambda number: f"{float(number[0]):.0f}", points)


def _colors(body: str) -> str:
    """The variables of page.css that the picture uses, for light and for dark."""
    css = resources.files("hew.views").joinpath("page.css").read_text(encoding="utf-8")
    light, dark = (part.split("}")[0] for part in css.split(":root {")[1:3])
    used = set(re.findall(r"var\(--([a-z0-9]+)\)", body + RULES)) | {"card"}

    def chosen(block: str) -> str:
        return "".join(f"--{name}:{value};" for name, value in re.findall(r"--(\w+): (#\w+);", block) if name in used)

    return f":root{{{chosen(light)}}}@media(prefers-color-scheme:dark){{:root{{{chosen(dark)}}}}}"


def _file_name(words: str) -> str:
    return re.sub(r"\W+", "_", words)


def _point(one: Mapping[str, Any]) -> CurvePoint:
    return CurvePoint(one["series"], one["at"], one["unit"], one["medians"])


def _results(report: Mapping[str, Any]) -> list[AllocatorResult]:
    """As much of a report as its lines need."""
    found = []
    for one in report["allocators"]:
        step = max(1, len(one["rss"]) // MOST_READINGS)
        rss = tuple(RssPoint(seconds, size) for seconds, size in [*one["rss"][:-1:step], *one["rss"][-1:]])
        found.append(AllocatorResult(Allocator(one["name"]), {}, {}, {}, rss, (), (), False))
    return found


def _bars(found: Document, key: str, title: str, colors: Mapping[str, str]) -> Drawn:
    """A row for each workload: hew as a bar from glibc's 1, the peers as dots."""
    axis = Axis([LOW, HIGH], NAMES, WIDTH - RIGHT)
    names = [one["name"] for one in found["allocators"] if one["name"] != BASELINE]
    dots: dict[str, list[str]] = {name: [] for name in names}
    parts, group, y = [], "", LEGEND
    for workload in (one for one in found["workloads"] if not one["curve"]):
        if workload["group"] != group:
            group, y = workload["group"], y + HEAD
            parts.append(text(group, 0, y - 7, class_="strong"))
        middle = y + ROW / 2
        parts.append(text(workload["name"], NAMES - 12, middle + 4.5, class_="name", text_anchor="end"))
        for name, ratio in _ratios(workload["report"], key).items():
            x = axis.place(min(max(ratio, LOW), HIGH))
            if name == SUBJECT:
                start, end = sorted((x, axis.place(1)))
                wide = max(end - start, 2.0)
                parts.append(element("rect", x=start, y=middle - 6, width=wide, height=12, fill="var(--hew)"))
            else:
                dots[name].append(f"M{x:.0f} {middle:g}h0")
        y += ROW
    grid = [line(axis.place(mark), LEGEND + 6, axis.place(mark), y, "one" if mark == 1 else "grid") for mark in MARKS]
    scale = [text(f"{mark:g}×", axis.place(mark), y + 18, text_anchor="middle") for mark in MARKS]
    points = [_dots("".join(places), colors[name]) for name, places in dots.items()]
    title = f"{title}, ratio to glibc"
    svg = picture(WIDTH, y + 26, title, [*grid, *scale, *parts, *points, *_legend(names, colors)])
    return Drawn(key.rpartition("_")[0], title, standalone(svg))


def _dots(places: str, color: str) -> str:
    """Dots that stand out from the bar and from one another."""
    ring = element("path", d=places, class_="halo")
    return ring + element("path", d=places, class_="dots", stroke=f"var({color})")


def _ratios(report: Mapping[str, Any], key: str) -> dict[str, float]:
    return {one["name"]: one["ratios"][key]["value"] for one in report["allocators"] if key in one["ratios"]}


def _legend(names: Sequence[str], colors: Mapping[str, str]) -> list[str]:
    """What the bar and the dots are, in two lines; and which way is better."""
    parts = [text("← less than glibc is better", WIDTH - RIGHT, 12, text_anchor="end")]
    x, y = 0.0, 12.0
    for name in names:
        if x + 26 + 7.2 * len(name) > WIDTH - 190:
            x, y = 0.0, y + 20
        if name == SUBJECT:
            parts.append(element("rect", x=x, y=y - 10, width=14, height=11, fill="var(--hew)"))
        else:
            parts.append(element("path", d=f"M{x + 7:.0f} {y - 4:g}h0", class_="dots", stroke=f"var({colors[name]})"))
        parts.append(text(name, x + 20, y))
        x += 34 + 7.2 * len(name)
    return parts
