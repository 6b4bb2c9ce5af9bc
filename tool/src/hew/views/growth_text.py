# SPDX-License-Identifier: MIT
"""What grew, on the terminal and as JSON."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from rich.console import Console
from rich.markup import escape

from hew.model.growth import Growth, Shape, Trend, Verdict
from hew.model.quantity import size
from hew.views.table import show_note

STYLES = {Verdict.LEAK: "bold red", Verdict.RETENTION: "yellow", Verdict.UNKNOWN: "dim"}


def show_growth(found: Sequence[Growth], notes: Sequence[str], console: Console) -> None:
    """Each process over time."""
    for one in found:
        console.print()
        who = f"[bold]{escape(one.title)}[/], {one.looks} samples in {duration(one.end - one.begin)}"
        console.print(f"{who}: [{STYLES.get(one.verdict, 'green')}]{escape(sentence(one))}[/]", soft_wrap=True)
        rows = [("live bytes", one.live)] if one.live else []
        classes = [(f"class {each.size:,}", each.trend) for each in one.classes]
        arenas = [(f"arena {each.key}", each.trend) for each in one.arenas]
        for label, trend in [*rows, ("resident", one.resident), *classes, *arenas]:
            console.print(f"  {label:14}{escape(_numbers(trend))}", soft_wrap=True)
    for note in notes:
        show_note(note, console)


def sentence(one: Growth) -> str:
    """The verdict in words."""
    live = one.live or one.resident
    where = f", most of it in objects of {one.classes[0].size:,} bytes" if one.classes else ""
    match one.verdict:
        case Verdict.LEAK:
            return f"a leak is likely: what is in use grows by {_rate(live.slope)}{where}"
        case Verdict.RETENTION:
            kept = one.resident.last - one.resident.first
            return f"retention, not a leak: {_plateaus(one.resident)}; {size(kept)} stay although nothing is in them"
        case Verdict.PLATEAUS:
            return f"grows in steps, or has stopped to grow: {_plateaus(live)}{where}"
        case Verdict.SAWTOOTH:
            return "goes up and down, and does not grow"
        case Verdict.FLAT:
            return "flat"
    return "too few samples to say: watch longer"


def _plateaus(trend: Trend) -> str:
    return f"{trend.plateaus} plateau{'' if trend.plateaus == 1 else 's'}"


def _numbers(trend: Trend) -> str:
    since = f", since {moment(trend.since)}" if trend.since is not None else ""
    if trend.shape is Shape.SHORT:
        return f"{size(trend.first)} -> {size(trend.last)}"
    return (
        f"{size(trend.first)} -> {size(trend.last)}{since}; {size(trend.lowest)} to {size(trend.highest)}, "
        f"{_rate(trend.slope)}, tau {trend.tau:.2f}, {_plateaus(trend)}: {trend.shape}"
    )


def _rate(slope: float) -> str:
    return f"{'-' if slope < 0 else ''}{size(abs(slope) * 3600)}/h"


def moment(at: float) -> str:
    """A time of this machine."""
    return datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M:%S")


def duration(seconds: float) -> str:
    """As people say it."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def growth_json(found: Sequence[Growth]) -> list[dict[str, Any]]:
    """The same for programs."""
    return [{**asdict(one), "sentence": sentence(one)} for one in found]
