# SPDX-License-Identifier: MIT
"""The course of a search: batches of candidates beside the base, a round of the best, and fresh runs of the pick."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from hew.analysis.ratios import CONFIDENCE
from hew.analysis.schedule import rotated_schedule
from hew.analysis.search.front import confirmed, front, hopeless, misses, picked, reduced, simpler
from hew.analysis.search.space import first_candidates
from hew.analysis.search.tried import medians, tried_of
from hew.analysis.search.verdict import verdict
from hew.analysis.search.wanted import wanted as wanted_of
from hew.analysis.verification import figures_of, outcomes
from hew.commands.measuring import measurer
from hew.commands.searched import Ground, Search
from hew.model.errors import HewError
from hew.model.figures import CLIENT_WALL, WALL
from hew.model.run import Failure, Plan, Run, Step
from hew.model.search import Candidate, SearchResult, Tried, Wanted
from hew.model.verification import WITHOUT, Variant, Verification
from hew.sources.experiment import run_schedule
from hew.sources.machine import describe_machine
from hew.tuner.race import Race
from hew.tuner.study import Study, sampler_of
from hew.views.progress import bar, progress

BATCH = 3  # candidates beside one run of the base: more would lie further from it in time
FINALISTS = 3
SEMIFINAL_ROUNDS = 6
SLOWEST = 4.0  # times the base's wall time after which a run is ended: it has lost
LEAST_TIMEOUT = 5.0  # seconds; on a busy machine a short run may take that
Measure = Callable[[Step], Run]
Told = Callable[[str, int], None]


@dataclass
class Searcher:
    """One search under way."""

    search: Search
    ground: Ground
    wanted: Wanted
    plan: Plan  # of candidates: with the time that one may take
    study: Study

    def race(self, candidates: Sequence[Candidate], rounds: int, told: Told) -> Race:
        """Run some candidates beside the base, each for as many rounds as it deserves."""
        base = self.ground.base
        places = {one.label: self.ground.place(one) for one in (base, *candidates)}
        whole, limited = measurer(self.search.asked.plan, places), measurer(self.plan, places)
        known = [one for one in self.study.tried() if one.failure is None]
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
            raise _fails(self.search, base, failed)
        return race

    def batch(self, candidates: Sequence[Candidate], rounds: int, told: Told) -> list[Tried]:
        """The same, and what came of each."""
        race = self.race(candidates, rounds, told)
        theirs = race.of(self.ground.base.label)
        return [tried_of(one, race.all_of(one.label), theirs) for one in candidates]

    def explore(self, told: Told) -> None:
        """Batch after batch until the trials are used up or nothing is left to try."""
        told("", min(len(self.study.tried()), self.search.trials))
        while (left := self.search.trials - len(self.study.tried())) > 0:
            asked = self.study.ask(min(BATCH, left), self.ground.base)
            if not asked:
                return
            try:
                found = self.batch([candidate for _, candidate in asked], self.search.rounds, told)
            except BaseException:
                for trial, _ in asked:
                    self.study.tell(trial, None)
                raise
            for (trial, _), tried in zip(asked, found, strict=True):
                self.study.tell(trial, tried)
            told("", len(asked))

    def pick(self, told: Told) -> Candidate | None:
        """The one candidate to verify. The best few of the search are measured once more, since the best of many was
        the luckiest too; then what the pick does as well without is taken out of it."""
        found = [one.candidate for one in picked(front(self.study.tried(), self.wanted), self.wanted)][:FINALISTS]
        if len(found) > 1:
            found = self._ranked(found, told)
        if not found:
            return None
        pick = found[0]
        least = self._least(pick, simpler(pick), told)
        return pick if least == pick or self._least(pick, [least], told) == pick else least

    def _least(self, whole: Candidate, without: Sequence[Candidate], told: Told) -> Candidate:
        """The candidate less the settings that it does as well without; of a single other one, whether that will do."""
        if not without:
            return whole
        race = self.race([whole, *without], SEMIFINAL_ROUNDS, told)
        runs = race.of(whole.label)
        needed = [misses(runs, race.all_of(one.label), len(runs), self.wanted.watched) for one in without]
        if len(without) == 1:
            return whole if needed[0] else without[0]
        return reduced(whole, needed)

    def _ranked(self, candidates: Sequence[Candidate], told: Told) -> list[Candidate]:
        """The candidates that stand a second measurement, the best first."""
        again = front(self.batch(candidates, SEMIFINAL_ROUNDS, told), self.wanted)
        return [one.candidate for one in picked(again, self.wanted)]

    def verify(self, candidate: Candidate) -> Verification:
        """Fresh interleaved runs of the base and the pick."""
        asked, base = self.search.asked, self.ground.base
        found = [Variant(WITHOUT, (), {}), Variant(candidate.label, (), self.ground.shown(candidate))]
        places = {WITHOUT: self.ground.place(base), candidate.label: self.ground.place(candidate)}
        started = datetime.now(UTC).isoformat(timespec="seconds")
        steps = rotated_schedule(list(places), asked.runs, asked.warmup)
        with progress(len(steps)) as told:
            runs = run_schedule(steps, measurer(asked.plan, places), told)
        results = outcomes(found, runs)
        if not results[0].good_runs:
            raise _fails(self.search, base, results[0].failures[0].failure)
        return Verification(
            command=asked.words, subject=base.label, runs=asked.runs, warmup=asked.warmup, started=started,
            machine=describe_machine(), confidence=CONFIDENCE, figures=figures_of(runs), outcomes=tuple(results),
            unmeasured=(), notes=(), server=asked.server,
        )  # fmt: skip


def search(asked: Search, ground: Ground) -> SearchResult:
    """All of it. An interrupt ends the search with what was learned by then."""
    searcher = _begun(asked, ground)
    interrupted, final, candidate = False, None, None
    try:
        with bar(asked.trials) as told:
            searcher.explore(told)
        with bar(0) as told:
            candidate = searcher.pick(told)
        if candidate is not None:
            final = searcher.verify(candidate)
    except KeyboardInterrupt:
        interrupted = True
    tried = searcher.study.tried()
    won = final is not None and candidate is not None and confirmed(final.outcomes[1], searcher.wanted)
    return SearchResult(
        command=asked.asked.words,
        server=asked.asked.server,
        base=ground.base,
        wanted=searcher.wanted,
        tried=tuple(tried),
        front=tuple(front(tried, searcher.wanted)),
        final=final,
        recommended=candidate if won else None,
        verdict=verdict(str(asked.storage) if asked.storage else None, candidate, interrupted, won),
        interrupted=interrupted,
        notes=ground.notes,
    )


def _begun(asked: Search, ground: Ground) -> Searcher:
    """Run the base once, to see what can be wanted and how long a run takes; open the study."""
    plan = asked.asked.plan
    first = measurer(plan, {ground.base.label: ground.place(ground.base)})(Step(ground.base.label, 0))
    if first.failure:
        raise _fails(asked, ground.base, first.failure)
    wanted = wanted_of(asked.goals, asked.limits, figures_of([first]))
    wall = first.figures.get(CLIENT_WALL.key) or first.figures[WALL.key]
    limit = max(LEAST_TIMEOUT, SLOWEST * wall)
    identity = {
        "command": [*(asked.asked.server or ()), *asked.asked.words],
        "allocators": [one.allocator.name for one in ground.choices],
        "settings": {one.allocator.name: {row.name: row.values for row in one.parameters} for one in ground.choices},
        "goals": [one.figure.key for one in wanted.goals],
    }
    study = Study(asked.storage, identity, ground.choices, wanted, sampler_of(asked.sampler, asked.seed, wanted))
    for one in first_candidates(ground.choices, ground.base):
        study.suggest(one)
    return Searcher(asked, ground, wanted, replace(plan, timeout=min(plan.timeout or limit, limit)), study)


def _fails(search: Search, base: Candidate, failure: Failure) -> HewError:
    """The base itself gives no figures."""
    return HewError(
        f"{search.asked.subject[0]} fails under {base.label}: {failure.reason}\n{failure.stderr_tail}".rstrip()
    )
