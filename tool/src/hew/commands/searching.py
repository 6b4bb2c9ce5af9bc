# SPDX-License-Identifier: MIT
"""The course of a search: batches of candidates beside the base, a round of the best, and fresh runs of the pick."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from hew.analysis.ratios import CONFIDENCE
from hew.analysis.schedule import rotated_schedule
from hew.analysis.search.front import LEVEL, SPARED, front, misses, picked, proof_of, reduced, simpler
from hew.analysis.search.outcome import verdict
from hew.analysis.search.space import first_candidates
from hew.analysis.verification import figures_of, outcomes
from hew.commands.measuring import measurer
from hew.commands.racing import Course, Told, course_of, fails
from hew.commands.search_setup import Ground, Search
from hew.model.errors import HewError
from hew.model.lazy_dataclass import dataclass
from hew.model.run import CommandPlan, Plan
from hew.model.search import Candidate, Proof, SearchResult, Tried, Wanted
from hew.model.verification import WITHOUT, Variant, Verification
from hew.sources.experiment import run_schedule
from hew.sources.library import find_part
from hew.sources.machine import describe_machine
from hew.sources.trace.planning import planned
from hew.sources.trace.recorder import PROGRAM
from hew.tuner.study import Study, sampler_of, shown
from hew.views.progress import bar, progress

BATCH = 3  # candidates beside one run of the base: more would lie further from it in time
FINALISTS = 3
OF_REPLAY = 5  # finalists of replays: life may rank them otherwise
HARM_OF_REPLAY = 1.05  # a replay is the allocator alone: 5 % of its time are half a per cent of a program's
SEMIFINAL_ROUNDS = 6
GOALS_OF_REPLAY = ("wall", "rss")


@dataclass
class Searcher:
    """One search under way."""

    search: Search
    ground: Ground
    trials: Course  # how candidates are tried
    life: Course  # how the best of them are measured again, and the pick is verified
    study: Study

    def explore(self, tell: Told) -> None:
        """Batch after batch until the trials are used up or nothing is left to try."""

        def told(now: str, done: int) -> None:
            tell(" · ".join(filter(None, (best_so_far(self.study.tried(), self.trials.wanted), now))), done)

        told("", min(len(self.study.tried()), self.search.trials))
        while (left := self.search.trials - len(self.study.tried())) > 0:
            asked = self.study.ask(min(BATCH, left), self.ground.base)
            if not asked:
                return
            try:
                known = [one for one in self.study.tried() if one.failure is None]
                found = self.trials.batch([one for _, one in asked], self.search.rounds, known, told)
            except BaseException:
                for trial, _ in asked:
                    self.study.tell(trial, None)
                raise
            for (trial, _), tried in zip(asked, found, strict=True):
                self.study.tell(trial, tried)
            told("", len(asked))

    def pick(self, told: Told) -> Candidate | None:
        """The one candidate to verify. The best few of the search are measured again, since the best of many was also
        lucky. Then settings without effect are removed from the pick."""
        wanted, in_life = self.trials.wanted, self.trials is self.life
        harm = LEVEL if in_life else HARM_OF_REPLAY
        found = [one.candidate for one in picked(front(self.study.tried(), wanted), wanted, harm)]
        found = found[: FINALISTS if in_life else OF_REPLAY]
        if len(found) > 1 or not in_life:
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
        race = self.life.race([whole, *without], SEMIFINAL_ROUNDS, (), told)
        runs = race.of(whole.label)
        needed = [misses(runs, race.all_of(one.label), len(runs), self.life.wanted.watched) for one in without]
        if len(without) == 1:
            return whole if needed[0] else without[0]
        return reduced(whole, needed)

    def _ranked(self, candidates: Sequence[Candidate], told: Told) -> list[Candidate]:
        """The candidates that stand a second measurement, the best first."""
        wanted = self.life.wanted
        again = front(self.life.batch(candidates, SEMIFINAL_ROUNDS, (), told), wanted)
        return [one.candidate for one in picked(again, wanted, SPARED)]

    def verify(self, candidate: Candidate) -> Verification:
        """Fresh interleaved runs of the base and the pick."""
        asked, base = self.search.asked, self.ground.base
        found = [Variant(WITHOUT, (), {}), Variant(candidate.label, (), self.ground.shown(candidate))]
        places = {WITHOUT: self.ground.place(base), candidate.label: self.ground.place(candidate)}
        started = datetime.now(UTC).isoformat(timespec="seconds")
        steps = rotated_schedule(list(places), asked.runs, asked.warmup)
        with progress(len(steps)) as told:
            runs = run_schedule(steps, measurer(self.life.plan, places), told)
        results = outcomes(found, runs)
        if not results[0].good_runs:
            raise fails(self.life.plan, base, results[0].failures[0].failure)
        return Verification(
            command=asked.words or self.search.replayed, subject=base.label,
            runs=asked.runs, warmup=asked.warmup, started=started,
            machine=describe_machine(), confidence=CONFIDENCE, figures=figures_of(runs), outcomes=tuple(results),
            unmeasured=(), notes=(), server=asked.server,
        )  # fmt: skip


def best_so_far(tried: Sequence[Tried], wanted: Wanted) -> str:
    """The candidate that the search would take now, with its ratios to the base; for the progress bar."""
    found = picked(front(tried, wanted), wanted, LEVEL)
    if not found:
        return "nothing better yet" if tried else ""
    best = found[0]
    ratios = (
        f"{goal.figure.label} {best.ratios[goal.figure.key]:.2f}"
        for goal in wanted.goals
        if goal.figure.key in best.ratios
    )
    return f"best so far: {', '.join(ratios)} with {best.candidate.label}"


def search(asked: Search, ground: Ground) -> SearchResult:
    """All of it. An interrupt ends the search with what was learned by then."""
    if asked.trace is None:
        return _searched(_begun(asked, ground, None))
    with planned(asked.trace) as (plan, counted):
        if not counted.operations:
            raise HewError(f"{asked.trace}: there is no operation in it")
        words = (str(find_part(PROGRAM)), "run", str(plan), "recorded", "fast")
        return _searched(_begun(asked, ground, CommandPlan(words, Path("/dev/null"), asked.asked.timeout)))


def _searched(searcher: Searcher) -> SearchResult:
    """Run the search, and return its result."""
    asked, ground = searcher.search, searcher.ground
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
    tried, wanted = searcher.study.tried(), searcher.trials.wanted
    proof = proof_of(final.outcomes[1], searcher.life.wanted) if final is not None else Proof.REFUTED
    return SearchResult(
        command=asked.asked.words or asked.replayed,
        server=asked.asked.server,
        base=ground.base,
        wanted=wanted,
        tried=tuple(tried),
        front=tuple(front(tried, wanted)),
        final=final,
        recommended=candidate if proof is Proof.CONFIRMED else None,
        verdict=verdict(shown(asked.storage) if asked.storage else None, candidate, interrupted, proof),
        interrupted=interrupted,
        notes=(*ground.notes, *asked.notes),
    )


def _begun(asked: Search, ground: Ground, replay: Plan | None) -> Searcher:
    """Run the base once in each way, and open the study."""
    life = course_of(asked.asked.plan, asked, ground, asked.goals) if asked.asked.words else None
    trials = course_of(replay, asked, ground, asked.goals or GOALS_OF_REPLAY) if replay else life
    if trials is None:
        raise HewError("neither a command nor a trace to try candidates on")
    identity = {
        "command": [*(asked.asked.server or ()), *asked.asked.words]
        if asked.trace is None
        else ["trace", asked.digest],
        "allocators": [one.allocator.name for one in ground.choices],
        "settings": {one.allocator.name: {row.name: row.values for row in one.parameters} for one in ground.choices},
        "goals": [one.figure.key for one in trials.wanted.goals],
    }
    sampler = sampler_of(asked.sampler, asked.seed, trials.wanted)
    study = Study(asked.storage, identity, ground.choices, trials.wanted, sampler)
    for one in first_candidates(ground.choices, ground.base):
        study.suggest(one)
    return Searcher(asked, ground, trials, life or trials, study)
