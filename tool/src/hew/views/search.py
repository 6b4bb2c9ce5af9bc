# SPDX-License-Identifier: MIT
"""What a search has found: for the terminal and for programs."""

import json
import shlex
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from hew.model.known_allocators import OWN_CONF
from hew.model.quantity import three_digits
from hew.model.search import Candidate, SearchResult, Tried
from hew.views.openmetrics import printable
from hew.views.table import show_note
from hew.views.text import command_line
from hew.views.verification import show_verification, verification_document

FORMAT = "hew-search/1"


def show_search(result: SearchResult, console: Console) -> None:
    """Print the front, the fresh runs, and the recommendation."""
    console.print()
    failed = sum(one.failure is not None for one in result.tried)
    words = f"{len(result.tried)} candidates tried" + (f", {failed} of them failed" if failed else "")
    console.print(f"[bold]{escape(command_line(result.server or result.command))}[/]  [dim]{words}[/]", soft_wrap=True)
    for limit in result.wanted.limits:
        console.print(f"limit: {limit.text}", style="dim")
    if result.front:
        console.print(
            f"front, as ratios to {result.base.label}; in the search, so the best of them were lucky too:",
            style="dim",
            soft_wrap=True,
        )
        console.print(_front(result), soft_wrap=True)
    else:
        console.print(f"no candidate beats {result.base.label} in any goal")
    if result.final is not None:
        show_verification(result.final, console)
    console.print()
    console.print(Text(_capital(result.verdict), style="bold"), soft_wrap=True)
    for note in result.notes:
        show_note(note, console)


def _front(result: SearchResult) -> Text:
    """Ratios first, so that a long list of settings is never cut."""
    labels = [goal.figure.label for goal in result.wanted.goals]
    lines = ["  ".join(labels)]
    for one in result.front:
        cells = [
            _ratio(one, goal.figure.key).rjust(len(label))
            for goal, label in zip(result.wanted.goals, labels, strict=True)
        ]
        lines.append("  ".join([*cells, one.candidate.label]))
    return Text("\n".join(lines))


def _ratio(one: Tried, key: str) -> str:
    value = one.ratios.get(key)
    return "–" if value is None else f"{three_digits(value)}×"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def settings_file(result: SearchResult) -> str:
    """A file for hew's setting conf_file: the evidence as comments, then the recommended settings and those set before.
    Only comments if nothing is recommended, or only settings of other allocators."""
    lines = [f"hew search of {printable(command_line(result.server or result.command))}: {printable(result.verdict)}."]
    if result.final is not None:
        pick = result.final.outcomes[1]
        lines += [f"{len(result.tried)} candidates tried; then {pick.good_runs} fresh runs beside {result.base.label}:"]
        lines += [
            f"  {figure.label} {three_digits(ratio.value)}x ({three_digits(ratio.low)} to {three_digits(ratio.high)})"
            for figure in result.final.figures
            if (ratio := pick.ratios.get(figure.key)) is not None
        ]
    lines += [printable(note) for note in result.notes]
    changes = result.final.outcomes[1].variant.changes if result.final and result.recommended else {}
    lines += [f"in the environment: {name}={printable(value)}" for name, value in changes.items() if name != OWN_CONF]
    comments = "".join(f"# {' '.join(line.split())}\n" for line in lines)
    return comments + "".join(f"{value}\n" for name, value in changes.items() if name == OWN_CONF)


def said_of_file(result: SearchResult, saved_to: Path) -> str:
    """What to do with it."""
    if not settings_file(result).splitlines()[-1].startswith("#"):
        return f"settings saved: HEW_CONF={shlex.quote(f'conf_file:{saved_to}')}"
    return f"{saved_to} has the evidence, and no setting"


def search_json(result: SearchResult) -> str:
    """One document, in base units."""
    return json.dumps(search_document(result), indent=2, ensure_ascii=False)


def search_document(result: SearchResult) -> dict[str, Any]:
    """The document as plain lists and dictionaries; search.schema.json describes it."""
    return {
        "format": FORMAT,
        "command": list(result.command),
        "server": list(result.server) if result.server else None,
        "base": result.base.label,
        "goals": [
            {
                "name": one.name,
                "key": one.figure.key,
                "label": one.figure.label,
                "more_is_better": one.figure.more_is_better,
            }
            for one in result.wanted.goals
        ],
        "limits": [one.text for one in result.wanted.limits],
        "tried": [_tried(one) for one in result.tried],
        "front": [_tried(one) for one in result.front],
        "verification": verification_document(result.final) if result.final else None,
        "recommended": _candidate(result.recommended) if result.recommended else None,
        "verdict": result.verdict,
        "interrupted": result.interrupted,
        "notes": list(result.notes),
    }


def _tried(one: Tried) -> dict[str, Any]:
    return {**_candidate(one.candidate), "ratios": dict(one.ratios), "rounds": one.rounds, "failure": one.failure}


def _candidate(one: Candidate) -> dict[str, Any]:
    return {
        "allocator": one.allocator,
        "settings": [{"name": row.name, "value": row.value, "variable": row.variable} for row in one.settings],
    }
