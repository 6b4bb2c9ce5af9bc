# SPDX-License-Identifier: MIT
"""The run of a suite as JSON: what is saved, compared, and made into documentation. Every number in base units."""

import json
from dataclasses import asdict
from typing import Any

from hew.model.bench import BenchReport, Change, WorkloadResult
from hew.views.document import ratio_document, to_document

FORMAT = "hew-bench/1"
CHANGES_FORMAT = "hew-bench-changes/1"


def bench_json(report: BenchReport) -> str:
    """The document, indented."""
    return json.dumps(bench_document(report), indent=1, ensure_ascii=False)


def bench_document(report: BenchReport) -> dict[str, Any]:
    """The document as plain lists and dictionaries. Each report in it is a `hew compare` document."""
    return {
        "format": FORMAT,
        "suite": report.suite,
        "started": report.started,
        "seconds": round(report.seconds),
        "machine": asdict(report.machine),
        "allocators": [
            {
                "name": one.name,
                "library": str(one.library) if one.library else None,
                "version": report.versions.get(one.name),
            }
            for one in report.allocators
        ],
        "unusable": [asdict(one) for one in report.unusable],
        "notes": list(report.notes),
        "mean": to_document(report.mean) if report.mean else None,
        "groups": {name: to_document(one) for name, one in report.groups.items()},
        "workloads": [_workload(one) for one in report.workloads],
    }


def _workload(result: WorkloadResult) -> dict[str, Any]:
    return {
        "name": result.workload.name,
        "group": result.workload.group,
        "curve": result.workload.curve,
        "best": {
            key: {"name": best.name, "ratio": ratio_document(best.ratio) if best.ratio else None}
            for key, best in result.best.items()
        },
        "report": to_document(result.report),
        "points": [
            {"series": point.series, "at": point.at, "unit": point.unit, "medians": dict(point.medians)}
            for point in result.curve
        ],
        "curve_means": [asdict(mean) for mean in result.means],
    }


def changes_json(allocator: str, changes: list[Change]) -> str:
    """The difference of two saved runs."""
    rows = [
        {
            "workload": one.workload,
            "figure": one.figure,
            "before": one.before,
            "after": one.after,
            "change": ratio_document(one.change),
        }
        for one in changes
    ]
    return json.dumps({"format": CHANGES_FORMAT, "allocator": allocator, "changes": rows}, indent=1)
