# SPDX-License-Identifier: MIT
"""What policies made of a trace: a table, JSON, and a page with pictures."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from html import escape
from importlib import resources
from typing import Any

from rich.console import Console
from rich.markup import escape as plain

from hew.model.quantity import size, three_digits
from hew.model.simulation import Simulated, Simulation
from hew.views.charts import Across, Line, byte_lines
from hew.views.page import PALETTE, html_page
from hew.views.svg import picture
from hew.views.table import plain_table, show_note
from hew.views.trace_text import count

FORMAT = "hew-simulate/1"
Rows = Sequence[tuple[str, Sequence[int]]]
OWN = {"live": "--text", "hew": "--hew"}
STEPS = ((1e6, "M", "millions of operations"), (1e3, "k", "thousands of operations"), (1.0, "", "operations"))
COLUMNS = ("peak heap", "of live", "peak resident", "internal", "external", "work")
WORDS = """
<p><b>Live</b> is what the program has asked for and not freed: no allocator can do with less. <b>Heap</b> is what a
policy has of the system, <b>resident</b> the pages of it with at least one live byte: what would stay if all others
were freed immediately. <b>Internal</b> fragmentation is the share of what objects take (sizes rounded up, headers,
alignment) beyond what was requested, <b>external</b> the share of the heap that no object has; both are means over the
operations. <b>Work</b> is steps for each operation as the textbook takes them: list nodes looked at, splits,
merges.</p>
<p>No row knows threads, caches or decay: it is the policy alone that is seen. An allocator that does not move
objects, and knows the whole trace beforehand, needs between the peak of live bytes and three times that (J. Gergov,
1999); one that does not know the future can be forced by some program with this peak and this largest request to take
{robson} (J. M. Robson, 1974).</p>
"""


def show_simulation(result: Simulation, console: Console) -> None:
    """Print the table, the smallest heap first."""
    trace = result.trace
    console.print()
    console.print(
        f"[bold]{plain(result.source)}[/]  [dim]{trace.operations:,} operations of {count(trace.threads, 'thread')}; "
        f"at most {size(result.peak_live)} live, {size(result.mean_live)} in the mean[/]",
        soft_wrap=True,
    )
    table = plain_table("", *COLUMNS)
    for one in _ordered(result):
        table.add_row(one.name, *_cells(result, one))
    console.print(table)
    console.print(
        f"lower bound {size(result.peak_live)} (live bytes); some program with this peak and largest request "
        f"({size(result.largest)}) forces {size(result.robson)} upon any allocator that does not move (Robson)",
        style="dim", soft_wrap=True,
    )  # fmt: skip
    for note in notes_of(result):
        show_note(note, console)


def _ordered(result: Simulation) -> list[Simulated]:
    return sorted(result.policies, key=lambda one: (one.failed, one.peak_heap))


def _cells(result: Simulation, one: Simulated) -> list[str]:
    if one.failed:
        return ["failed", "", "", "", "", ""]
    return [
        size(one.peak_heap),
        f"{three_digits(one.peak_heap / result.peak_live)}×" if result.peak_live else "–",
        size(one.peak_resident),
        f"{result.internal(one):.1%}",
        f"{one.external:.1%}",
        f"{three_digits(one.work / max(1, result.trace.operations))}",
    ]


def notes_of(result: Simulation) -> list[str]:
    """What must be known besides the figures."""
    notes = list(result.trace.notes())
    if result.left_out:
        notes.append(f"{result.left_out} requests of more than 2^46 bytes were left out")
    if any(one.failed for one in result.policies):
        notes.append("failed: its bookkeeping found no memory, or addresses beyond 2^48")
    return notes


def simulation_json(result: Simulation) -> str:
    """One document; simulate.schema.json describes it."""
    document: dict[str, Any] = {"format": FORMAT, **asdict(result)}
    document["robson"] = result.robson
    for one, row in zip(result.policies, document["policies"], strict=True):
        row["internal"], row["external"] = result.internal(one), one.external
    document["notes"] = notes_of(result)
    return json.dumps(document, ensure_ascii=False)


def simulation_page(result: Simulation) -> str:
    """The page: a table, and the course of heap, resident memory, and what lies between."""
    colors = _colors(result)
    good = [one for one in _ordered(result) if not one.failed]
    live = [("live", [moment.live for moment in result.moments])]
    rows: dict[str, list[tuple[str, Sequence[int]]]] = {
        "Heap: what each policy has of the system": [*((one.name, one.heap) for one in good), *live],
        "Resident: pages with a live byte": [*((one.name, one.resident) for one in good), *live],
        "Internal: what objects take beyond what was asked for": _beyond(result, good),
        "External: what of the heap no object has": _unused(good),
    }
    trace = result.trace
    facts = f"{trace.operations:,} operations, {trace.threads} threads, at most {size(result.peak_live)} live"
    head = (
        f'<header><h1><b>hew</b> simulate</h1><div class="command"><code>{escape(result.source)}</code></div>'
        f'<p class="soft small">{facts}</p></header>'
    )
    pictures = [_picture(result, name, values, colors) for name, values in rows.items()]
    sections = [head, _table(result, colors), *pictures, _method(result)]
    return html_page(f"hew simulate: {result.source}", sections, "hew simulate")


def standalone_picture(result: Simulation, name: str) -> str:
    """The heap of every policy over the operations, as an SVG file, light or dark as the reader's system is."""
    colors = _colors(result)
    rows: list[tuple[str, Sequence[int]]] = [(one.name, one.heap) for one in _ordered(result) if not one.failed]
    drawn = _drawn(result, f"{name}: heap", [*rows, ("live", [moment.live for moment in result.moments])], colors)
    style = resources.files("hew.views").joinpath("page.css").read_text(encoding="utf-8")
    head = '<svg xmlns="http://www.w3.org/2000/svg" '
    back = "<style>" + escape(style, quote=False) + '</style><rect width="100%" height="100%" fill="var(--card)"/>'
    first, rest = (drawn or picture(10, 10, name, [])).removeprefix("<svg ").split(">", 1)
    return f"{head}{first}>{back}{rest}"


