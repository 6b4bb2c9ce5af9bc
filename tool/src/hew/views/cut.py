# SPDX-License-Identifier: MIT
"""Size classes cut to a program: for the terminal and for programs."""

import json
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from hew.model.cut import Cut, Waste
from hew.model.quantity import size, three_digits
from hew.views.openmetrics import printable
from hew.views.table import plain_table, show_note

FORMAT = "hew-cut/1"


def show_cut(result: Cut, saved_to: Path | None, console: Console) -> None:
    """Print the classes, what they would save, and how they are put in force; `saved_to`: the file that has them."""
    when = "at the peak" if result.by_peak else "in the mean over operations"
    console.print()
    console.print(
        f"[bold]{escape(result.source)}[/]  [dim]objects up to 14 KiB: {size(result.waste.asked)} live {when}[/]",
        soft_wrap=True,
    )
    console.print(" ".join(str(one.size) for one in result.classes), soft_wrap=True)
    console.print()
    table = plain_table(
        "", "classes", "in use", "rests of slots", "tails of slabs", "classes' own", "together", "of live"
    )
    for name, waste in (("cut", result.waste), *result.others.items()):
        table.add_row(name, *_cells(waste))
    console.print(table)
    if result.simulated:
        console.print()
        console.print(f"simulated on the whole trace, {size(result.peak_live)} live at its peak:", style="dim")
        console.print(_simulated(result))
    console.print()
    console.print(f"[bold]{escape(verdict(result))}[/]", soft_wrap=True)
    if result.is_worth_it:
        console.print(escape(in_force(result, saved_to)), soft_wrap=True, highlight=False)
    for note in result.notes:
        show_note(note, console)


def _cells(waste: Waste) -> list[str]:
    parts = (waste.internal, waste.tails, waste.classes, waste.total)
    share = f"{waste.total / waste.asked:.1%}" if waste.asked else "–"
    return [str(waste.count), str(waste.used), *(size(one) for one in parts), share]


def _simulated(result: Cut) -> Any:
    table = plain_table("", "peak heap", "of live", "peak resident", "of live")
    for one in sorted(result.simulated, key=lambda one: one.name != "cut"):
        table.add_row(
            one.name,
            size(one.peak_heap),
            f"{three_digits(one.peak_heap / result.peak_live)}×" if result.peak_live else "–",
            size(one.peak_resident),
            f"{three_digits(one.peak_resident / result.peak_live)}×" if result.peak_live else "–",
        )
    return table


def verdict(result: Cut) -> str:
    """What the classes would save, in one sentence."""
    hew = result.others.get("hew")
    if hew is None or not hew.asked:
        return "nothing to compare with"
    saved = result.saved
    if not result.is_worth_it:
        return (
            "hew's own classes waste no more than half a per cent of live bytes beyond the best of as many: leave them"
        )
    share = f"{saved / hew.asked:.1%} of live bytes and {saved / hew.total:.0%} of what hew's classes waste"
    return f"these classes would save {size(saved)}, {share}"


def in_force(result: Cut, saved_to: Path | None) -> str:
    """What to put before a command. A path with a comma would end a setting."""
    named = saved_to is not None and "," not in str(saved_to)
    setting = f"conf_file:{saved_to}" if named else result.setting
    return f"HEW_CONF={shlex.quote(setting)}"


def settings_file(result: Cut) -> str:
    """A file for the setting conf_file: the classes, if they are worth it, behind the evidence for them."""
    tables = {"these": result.waste, **result.others}
    lines = [
        f"Size classes cut to {printable(result.source)} by hew cut: {verdict(result)}.",
        f"Waste of objects up to 14 KiB, {'at the peak' if result.by_peak else 'in the mean over operations'}: "
        + ", ".join(f"{name} {size(waste.total)}" for name, waste in tables.items()),
        *(
            f"Simulated on the trace: peak of resident memory with {one.name} {size(one.peak_resident)}"
            for one in result.simulated
        ),
        *(printable(note) for note in result.notes),
    ]
    comments = "".join(f"# {' '.join(line.split())}\n" for line in lines)
    return comments + (f"{result.setting}\n" if result.is_worth_it else "")


def cut_json(result: Cut) -> str:
    """One document; cut.schema.json describes it."""
    tables = {"cut": result.waste, **result.others}
    document = {
        "format": FORMAT,
        "source": result.source,
        "weighed_by": "peak" if result.by_peak else "mean",
        "classes": [asdict(one) for one in result.classes],
        "setting": result.setting,
        "worth_it": result.is_worth_it,
        "waste": {name: {**asdict(waste), "total": waste.total} for name, waste in tables.items()},
        "simulated": [
            {"name": one.name, "peak_heap": one.peak_heap, "peak_resident": one.peak_resident, "work": one.work}
            for one in result.simulated
        ],
        "peak_live": result.peak_live,
        "verdict": verdict(result),
        "notes": list(result.notes),
    }
    return json.dumps(document, indent=2, ensure_ascii=False)
