# SPDX-License-Identifier: MIT
"""What tuning has done, for the terminal and for programs."""

from dataclasses import asdict
from typing import Any

from rich.console import Console

from hew.model.figures import Unit
from hew.model.quantity import quantity, size
from hew.model.tuning import Step, Tuning
from hew.views.table import plain_table, show_note

FORMAT = "hew-tuning/1"
OFF = "tuning is off: HEW_CONF=tuning:on, or tuning:observe to see what it would do"
NO_STEPS = "no step so far: too little is lost to depots, bins and their locks, or to memory that comes back"


def show_tuning(tuning: Tuning, console: Console) -> None:
    """Numbers in some lines, and the steps as a table."""
    if tuning.mode == "off":
        console.print(OFF)
        return
    console.print(
        f"tuning:{tuning.mode}  depot_room {tuning.depot_room} %, dirty_decay_ms {tuning.dirty_decay_ms}",
        soft_wrap=True,
        markup=False,
    )
    if tuning.mode != "room":
        _show_line(
            f"{tuning.windows} looks took {quantity(tuning.own_ns / 1e9, Unit.SECONDS)}; {tuning.steps} steps, "
            f"{_ended(tuning)}; lost of late {_part(tuning.lost_ppm)}",
            console,
        )
    _show_line(
        f"room of threads' caches: {tuning.room_trials} trials, {tuning.room_kept} kept, "
        f"{tuning.room_refused} undone; {size(tuning.room_lent)} borrowed now",
        console,
    )
    if tuning.last_steps:
        table = plain_table("after", "setting", "before", "tried", "outcome", "lost", "then", "peak", "then", names=2)
        for step in tuning.last_steps:
            table.add_row(*_row(step))
        console.print(table)
    elif tuning.mode != "room":
        show_note(NO_STEPS, console)


def _show_line(text: str, console: Console) -> None:
    console.print(text, style="dim", soft_wrap=True)


def _row(step: Step) -> tuple[str, ...]:
    known = step.outcome not in {"being tried", "would try"}
    return (
        quantity(step.at_ms / 1000, Unit.SECONDS),
        step.setting,
        str(step.before),
        str(step.after),
        step.outcome,
        _part(step.lost_before_ppm),
        _part(step.lost_after_ppm) if known else "–",
        size(step.held_before),
        size(step.held_after) if known else "–",
    )


def _ended(tuning: Tuning) -> str:
    later = f", {tuning.outgrown} outgrown later" if tuning.outgrown else ""
    return f"{tuning.kept} kept{later}, {tuning.undone} undone"


def _part(ppm: int) -> str:
    return f"{ppm / 10_000:.1f} %"


def tuning_document(tuning: Tuning) -> dict[str, Any]:
    """As plain lists and dictionaries; the names of docs/mallctl.md."""
    return {"format": FORMAT, **asdict(tuning), "last_steps": [asdict(one) for one in tuning.last_steps]}
