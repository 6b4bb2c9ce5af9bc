# SPDX-License-Identifier: MIT
"""Advice as JSON, in base units. advice.schema.json describes it."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from hew.model.advice import Advice

FORMAT = "hew-advice/1"


def advice_json(source: str, found: Sequence[Advice], notes: Sequence[str]) -> str:
    """The document, indented. Without advice its list is empty."""
    document = {"format": FORMAT, "source": source, "advice": [_advice(one) for one in found], "notes": list(notes)}
    return json.dumps(document, indent=2, ensure_ascii=False)


def _advice(one: Advice) -> dict[str, Any]:
    found = asdict(one)
    for document, setting in zip(found["settings"], one.settings, strict=True):
        document["text"] = setting.text
    return {**found, "conf": one.conf()}
