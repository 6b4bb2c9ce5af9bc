# SPDX-License-Identifier: MIT
"""What a search proposes, keeps and picks: no program is run here, costs are made up."""

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import optuna
import pytest

from conftest import good_run
from hew.analysis.search.front import confirmed, front, hopeless, misses, picked, reduced, simpler
from hew.analysis.search.space import choice_of, first_candidates, parameters_of
from hew.analysis.search.wanted import limit_parts, wanted
from hew.analysis.verification import outcomes
from hew.commands.searching import best_so_far
from hew.model.advice import Setting
from hew.model.allocator import Allocator
from hew.model.errors import HewError
from hew.model.figures import COMMAND_FIGURES, PEAK_RSS, WALL
from hew.model.run import Failure, Run
from hew.model.search import Candidate, Choice, Parameter, Tried, Wanted
from hew.model.verification import WITHOUT, Variant
from hew.tuner.race import Race
from hew.tuner.study import Study, sampler_of

BOTH = wanted((), (), COMMAND_FIGURES)
BASE = Candidate("hew")
CHOICE = choice_of(Allocator("hew", Path("/x/libhew.so")), "hew", "HEW_CONF", ())
Costs = Callable[[Candidate], tuple[float, float]]


def tried(wall: float, rss: float, *settings: str, failure: str | None = None) -> Tried:
    found = tuple(Setting(*one.split(":")) for one in settings)
    ratios = {} if failure else {WALL.key: wall, PEAK_RSS.key: rss}
    return Tried(Candidate("hew", found), ratios, 3, failure)


def studied(costs: Costs, of: Wanted = BOTH, seed: int = 1, trials: int = 60) -> list[Tried]:
    """What a search of so many candidates finds, whose ratios are these."""
    study = Study(None, {}, (CHOICE,), of, sampler_of("tpe", seed, of))
    for one in first_candidates((CHOICE,), Candidate("hew")):
        study.suggest(one)
    while len(study.tried()) < trials:
        for trial, candidate in study.ask(3, BASE):
            wall, rss = costs(candidate)
            study.tell(trial, Tried(candidate, {WALL.key: wall, PEAK_RSS.key: rss}, 3))
    return study.tried()


def has(candidate: Candidate, text: str) -> bool:
    return any(one.text == text for one in candidate.settings)


@pytest.mark.parametrize("seed", range(3))
def test_a_setting_that_pays_is_found_among_those_that_do_not(seed: int) -> None:
    noise = random.Random(seed)  # noqa: S311

    def costs(candidate: Candidate) -> tuple[float, float]:
        gain = 0.7 if has(candidate, "narenas:1") else 1.0
        harm = 1.3 if has(candidate, "tcache:false") else 1.0
        return harm * noise.gauss(1, 0.004), gain * noise.gauss(1, 0.004)

    best = picked(front(studied(costs, seed=seed), BOTH), BOTH)[0]
    assert has(best.candidate, "narenas:1")
    assert not has(best.candidate, "tcache:false")


def test_two_settings_that_pay_only_together_are_found() -> None:
    def costs(candidate: Candidate) -> tuple[float, float]:
        both = has(candidate, "thp:always") and has(candidate, "dirty_decay_ms:-1")
        alone = has(candidate, "thp:always") or has(candidate, "dirty_decay_ms:-1")
        return (0.6 if both else 0.97 if alone else 1.0), 1.0

    best = picked(front(studied(costs, trials=150), BOTH), BOTH)[0]
    assert has(best.candidate, "thp:always")
    assert has(best.candidate, "dirty_decay_ms:-1")


def test_the_best_so_far_is_told_with_its_ratios() -> None:
    assert best_so_far([], BOTH) == ""
    assert best_so_far([tried(1.2, 1.2, "a:1")], BOTH) == "nothing better yet"
    found = best_so_far([tried(0.9, 0.95, "a:1"), tried(1.2, 1.2, "a:2")], BOTH)
    assert found == "best so far: wall time 0.90, peak RSS 0.95 with hew a:1", found


def test_no_candidate_is_proposed_twice_and_a_small_space_ends() -> None:
    choice = Choice(Allocator("hew"), (Parameter("narenas", ("1", "2")), Parameter("tcache", ("false",))))
    study = Study(None, {}, (choice,), BOTH, sampler_of("tpe", 1, BOTH))
    seen: list[Candidate] = []
    while asked := study.ask(2, BASE):
        for trial, candidate in asked:
            study.tell(trial, Tried(candidate, {WALL.key: 1.0, PEAK_RSS.key: 1.0}, 1))
            seen.append(candidate)
    assert len(seen) == len(set(seen)) == 5


def test_the_base_is_not_tried_again() -> None:
    assert Candidate("hew") not in first_candidates((CHOICE,), Candidate("hew"))


