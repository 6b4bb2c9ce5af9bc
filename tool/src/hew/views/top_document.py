# SPDX-License-Identifier: MIT
"""What `hew top` shows as JSON: the processes, or one of them. top.schema.json describes it."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from hew.model.live import LiveView, ProcessRow

FORMAT = "hew-top/1"


def top_json(rows: Sequence[ProcessRow], view: LiveView | None) -> str:
    """The document, indented, in bytes; rates are per second."""
    document = {
        "format": FORMAT,
        "processes": [asdict(row) for row in rows],
        "process": process_document(view) if view is not None else None,
    }
    return json.dumps(document, indent=1, ensure_ascii=False)


def process_document(view: LiveView) -> dict[str, Any]:
    """One process."""
    moment = view.moment
    snapshot = moment.snapshot
    threads = snapshot.threads if snapshot else ()
    return {
        "pid": moment.pid,
        "name": moment.name,
        "words": moment.words,
        "allocator": moment.allocator,
        "outside": asdict(moment.outside),
        "why": moment.why,
        "parts": [asdict(part) for part in view.parts],
        "rates": [asdict(rate) for rate in view.rates],
        "threads": [{**asdict(one), "rate": view.thread_rates.get(one.number)} for one in threads],
    }
