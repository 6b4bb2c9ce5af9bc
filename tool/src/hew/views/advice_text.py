# SPDX-License-Identifier: MIT
"""Advice on the terminal: the finding, the evidence, the setting, and the expected effect."""

from collections.abc import Iterator, Sequence
from shlex import quote

from rich.console import Console
from rich.markup import escape

from hew.model.advice import MALLOC_CONF, Advice, Certainty, Evidence
from hew.model.figures import Unit
from hew.model.quantity import quantity
from hew.views.openmetrics import one_line, printable
from hew.views.table import show_note


def show_advice(found: Sequence[Advice], notes: Sequence[str], console: Console) -> None:
    """Every advice, and what a reader must know besides; nothing when there is neither."""
    for one in found:
        console.print()
        doubt = "  [yellow](likely)[/]" if one.certainty is Certainty.LIKELY else ""
        console.print(
            f"[bold]{escape(printable(one.title))}[/]{doubt}   [dim]{one.rule}, {escape(one_line(one.subject))}[/]",
            soft_wrap=True,
        )
        for line in _evidence(one.evidence):
            console.print(line, soft_wrap=True)
        for label, text in _answers(one):
            console.print(f"  [green]{label:8}[/] {escape(printable(text))}", soft_wrap=True)
    if found and notes:
        console.print()
    for note in notes:
        show_note(one_line(note), console)


def _answers(one: Advice) -> list[tuple[str, str]]:
    settings = [
        f"{setting.variable}={quote(setting.value)}" for setting in one.settings if setting.variable != MALLOC_CONF
    ]
    if one.conf():
        settings.insert(0, f"{MALLOC_CONF}={quote(one.conf())}")
    live = [setting.live for setting in one.settings if setting.live]
    answers = [("try", " ".join(settings))] if settings else []
    # On a line of its own: the one before is for pasting into a shell.
    answers += [("live", f"mallctl {', '.join(live)}")] if live else []
    if one.change:
        answers.append(("besides" if settings else "change", one.change))
    if one.otherwise:
        answers.append(("if not", one.otherwise))
    answers += [("CPU", one.cpu), ("memory", one.memory), ("risk", one.risk), ("verify", one.verify)]
    return answers


def _evidence(evidence: Sequence[Evidence]) -> Iterator[str]:
    """One line each, in columns; never cut off, since the names are for copying."""
    label = max(len(one.label) for one in evidence)
    number = max(len(shown(one)) for one in evidence)
    for one in evidence:
        what, where = (escape(printable(text)) for text in (one.label, one.where))
        yield f"  {what:{label}}  {shown(one):>{number}}  [dim]{where}[/]"


def shown(one: Evidence) -> str:
    """The number with its unit; small counts that are no whole numbers keep a digit."""
    if one.unit is Unit.COUNT and one.value != int(one.value):
        return f"{one.value:,.{1 if one.value >= 1 else 2}f}"
    return quantity(one.value, one.unit)
