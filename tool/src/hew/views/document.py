# SPDX-License-Identifier: MIT
"""The comparison as JSON: everything, in base units. compare.schema.json describes it."""

import json
from dataclasses import asdict
from typing import Any

from hew.model.report import AllocatorResult, Ratio, Report

FORMAT = "hew-compare/1"


def to_json(report: Report) -> str:
    """The document, indented."""
    return json.dumps(to_document(report), indent=2, ensure_ascii=False)


def to_document(report: Report) -> dict[str, Any]:
    """The document as plain lists and dictionaries."""
    setup = report.setup
    return {
        "format": FORMAT,
        "started": setup.started,
        "command": list(setup.command),
        "server": list(setup.server) if setup.server else None,
        "runs": setup.runs,
        "warmup": setup.warmup,
        "confidence": report.confidence,
        "machine": asdict(setup.machine),
        "figures": [
            {"key": one.key, "label": one.label, "unit": one.unit.value, "more_is_better": one.more_is_better}
            for one in report.figures
        ],
        "allocators": [_allocator(result) for result in report.results],
        "unusable": [asdict(one) for one in report.unusable],
        "notes": list(report.notes),
    }


def _allocator(result: AllocatorResult) -> dict[str, Any]:
    return {
        "name": result.allocator.name,
        "library": str(result.allocator.library) if result.allocator.library else None,
        "good_runs": result.good_runs,
        "values": {key: list(values) for key, values in result.values.items()},
        "medians": dict(result.medians),
        "ratios": {key: ratio_document(ratio) for key, ratio in result.ratios.items()},
        "rss": [[round(point.seconds, 4), point.bytes] for point in result.rss],
        "failures": [
            {"round": one.round, "reason": one.failure.reason, "stderr_tail": one.failure.stderr_tail}
            for one in result.failures
        ],
        "output_differs": result.output_differs,
        "notes": list(result.notes),
    }


def ratio_document(ratio: Ratio) -> dict[str, Any]:
    """A ratio with all that is known of it."""
    return {
        "value": ratio.value,
        "interval": [ratio.low, ratio.high],
        "pairs": ratio.pairs,
        "verdict": ratio.verdict.value,
        "per_round": list(ratio.per_round),
    }
