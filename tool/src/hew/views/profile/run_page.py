# SPDX-License-Identifier: MIT
"""A recorded run as one page: memory over time, and below it the stacks of the moment that is chosen there. It fetches
nothing; page.py says how names stand in it."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from hew.model.whole_run import Moment, OverTime, PartOfStacks, Sum, WholeRun
from hew.views.profile.page import embedded, filled, notes_of
from hew.views.profile.whole_run_text import about

STYLES = ("page.css", "flame.css", "run.css")
SCRIPTS = ("flame.js", "run_data.js", "run_chart.js", "run.js")


@dataclass(frozen=True)
class PageOfRun:
    """One process of a recording."""

    title: str
    run: WholeRun
    found: OverTime


def run_page(pages: Sequence[PageOfRun], recorded: int = 1) -> str:
    """The whole page, which opens at the first process. `recorded`: how many there were. The data of each are read when
    that one is shown."""
    first = pages[0].run
    left_out = f"<li>{recorded - len(pages):,} smaller processes are not in this page.</li>"
    processes = [{"title": one.title, "summary": about(one.run), "notes": list(one.run.notes)} for one in pages]
    parts = {
        "title": escape(f"hew profile: {first.source}"),
        "summary": escape(about(first)),
        "notes": notes_of(first.notes),
        "others": left_out if recorded > len(pages) else "",
        "data": _script("processes", processes)
        + "".join(_script(f"data-{number}", run_data(one.run, one.found)) for number, one in enumerate(pages)),
    }
    return filled("run.html", STYLES, SCRIPTS, parts)


def _script(name: str, document: object) -> str:
    return f'<script type="application/json" id="{name}">{embedded(document)}</script>\n'


def run_data(run: WholeRun, found: OverTime) -> dict[str, Any]:
    """What the scripts draw. The peak is the highest of the parts' moments."""
    return {
        "seconds": run.seconds,
        "sample": run.sample,
        "partSeconds": run.part_seconds,
        "partCount": run.part_count,
        "names": found.names,
        "name": found.name,
        "parent": found.parent,
        "leaves": found.leaves,
        "parts": [_part(one) for one in found.parts],
    }


def _part(one: PartOfStacks) -> list[Any]:
    moment = one.part.moment
    flat = [_flat(sums) for sums in (_totals(moment), moment.sizes, one.part.born)]
    return [one.part.number, moment.seconds, *flat, list(one.changed)]


def _totals(moment: Moment) -> Sequence[Sum]:
    return (moment.totals.made, moment.totals.live, moment.totals.temporary)


def _flat(sums: Sequence[Sum]) -> list[int]:
    return [value for one in sums for value in (one.count, one.bytes)]
