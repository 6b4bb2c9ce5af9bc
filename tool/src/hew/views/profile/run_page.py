# SPDX-License-Identifier: MIT
"""A recorded run as one page: memory over time, and below it the stacks of the moment that is chosen there. It fetches
nothing; page.py says how names stand in it."""

from collections.abc import Sequence
from html import escape
from typing import Any

from hew.model.whole_run import Moment, OverTime, PartOfStacks, Sum, WholeRun
from hew.views.profile.page import embedded, filled, notes_of
from hew.views.profile.whole_run_text import about

STYLES = ("page.css", "flame.css", "run.css")
SCRIPTS = ("flame.js", "run_data.js", "run_chart.js", "run.js")


def run_page(run: WholeRun, found: OverTime) -> str:
    """The whole page."""
    parts = {
        "title": escape(f"hew profile: {run.source}"),
        "summary": escape(about(run)),
        "notes": notes_of(run.notes),
        "data": embedded(run_data(run, found)),
    }
    return filled("run.html", STYLES, SCRIPTS, parts)


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
