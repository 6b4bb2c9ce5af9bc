# SPDX-License-Identifier: MIT
"""Advice as JSON, in base units. advice.schema.json describes it."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from hew.model.advice import Advice
from hew.model.coverage import Coverage
from hew.views.coverage import coverage_json

FORMAT = "hew-advice/1"


def advice_json(document: dict[str, Any], growth: Sequence[dict[str, Any]] = ()) -> str:
    """The document, indented; `growth` is of a recording."""
    found = {**document, "over_time": list(growth)} if growth else document
    return json.dumps(found, indent=2, ensure_ascii=False)


def advice_document(source: str, found: Sequence[Advice], notes: Sequence[str], seen: Coverage) -> dict[str, Any]:
    """The document as plain lists and dictionaries. Without advice its list is empty."""
    return {
        "format": FORMAT,
        "source": source,
        "outcome": seen.outcome.value,
        "advice": [advice_item(one) for one in found],
        "notes": list(notes),
        "looked_at": coverage_json(seen),
    }


def advice_item(one: Advice) -> dict[str, Any]:
    """One advice."""
    found = asdict(one)
    for document, setting in zip(found["settings"], one.settings, strict=True):
        document["text"] = setting.text
    return {**found, "conf": one.conf()}
