# SPDX-License-Identifier: MIT
"""What tuning has done, for the terminal and for programs."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from hew.model.figures import Unit
from hew.model.quantity import quantity, size
from hew.model.tuning import CACHE, DECAY, DEPOTS, Step, Tuning
from hew.views.openmetrics import one_line
from hew.views.table import plain_table, show_note

FORMAT = "hew-tuning/1"
OFF = "tuning is off: HEW_CONF=tuning:on, or tuning:observe to see what it would do"
QUIET = "nothing was tried: caches and depots have room, and little that goes back is wanted again"
NO_STEPS = "no step so far"
STEP_COLUMNS = ("after", "setting", "step", "outcome", "because", "effect")
UNKNOWN = "–"
LAST = 5  # steps beside other things; `hew ctl --tuning` shows all that the process keeps
WIDEST = 1000  # columns of any table of steps, and more
MILLIONTHS = 10_000  # in a percent
SMALL = 0.1  # percent


def show_tuning(tuning: Tuning, console: Console, most: int | None = None) -> None:
    """Numbers in some lines, and the steps (the last `most` of them) as a table."""
    if not tuning.tells:
        quiet = f"tuning:{one_line(tuning.mode)}  {QUIET}"
        console.print(OFF if tuning.mode == "off" else quiet, soft_wrap=True, markup=False)
        return
    console.print(f"tuning:{one_line(tuning.mode)}  {_in_force(tuning)}", soft_wrap=True, markup=False)
    if tuning.windows:
        took = quantity(tuning.own_ns / 1e9, Unit.SECONDS)
        _show_line(f"{tuning.windows} looks took {took}; {_steps(tuning)}", console)
    if tuning.room_trials:
        lent = f"; {size(tuning.room_lent)} borrowed now" if tuning.room_lent else ""
        _show_line(f"room of threads' caches: {_trials(tuning)}{lent}", console)
    if tuning.depots_judged:
        _show_line(f"room of depots beyond the usual: {_verdicts(tuning)}", console)
    if tuning.last_steps:
        steps = tuning.last_steps[-most if most else None :]
        table = _table(steps, wide=True)
        fits = console.measure(table, options=console.options.update(max_width=WIDEST)).maximum <= console.width
        console.print(table if fits else _table(steps, wide=False))
    elif not tuning.room_depots:
        show_note(NO_STEPS, console)


def _table(steps: Sequence[Step], wide: bool) -> Table:
    """A row for each step. A narrow terminal has what was measured of it below each other, so that no number is cut."""
    if wide:
        table = plain_table(*STEP_COLUMNS, names=len(STEP_COLUMNS))
    else:
        table = plain_table(*STEP_COLUMNS[:-2], names=len(STEP_COLUMNS))
        table.add_column("because, effect")
    for step in steps:
        *cells, because, effect = (escape(cell) for cell in step_cells(step))
        found = (because, effect) if wide else (because if effect == UNKNOWN else f"{because},\n{effect}",)
        table.add_row(*cells, *found)
    return table


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
    if tuning.steps:
        parts.append(f"{DECAY} {tuning.dirty_decay_ms}, {_steps(tuning)}")
    if tuning.room_depots or tuning.depots_judged:
        verdicts = f", {_verdicts(tuning)}" if tuning.depots_judged else ""
        parts.append(f"{size(tuning.room_depots)} more for depots{verdicts}")
    if tuning.room_trials:
        lent = f"{size(tuning.room_lent)} lent to threads' caches; " if tuning.room_lent else "threads' caches: "
        parts.append(f"{lent}{_trials(tuning)}")
    return one_line(f"tuning:{tuning.mode}   {'   '.join(parts) or NO_STEPS}")


def step_cells(step: Step) -> tuple[str, ...]:
    """One step under STEP_COLUMNS."""
    because, effect = _found(step)
    return (
        quantity(step.at_ms / 1000, Unit.SECONDS),
        one_line(step.setting),
        f"{step.before}→{step.after}",
        one_line(step.outcome),
        because,
        effect,
    )


def _found(step: Step) -> tuple[str, str]:
    """Why it was made, and what it did; nothing of settings that only another library moves, or tells otherwise."""
    reasons, effects = (step.reason_before, step.reason_after), (step.effect_before, step.effect_after)
    if step.setting not in {CACHE, DECAY, DEPOTS} or not any(reasons + effects):
        return UNKNOWN, UNKNOWN
    because = _span(reasons, _percent, step.is_measured)
    if step.setting == DECAY:
        return f"wanted again {because} %", f"{_span(effects, _percent, step.is_measured)} % of wanted pages gone"
    effect = f"{_span(effects, _nanoseconds, step.is_measured)} ns an operation"
    return (f"misses {because} %" if step.setting == CACHE else UNKNOWN), effect


def _span(values: tuple[int, int], shown: Callable[[int], str], both: bool) -> str:
    before, after = map(shown, values)
    return f"{before} → {after}" if both else before


def _percent(ppm: int) -> str:
    share = ppm / MILLIONTHS
    return f"{share:.2f}" if 0 < share < SMALL else f"{share:.1f}"


def _nanoseconds(picoseconds: int) -> str:
    return f"{picoseconds / 1000:,.1f}"


def _in_force(tuning: Tuning) -> str:
    more = f"; depots may hold {size(tuning.room_depots)} more" if tuning.room_depots else ""
    return f"{DECAY} {tuning.dirty_decay_ms}{more}"


def _show_line(text: str, console: Console) -> None:
    console.print(text, style="dim", soft_wrap=True)


def _steps(tuning: Tuning) -> str:
    """Those of the decay time."""
    if not tuning.steps:
        return f"no step of {DECAY}"
    steps = f"{tuning.steps} step{'s' if tuning.steps > 1 else ''}"
    if tuning.mode == "observe":
        return f"{steps} that it would try"
    return f"{steps} of it: {tuning.kept} kept, {tuning.undone} undone"


def _trials(tuning: Tuning) -> str:
    """Those that threads make by themselves of more room for their caches."""
    if tuning.mode == "observe":
        return f"{tuning.room_trials} trials that they would make"
    return f"{tuning.room_trials} trials, {tuning.room_kept} kept, {tuning.room_refused} undone"


def _verdicts(tuning: Tuning) -> str:
    """Those on the room of depots, by the processor time of an operation."""
    times = f"{tuning.depots_judged} time{'s' if tuning.depots_judged > 1 else ''}"
    return f"judged {times}, undone {tuning.depots_undone}"


def tuning_document(tuning: Tuning) -> dict[str, Any]:
    """As plain lists and dictionaries; the names of docs/mallctl.md."""
    return {"format": FORMAT, **asdict(tuning), "last_steps": [asdict(one) for one in tuning.last_steps]}
