# SPDX-License-Identifier: MIT
"""A finding of the doctor: a fact, why it matters, what to do next."""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from hew.model.lazy_dataclass import dataclass


class Level(StrEnum):
    """How much a finding asks of its reader."""

    FACT = "fact"
    NOTE = "note"
    WARNING = "warning"


@dataclass(frozen=True)
class Finding:
    """One finding. `evidence` holds its numbers in base units, for programs."""

    topic: str
    level: Level
    what: str
    why: str = ""
    next: str = ""
    evidence: Mapping[str, object] = field(default_factory=dict)
