# SPDX-License-Identifier: MIT
"""What `hew serve` answers as JSON: bytes, seconds, counts. serve.schema.json describes it."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from hew.model.control import Applied
from hew.model.live import ProcessRow
from hew.model.profile_view import Row, Shown, Tree
from hew.model.serving import Comparison, Kept, KeptProfile, Point, Seen
from hew.views.profile.page import page_data
from hew.views.profile.text import summary
from hew.views.top_document import process_document


def processes_document(rows: Sequence[ProcessRow], named: Sequence[int], fleet: bool) -> dict[str, Any]:
    """The list; `named`: those of the command line; `fleet`: whether there is one to be shown."""
    return {"processes": [asdict(row) for row in rows], "named": list(named), "fleet": fleet}


def seen_document(seen: Seen) -> dict[str, Any]:
    """One process as of the last look, and the points of its history that were asked for."""
    snapshot = seen.view.moment.snapshot
    settings = dict(snapshot.opt) if snapshot else {}
    return {
        **process_document(seen.view),
        "ended": seen.ended,
        "thread_names": dict(seen.view.moment.threads),
        "history": history_document(seen.points),
        "locks": asdict(seen.details.locks),
        "sizes": [asdict(one) for one in seen.details.sizes],
        "arenas": [asdict(one) for one in seen.details.arenas],
        "depot": asdict(snapshot.depot) if snapshot and snapshot.depot.depots is not None else None,
        "limit": asdict(snapshot.limit) if snapshot and snapshot.limit.source else None,
        "profiles": {name: settings.get(name) for name in ("prof", "prof_format", "prof_accum")},
    }


def history_document(points: Sequence[Point]) -> dict[str, Any]:
    """By columns: a name stands once. What a point does not have is null."""
    parts = dict.fromkeys(name for one in points for name in one.parts)
    rates = dict.fromkeys(name for one in points for name in one.rates)
    return {
        "at": [round(one.at, 2) for one in points],
        "resident": [one.resident for one in points],
        "parts": {name: [one.parts.get(name) for one in points] for name in parts},
        "rates": {name: [_short(one.rates.get(name)) for one in points] for name in rates},
    }


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.5g}")


def kept_document(kept: Sequence[Kept]) -> dict[str, Any]:
    """The reports that can be compared."""
    return {"kept": [asdict(one) for one in kept]}


def comparison_document(found: Comparison) -> dict[str, Any]:
    """Two of them."""
    return asdict(found)


def applied_document(rule: str, results: Sequence[Applied]) -> dict[str, Any]:
    """What became of the settings of an advice."""
    rows = [
        {"name": one.name, "value": one.value, "outcome": one.outcome.name.lower(), "remark": one.remark}
        for one in results
    ]
    return {"rule": rule, "results": rows}


def flame_document(
    about: KeptProfile, kept: Sequence[KeptProfile], shown: Shown, tree: Tree, found: Sequence[Row]
) -> dict[str, Any]:
    """A heap profile as the page's flame graph takes it, and which ones there are to be compared with."""
    return {
        "profile": asdict(about),
        "kept": [asdict(one) for one in kept],
        "summary": summary(shown),
        "notes": list(shown.profile.notes),
        "graph": page_data(shown, tree, found),
    }


def kept_profile_document(kept: KeptProfile) -> dict[str, Any]:
    """One that was kept."""
    return asdict(kept)
