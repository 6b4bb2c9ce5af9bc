# SPDX-License-Identifier: MIT
"""A command measured with and without some advice."""

from collections.abc import Mapping

from hew.model.advice import Advice
from hew.model.figures import Figure
from hew.model.lazy_dataclass import dataclass
from hew.model.report import FailedRun, Machine, Ratio

WITHOUT = "without"


@dataclass(frozen=True)
class Variant:
    """One way to run the command: changes of the environment, and the advice they come from."""

    name: str
    advice: tuple[Advice, ...]
    changes: Mapping[str, str]
    words: tuple[str, ...] = ()  # behind those of the command


@dataclass(frozen=True)
class Outcome:
    """What came of one variant; the ratios are to the command as it is."""

    variant: Variant
    medians: Mapping[str, float]
    ratios: Mapping[str, Ratio]
    good_runs: int
    failures: tuple[FailedRun, ...]
    output_differs: bool


@dataclass(frozen=True)
class Verification:
    """All of it. `outcomes` begins with the command as it is."""

    command: tuple[str, ...]
    subject: str
    runs: int
    warmup: int
    started: str
    machine: Machine
    confidence: float
    figures: tuple[Figure, ...]
    outcomes: tuple[Outcome, ...]
    unmeasured: tuple[Advice, ...]
    notes: tuple[str, ...]
    server: tuple[str, ...] | None = None  # that the command loads, and that is measured
