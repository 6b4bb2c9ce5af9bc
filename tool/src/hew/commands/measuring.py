# SPDX-License-Identifier: MIT
"""How a plan is measured in several places: what a schedule calls for each of its steps."""

from collections.abc import Callable, Mapping

from hew.model.run import Plan, Run, ServerPlan, Step
from hew.sources.executable import find_command
from hew.sources.measure import Place
from hew.sources.server import measure_plan


def measurer(plan: Plan, places: Mapping[str, Place]) -> Callable[[Step], Run]:
    """Runs the plan at the place that has the step's name."""
    return lambda step: measure_plan(plan, places[step.allocator], step)


def find_client(plan: Plan, environment: Mapping[str, str]) -> None:
    """Of a server: refuse a client, or a command that asks whether it is ready, that is not there, before the runs."""
    if isinstance(plan, ServerPlan):
        for words in (plan.client, plan.ready or plan.client):
            find_command(words[0], environment)