def test_a_study_goes_on_where_another_process_left_it(tmp_path: Path) -> None:
    storage = tmp_path / "study.db"
    first = Study(str(storage), {"command": ["a"]}, (CHOICE,), BOTH, sampler_of("tpe", 1, BOTH))
    trial, candidate = first.ask(1, BASE)[0]
    first.tell(trial, Tried(candidate, {WALL.key: 0.5, PEAK_RSS.key: 0.25}, 3))
    (failing, other) = first.ask(1, BASE)[0]
    first.tell(failing, Tried(other, failure="killed by SIGSEGV"))
    given_up, _ = first.ask(1, BASE)[0]
    first.tell(given_up, None)
    second = Study(str(storage), {"command": ["a"]}, (CHOICE,), BOTH, sampler_of("nsga2", 1, BOTH))
    assert second.tried() == [
        Tried(candidate, {WALL.key: 0.5, PEAK_RSS.key: 0.25}, 3),
        Tried(other, {}, 0, "killed by SIGSEGV"),
    ]
    assert candidate not in [one for _, one in second.ask(3, BASE)]


def test_a_proposal_that_another_process_was_given_as_well_and_has_finished_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (
        Study(str(tmp_path / "study.db"), {"command": ["a"]}, (CHOICE,), BOTH, sampler_of("random", seed, BOTH))
        for seed in (1, 2)
    )
    ask = first._study.ask

    def ask_and_lose() -> optuna.Trial:
        trial = ask()
        if trial.number == 0:
            second._study.tell(trial.number, state=optuna.trial.TrialState.FAIL)
        return trial

    monkeypatch.setattr(first._study, "ask", ask_and_lose)
    assert len(first.ask(2, BASE)) == 2


def test_a_study_of_another_command_is_refused(tmp_path: Path) -> None:
    storage = tmp_path / "study.db"
    Study(str(storage), {"command": ["a"], "goals": ["x"]}, (CHOICE,), BOTH, sampler_of("tpe", 1, BOTH))
    with pytest.raises(HewError, match=r"study\.db holds a search with another command: give another --storage"):
        Study(str(storage), {"command": ["b"], "goals": ["x"]}, (CHOICE,), BOTH, sampler_of("tpe", 1, BOTH))


def test_a_database_holds_a_study_for_each_command(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'all.db'}"
    for word, ratio in (("a", 0.5), ("b", 0.25)):
        study = Study(url, {"command": [word]}, (CHOICE,), BOTH, sampler_of("tpe", 1, BOTH))
        trial, candidate = study.ask(1, BASE)[0]
        study.tell(trial, Tried(candidate, {WALL.key: ratio, PEAK_RSS.key: 1.0}, 1))
    again = Study(url, {"command": ["a"]}, (CHOICE,), BOTH, sampler_of("tpe", 1, BOTH))
    assert [one.ratios[WALL.key] for one in again.tried()] == [0.5]


def test_a_file_that_is_no_study_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    storage = tmp_path / "notes.txt"
    storage.write_text("something of mine that is long enough to be read as a page\n" * 40)
    before = storage.read_bytes()
    with pytest.raises(HewError, match="file is not a database"):
        Study(str(storage), {}, (CHOICE,), BOTH, sampler_of("tpe", 1, BOTH))
    assert storage.read_bytes() == before


def test_the_front_has_what_nothing_beats_and_the_base_beats_what_gains_nothing() -> None:
    fast, lean = tried(0.8, 1.2, "thp:always"), tried(1.1, 0.7, "narenas:1")
    found = front(
        [tried(1.0, 1.0, "narenas:4"), fast, tried(0.9, 1.3, "narenas:2"), lean, tried(1, 1, failure="no")], BOTH
    )
    assert found == [fast, lean]


def test_of_equal_candidates_the_one_with_fewest_settings_stands_on_the_front() -> None:
    plain = tried(0.8, 0.9, "thp:always")
    assert front([tried(0.8, 0.9, "narenas:1", "thp:always"), plain], BOTH) == [plain]


def test_a_pick_gives_up_no_goal_unless_a_limit_allows_it() -> None:
    fast, both = tried(0.5, 1.04, "thp:always"), tried(0.9, 0.95, "narenas:1")
    assert picked([fast, both], BOTH) == [both]
    limited = wanted((), (limit_parts("rss<=1.05"),), COMMAND_FIGURES)
    assert picked(front([fast, both], limited), limited)[0] == fast
    strict = wanted((), (limit_parts("rss<=1.02"),), COMMAND_FIGURES)
    assert front([fast, both], strict) == [both]


def test_within_one_per_cent_the_simplest_is_picked() -> None:
    simple, mixed = tried(0.8, 1.0, "thp:always"), tried(0.795, 1.0, "narenas:1", "thp:always")
    assert picked([mixed, simple], BOTH)[0] == simple
    assert [len(one.settings) for one in simpler(mixed.candidate)] == [1, 1]
    assert simpler(simple.candidate) == []


def runs_of(wall: float, spread: float, count: int = 6) -> list[Run]:
    """Good runs around a wall time."""
    return [
        Run("x", number, {WALL.key: wall * (1 + spread * (number % 3 - 1)), PEAK_RSS.key: 1.0})
        for number in range(1, count + 1)
    ]


