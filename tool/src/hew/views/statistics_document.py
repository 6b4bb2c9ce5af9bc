# SPDX-License-Identifier: MIT
"""Statistics as JSON: every report as it was read, in bytes and nanoseconds. What is not reported is null.
stats.schema.json describes it; names are those of jemalloc's own JSON."""

import json
from dataclasses import asdict
from typing import Any

from hew.model.statistics import Reading, Snapshot

FORMAT = "hew-stats/1"


def statistics_json(reading: Reading) -> str:
    """The document, indented."""
    document = {
        "format": FORMAT,
        "source": reading.source,
        "other_bytes": reading.other_bytes,
        "attached": reading.attached or None,
        "snapshots": [_snapshot(one) for one in reading.snapshots],
    }
    return json.dumps(document, indent=1, ensure_ascii=False)


def _snapshot(snapshot: Snapshot) -> dict[str, Any]:
    return {"allocator": snapshot.allocator, "release": snapshot.release, **asdict(snapshot)}