def _colors(result: Simulation) -> dict[str, str]:
    free = iter(PALETTE * 4)
    return {"live": OWN["live"]} | {one.name: OWN.get(one.name) or next(free) for one in result.policies}


def _beyond(result: Simulation, good: Sequence[Simulated]) -> list[tuple[str, Sequence[int]]]:
    return [
        (one.name, [gross - moment.live for gross, moment in zip(one.gross, result.moments, strict=True)])
        for one in good
    ]


def _unused(good: Sequence[Simulated]) -> list[tuple[str, Sequence[int]]]:
    return [(one.name, [heap - gross for heap, gross in zip(one.heap, one.gross, strict=True)]) for one in good]


def _picture(result: Simulation, name: str, rows: Rows, colors: dict[str, str]) -> str:
    drawn = _drawn(result, name, rows, colors)
    if drawn is None:
        return ""
    title, _, about = name.partition(": ")
    return (
        f'<section><h2>{title}</h2><p class="soft">{about[:1].upper()}{about[1:]}, over {_step(result)[2]}.</p>'
        f'<div class="card wide">{drawn}</div></section>'
    )


def _drawn(result: Simulation, name: str, rows: Rows, colors: dict[str, str]) -> str | None:
    places = [float(one.operation) for one in result.moments]
    scale, mark, _ = _step(result)
    ordered = sorted(rows, key=lambda row: row[0] in {"hew", "live"})
    lines = [Line(one, list(zip(places, values, strict=True))) for one, values in ordered]
    return byte_lines(lines, colors, f"{name}, over operations", Across(scale, mark))


def _step(result: Simulation) -> tuple[float, str, str]:
    last = result.moments[-1].operation if result.moments else 0
    return next(step for step in STEPS if last >= 2 * step[0] or step[0] == 1.0)


def _table(result: Simulation, colors: dict[str, str]) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in COLUMNS)
    rows = "".join(
        f'<tr><th scope="row"><span class="swatch" style="background:var({colors[one.name]})"></span>{escape(one.name)}'
        f'<br><small class="soft">{escape(one.about)}</small></th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in _cells(result, one))
        + "</tr>"
        for one in _ordered(result)
    )
    return (
        f'<section><h2>Every policy</h2><div class="card scroll"><table><thead><tr><th></th>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div></section>"
    )


def _method(result: Simulation) -> str:
    notes = "".join(f"<li>{escape(note)}</li>" for note in notes_of(result))
    words = WORDS.format(robson=size(result.robson))
    return f"<section><h2>What the words mean</h2>{words}{f'<ul>{notes}</ul>' if notes else ''}</section>"