def test_what_a_pick_does_as_well_without_is_taken_out() -> None:
    whole = runs_of(1.0, 0.05)
    assert misses(whole, runs_of(1.4, 0.05), 6, BOTH.goals)
    assert not misses(whole, runs_of(1.0, 0.2), 6, BOTH.goals)
    assert not misses(whole, runs_of(0.7, 0.05), 6, BOTH.goals)
    assert misses(whole, runs_of(1.0, 0.05, 2), 6, BOTH.goals)  # it was given up
    faster = wanted(("wall",), (("rss", True, 0.9),), COMMAND_FIGURES)
    larger = [replace(run, figures={**run.figures, PEAK_RSS.key: 1.3}) for run in whole]
    assert misses(whole, larger, 6, faster.watched)  # the limit wants the setting that no goal needs
    assert not misses(whole, larger, 6, faster.goals)
    pick = tried(0.5, 1.0, "thp:always", "narenas:1", "tcache:false").candidate
    assert [one.text for one in reduced(pick, [True, False, False]).settings] == ["thp:always"]
    assert reduced(pick, [False, False, False]) == pick  # each stands in for another


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rss<1.05", "write NAME<=RATIO"),
        ("speed<=1", "NAME one of wall, cpu, rss"),
        ("rss<=0", "more than 0"),
        ("rss<=-1", "write NAME<=RATIO"),
        ("", "write NAME<=RATIO"),
    ],
)
def test_a_limit_that_is_none_is_named(text: str, message: str) -> None:
    with pytest.raises(HewError, match=message):
        limit_parts(text)


def test_a_goal_that_the_runs_do_not_have_is_named() -> None:
    with pytest.raises(HewError, match="metric: the runs of this command do not have it; they have wall, cpu, rss"):
        wanted(("metric",), (), COMMAND_FIGURES)


def race_of(good: dict[str, float], rounds: int, of: Wanted = BOTH) -> Race:
    """A race that has been run; `good` are wall times by name, a negative one fails."""

    def is_hopeless(_: str, mine: object, theirs: object) -> bool:
        assert isinstance(mine, list)
        return hopeless({WALL.key: mine[-1].figures[WALL.key], PEAK_RSS.key: 2.0}, of, [])

    race = Race("base", [name for name in good if name != "base"], rounds, is_hopeless)
    for step in race.steps():
        wall = good[step.allocator]
        figures = {WALL.key: wall, PEAK_RSS.key: 1.0}
        race.heard(Run(step.allocator, step.round, figures, failure=Failure("no") if wall < 0 else None))
    return race


def test_what_fails_or_is_hopeless_is_not_run_again() -> None:
    race = race_of({"base": 1.0, "good": 0.9, "slow": 1.5, "broken": -1.0}, 3)
    assert [
        len([run for run in race.runs if run.allocator == name]) for name in ("base", "good", "slow", "broken")
    ] == [
        3,
        3,
        1,
        1,
    ]


def test_a_race_without_a_candidate_left_ends() -> None:
    assert len(race_of({"base": 1.0, "slow": 1.5}, 5).runs) == 2


def outcome_of(wall: float, rss: float, of: Wanted = BOTH, output: str = "same") -> bool:
    """Whether fresh runs with these ratios confirm a pick."""
    runs = []
    for number in range(1, 11):
        base = good_run(WITHOUT, number)
        figures = {
            **base.figures,
            WALL.key: wall * (1 + (number - 5.5) / 1000),
            PEAK_RSS.key: rss * base.figures[PEAK_RSS.key],
        }
        runs += [base, good_run("pick", number, figures=figures, output=output)]
    found = outcomes([Variant(WITHOUT, (), {}), Variant("pick", (), {})], runs)
    return confirmed(found[1], of)


def test_fresh_runs_confirm_what_is_better_and_nowhere_worse() -> None:
    assert outcome_of(0.9, 1.0)
    assert outcome_of(1.0, 0.8)
    assert not outcome_of(1.0, 1.0)
    assert not outcome_of(0.9, 1.04)
    assert not outcome_of(0.9, 1.0, output="other")
    assert outcome_of(0.9, 1.04, wanted((), (limit_parts("rss<=1.05"),), COMMAND_FIGURES))
    assert not outcome_of(0.9, 1.06, wanted((), (limit_parts("rss<=1.05"),), COMMAND_FIGURES))


def test_every_setting_of_the_space_is_one_of_the_library_and_its_values_can_be_meant() -> None:
    names = {
        line.split("(")[1].split(",")[0] for line in OPTIONS.read_text().splitlines() if line.startswith("HEW_OPTION")
    }
    for one in parameters_of("hew"):
        assert one.name in names
        assert len(set(one.values)) == len(one.values)


OPTIONS = Path(__file__).parents[2] / "src" / "base" / "options.def"
