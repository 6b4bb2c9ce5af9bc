# SPDX-License-Identifier: MIT
"""What tuning has done, for the terminal and for programs."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.markup import escape

from hew.model.figures import Unit
from hew.model.quantity import quantity, size
from hew.model.tuning import DECAY, ROOM, Step, Tuning
from hew.views.openmetrics import one_line
from hew.views.table import plain_table, show_note

FORMAT = "hew-tuning/1"
OFF = "tuning is off: HEW_CONF=tuning:on, or tuning:observe to see what it would do"
NO_STEPS = "no step so far: too little is lost to depots, bins and their locks, or to memory that comes back"
STEP_COLUMNS = ("after", "setting", "step", "outcome", "lost", "peak")
UNKNOWN = "–"
LAST = 5  # steps beside other things; `hew ctl --tuning` shows all that the process keeps
# By setting: why a step up was made, and why one down.
REASONS = {
    ROOM: ("batches turned away", "little was lost"),
    DECAY: ("pages wanted again", "few pages wanted again"),
}


def show_tuning(tuning: Tuning, console: Console, most: int | None = None) -> None:
    """Numbers in some lines, and the steps (the last `most` of them) as a table."""
    if tuning.mode == "off":
        console.print(OFF)
        return
    console.print(
        f"tuning:{one_line(tuning.mode)}  depot_room {tuning.depot_room} %, dirty_decay_ms {tuning.dirty_decay_ms}",
        soft_wrap=True,
        markup=False,
    )
    if tuning.mode != "room":
        _show_line(
            f"{tuning.windows} looks took {quantity(tuning.own_ns / 1e9, Unit.SECONDS)}; {tuning.steps} steps, "
            f"{_ended(tuning)}; lost of late {_part(tuning.lost_ppm)}",
            console,
        )
    _show_line(f"room of threads' caches: {_trials(tuning)}; {size(tuning.room_lent)} borrowed now", console)
    if tuning.last_steps:
        table = plain_table(*STEP_COLUMNS, names=2)
        for step in tuning.last_steps[-most if most else None :]:
            table.add_row(*(escape(cell) for cell in step_cells(step)))
        console.print(table)
    elif tuning.mode != "room":
        show_note(NO_STEPS, console)


def show_tried(tuned: Sequence[Tuning], console: Console) -> None:
    """Near advice: what each process has changed by itself, and its last steps."""
    for one in tuned:
        console.print()
        observes = one.mode == "observe"
        title = "what it would try by itself; nothing was changed" if observes else "what it has tried by itself"
        console.print(f"[bold]{title}[/]", soft_wrap=True)
        show_tuning(one, console, LAST)


def in_short(tuning: Tuning) -> str:
    """One sentence: what is moved now, and how many steps and trials of threads led there."""
    parts = []
    if tuning.mode != "room":
        steps = "that it would try" if tuning.mode == "observe" else f"made: {_ended(tuning)}"
        parts += [
            f"depot_room {tuning.depot_room} %, dirty_decay_ms {tuning.dirty_decay_ms}",
            f"{tuning.steps} steps {steps}",
        ]
    if tuning.room_trials:
        parts.append(f"{size(tuning.room_lent)} lent to threads' caches; {_trials(tuning)}")
    return one_line(f"tuning:{tuning.mode}   {'   '.join(parts)}".rstrip())


def step_cells(step: Step) -> tuple[str, ...]:
    """One step under STEP_COLUMNS. A decay time is no trial, so nothing was measured of it."""
    measured = step.setting != DECAY
    after = measured and step.outcome not in {"being tried", "would try"}
    lost = _span(_part(step.lost_before_ppm), _part(step.lost_after_ppm) if after else "")
    peak = _span(size(step.held_before), size(step.held_after) if after else "")
    return (
        quantity(step.at_ms / 1000, Unit.SECONDS),
        one_line(step.setting),
        f"{step.before}→{step.after}",
        one_line(step.outcome),
        lost if measured else UNKNOWN,
        peak if measured else UNKNOWN,
    )


def reason(step: Step) -> str:
    """Why it was made; nothing of settings that only a newer library moves."""
    up, down = REASONS.get(step.setting, ("", ""))
    if up and step.outcome == "outgrown":
        return f"{up}; later memory outgrew it"
    return up if step.after > step.before else down


def _span(before: str, after: str) -> str:
    """Two amounts with one arrow; a unit that both have stands once, so that a step fits a narrow terminal."""
    unit = before.rpartition(" ")[2]
    if not after:
        return before
    return f"{before.removesuffix(f' {unit}') if after.endswith(f' {unit}') else before}→{after}"


def _show_line(text: str, console: Console) -> None:
    console.print(text, style="dim", soft_wrap=True)


def _ended(tuning: Tuning) -> str:
    later = f", {tuning.outgrown} outgrown later" if tuning.outgrown else ""
    return f"{tuning.kept} kept{later}, {tuning.undone} undone"


def _trials(tuning: Tuning) -> str:
    """Those that threads make by themselves of more room for their caches."""
    if tuning.mode == "observe":
        return f"{tuning.room_trials} trials that they would make"
    return f"{tuning.room_trials} trials, {tuning.room_kept} kept, {tuning.room_refused} undone"


def _part(ppm: int) -> str:
    return f"{ppm / 10_000:.1f} %"


def tuning_document(tuning: Tuning) -> dict[str, Any]:
    """As plain lists and dictionaries; the names of docs/mallctl.md."""
    return {"format": FORMAT, **asdict(tuning), "last_steps": [asdict(one) for one in tuning.last_steps]}
