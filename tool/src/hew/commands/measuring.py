# SPDX-License-Identifier: MIT
"""How a plan is measured in several places: what a schedule calls for each of its steps."""

from collections.abc import Callable, Mapping

from hew.model.run import Plan, Run, Step
from hew.sources.measure import Place
from hew.sources.server import measure_plan


def measurer(plan: Plan, places: Mapping[str, Place]) -> Callable[[Step], Run]:
    """Runs the plan at the place that has the step's name."""
    return lambda step: measure_plan(plan, places[step.allocator], step)
