# SPDX-License-Identifier: MIT
"""Advice: what to change, the evidence, the expected effect, and how to verify it."""

from collections.abc import Callable
from enum import StrEnum

from hew.model.figures import Unit
from hew.model.lazy_dataclass import dataclass
from hew.model.process import ProcessFacts
from hew.model.statistics import Snapshot

MALLOC_CONF = "MALLOC_CONF"


class Certainty(StrEnum):
    """How far the evidence goes."""

    SURE = "sure"  # the numbers show it
    LIKELY = "likely"  # the numbers fit, and would fit something harmless too, which the advice names


@dataclass(frozen=True)
class Evidence:
    """A number and the name under which the report, or /proc, has it."""

    label: str
    value: float
    unit: Unit
    where: str


@dataclass(frozen=True)
class Setting:
    """A setting to try: of MALLOC_CONF, or an environment variable of its own. `live` is the mallctl name that changes
    it in a running process."""

    name: str
    value: str
    variable: str = MALLOC_CONF
    live: str | None = None

    @property
    def text(self) -> str:
        """As it is written: `dirty_decay_ms:1000`, `MALLOC_ARENA_MAX=2`."""
        return f"{self.name}:{self.value}" if self.variable == MALLOC_CONF else f"{self.variable}={self.value}"


@dataclass(frozen=True)
class Advice:
    """What one rule says of one process. `settings` belong together; without any, `change` is all there is to do."""

    rule: str
    title: str
    subject: str
    evidence: tuple[Evidence, ...]
    settings: tuple[Setting, ...]
    cpu: str
    memory: str
    risk: str
    verify: str
    otherwise: str | None = None  # what will happen if nothing is done
    change: str | None = None  # what to do in the program, or besides the settings
    certainty: Certainty = Certainty.SURE

    def conf(self) -> str:
        """The settings of MALLOC_CONF in one line."""
        return ",".join(one.text for one in self.settings if one.variable == MALLOC_CONF)


@dataclass(frozen=True)
class Case:
    """All that a rule may look at. `cpus` is what the process may use of the machine, where that is known."""

    snapshot: Snapshot | None = None
    process: ProcessFacts | None = None
    cpus: float | None = None


Rule = Callable[[Case], Advice | None]
