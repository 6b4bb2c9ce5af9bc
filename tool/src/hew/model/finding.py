# SPDX-License-Identifier: MIT
"""A finding of the doctor: a fact, why it matters, what to do next."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


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
