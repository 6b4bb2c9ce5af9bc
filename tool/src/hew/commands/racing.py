# SPDX-License-Identifier: MIT
"""How candidates are measured beside the base: by the command itself, or by the replay of a trace."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from hew.analysis.search.front import hopeless
from hew.analysis.search.outcome import medians, tried_of
from hew.analysis.search.wanted import wanted as wanted_of
from hew.analysis.verification import figures_of
from hew.commands.measuring import measurer
from hew.commands.search_setup import Ground, Search
from hew.model.errors import HewError
from hew.model.figures import CLIENT_WALL, WALL
from hew.model.lazy_dataclass import dataclass
from hew.model.run import Failure, Plan, Run, ServerPlan, Step
from hew.model.search import Candidate, Tried, Wanted
from hew.sources.experiment import run_schedule
from hew.tuner.race import Race

SLOWEST = 4.0  # times the base's wall time after which a run is ended: it has lost
LEAST_TIMEOUT = 20.0  # seconds; on a very busy machine even a shell may take five
Told = Callable[[str, int], None]


@dataclass(frozen=True)
class Course:
    """A plan that candidates run, and what is wanted of its figures."""

    ground: Ground
    plan: Plan
    limited: Plan  # of candidates: with the time that one may take
    wanted: Wanted

    def race(self, candidates: Sequence[Candidate], rounds: int, known: Sequence[Tried], told: Told) -> Race:
        """Run some candidates beside the base, each for as many rounds as it deserves: of `known` none that is better
        in everything."""
        base = self.ground.base
        places = {one.label: self.ground.place(one) for one in (base, *candidates)}
        whole, limited = measurer(self.plan, places), measurer(self.limited, places)
        race = Race(
            base.label,
            [one.label for one in candidates],
            rounds,
            lambda _, mine, theirs: hopeless(medians(mine, theirs), self.wanted, known),
        )

        def measure(step: Step) -> Run:
            return race.heard((whole if step.allocator == base.label else limited)(step))

        run_schedule(race.steps(), measure, lambda step, _: told(step.allocator, 0))
        if not race.of(base.label):
            failed = next(run.failure for run in race.runs if run.allocator == base.label and run.failure)
            raise fails(self.plan, base, failed)
        return race

    def batch(self, candidates: Sequence[Candidate], rounds: int, known: Sequence[Tried], told: Told) -> list[Tried]:
        """The same, and what came of each."""
        race = self.race(candidates, rounds, known, told)
        theirs = race.of(self.ground.base.label)
        return [tried_of(one, race.all_of(one.label), theirs) for one in candidates]


def course_of(plan: Plan, search: Search, ground: Ground, goals: Sequence[str]) -> Course:
    """Run the base once, to see what can be wanted and how long a run takes."""
    first = measurer(plan, {ground.base.label: ground.place(ground.base)})(Step(ground.base.label, 0))
    if first.failure:
        raise fails(plan, ground.base, first.failure)
    wanted = wanted_of(goals, search.limits, figures_of([first]))
    wall = first.figures.get(CLIENT_WALL.key) or first.figures[WALL.key]
    limit = max(LEAST_TIMEOUT, SLOWEST * wall)
    return Course(ground, plan, replace(plan, timeout=min(plan.timeout or limit, limit)), wanted)


def fails(plan: Plan, base: Candidate, failure: Failure) -> HewError:
    """The base itself gives no figures."""
    subject = plan.server if isinstance(plan, ServerPlan) else plan.command
    return HewError(f"{subject[0]} fails under {base.label}: {failure.reason}\n{failure.stderr_tail}".rstrip())
