# SPDX-License-Identifier: MIT
"""What tuning has learned of a command, and what that is worth."""

from dataclasses import dataclass

from hew.model.advice import Setting
from hew.model.tuning import Tuning
from hew.model.verification import Outcome, Verification


@dataclass(frozen=True)
class Tuned:
    """What one run of a command has learned, and what that is worth; without `result` it has changed nothing."""

    tuning: Tuning
    settings: tuple[Setting, ...] = ()
    result: Verification | None = None
    outcome: Outcome | None = None
    faster: bool = False
    lean: bool = False  # it takes no more memory than it may

    @property
    def better(self) -> bool:
        """Whether to keep it."""
        return self.faster and self.lean
