# SPDX-License-Identifier: MIT
"""A fleet as JSON, in base units. fleet.schema.json describes it. What is infinite (never) is -1 or null."""

import json
import math
from dataclasses import asdict
from typing import Any

from hew.model.fleet import FleetState, LimitDay, Rollout, ServiceState, Span
from hew.model.report import Ratio
from hew.views.advice_document import advice_item
from hew.views.document import ratio_document

FORMAT = "hew-fleet/1"


def fleet_json(state: FleetState) -> str:
    """The ranking."""
    return json.dumps(fleet_document(state), indent=2, ensure_ascii=False, allow_nan=False)


def fleet_document(state: FleetState) -> dict[str, Any]:
    """The same as plain lists and dictionaries."""
    return {
        "format": FORMAT,
        "source": state.source,
        "begin": state.begin,
        "end": state.end,
        "gib_per_core": state.gib_per_core,
        "seconds": round(state.seconds, 3),
        "services": [_service(one) for one in state.services],
        "notes": list(state.notes),
    }


def _service(one: ServiceState) -> dict[str, Any]:
    return {
        "name": one.name,
        "processes": one.processes,
        "hosts": one.hosts,
        "cpu_cores": one.cores,
        "resident_bytes": one.resident,
        "cores_back": one.cores_back,
        "bytes_back": one.bytes_back,
        "score": one.score,
        "costs": [
            {
                "kind": cost.kind.value,
                "cores": cost.cores,
                "bytes": cost.bytes,
                "about": cost.about,
                "worst": {"host": cost.worst[0], "pid": cost.worst[1]},
            }
            for cost in one.costs
        ],
        "advice": [advice_item(advice) for advice in one.advice],
        "mixed": [
            {
                "setting": mixed.setting,
                "usual": _number(mixed.usual),
                "others": [{"host": host, "value": _number(value)} for host, value in mixed.others],
            }
            for mixed in one.mixed
        ],
        "limit": _limit(one.limit) if one.limit is not None else None,
    }


def _number(value: float) -> float:
    return -1 if math.isinf(value) else value


def _limit(day: LimitDay) -> dict[str, Any]:
    return asdict(day)


def rollout_json(rollout: Rollout) -> str:
    """Before and after."""
    return json.dumps(rollout_document(rollout), indent=2, ensure_ascii=False, allow_nan=False)


def rollout_document(rollout: Rollout) -> dict[str, Any]:
    """The same as plain lists and dictionaries."""
    return {
        "format": FORMAT,
        "service": rollout.service,
        "setting": rollout.setting or None,
        "before": _span(rollout.before),
        "after": _span(rollout.after),
        "figures": [
            {"key": one.key, "label": one.label, "unit": one.unit.value, "more_is_better": one.more_is_better}
            for one in rollout.figures
        ],
        "groups": [
            {
                "title": group.title,
                "hosts": group.hosts,
                "before": dict(group.before),
                "after": dict(group.after),
                "ratios": {key: _ratio(ratio) for key, ratio in group.ratios.items()},
            }
            for group in rollout.groups
        ],
        "missing": [{"host": host, "value": value} for host, value in rollout.missing],
        "notes": list(rollout.notes),
    }


def _span(span: Span) -> dict[str, float]:
    return {"begin": span.begin, "end": span.end}


def _ratio(ratio: Ratio) -> dict[str, Any]:
    """Without the hosts' own ratios: there may be 100,000."""
    found = ratio_document(ratio)
    del found["per_round"]
    return found
