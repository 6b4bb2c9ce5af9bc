# SPDX-License-Identifier: MIT
"""The figures of docs/tuning.md about tuning by itself: from made-up measurements."""

import json
from pathlib import Path
from typing import Any

import gen_self_tuning
import pytest
from self_tuning import ROOT, cases, cost, judge, page, plan, runs, suite
from self_tuning.judge import Verdict
from self_tuning.plan import BY_DEFAULT, HOT, HOT_LONG, LAVISH, OFF, SPENDING

from hew.model.errors import HewError
from hew.model.figures import CPU
from hew.model.run import Failure, Run

KEYS = [one.key for one in runs.FIGURES]
ROUNDS = 7
HAND = "cache_room:400"
NOWHERE: dict[str, Any] = {"format": 2, "failed": {}, "cases": {}, "suite": {}, "cost": {}}


def way(cpu: float, wall: float, peak: float, spread: float = 0.0) -> list[dict[str, float]]:
    """Rounds around these figures: every other one higher, every other one lower."""
    signs = [(-1) ** at * (at > 0) for at in range(ROUNDS)]
    return [
        {key: value * (1 + sign * spread) for key, value in zip(KEYS, (cpu, wall, peak * 2**20), strict=True)}
        for sign in signs
    ]


def ratio_of(cpu: float, spread: float = 0.0, peak: float = 1.0) -> dict[str, Any]:
    return judge.compared({OFF: way(1, 1, 1), BY_DEFAULT: way(cpu, cpu, peak, spread)}, BY_DEFAULT)


def case(default: list[dict[str, float]], hand: dict[str, list[dict[str, float]]], **more: Any) -> dict[str, Any]:
    rounds = {OFF: way(2, 2, 100), BY_DEFAULT: default, SPENDING: default, LAVISH: default, **hand}
    facts = {"load": 1.25, "hostile": False, "extra": [], "first": {}, "date": "2026-01-02"}
    return {**facts, "hand": list(hand), "rounds": rounds, **more}


def test_a_goal_is_met_when_its_whole_interval_lies_within_it() -> None:
    assert judge.judged(ratio_of(1.0)[CPU.key], 1.03) is Verdict.MET
    assert judge.judged(ratio_of(1.1)[CPU.key], 1.03) is Verdict.NOT_MET
    assert judge.judged(ratio_of(1.02, 0.05)[CPU.key], 1.03) is Verdict.OPEN
    assert judge.judged(None, 1.03) is Verdict.NONE


def test_few_rounds_give_no_verdict() -> None:
    few = judge.compared({OFF: way(1, 1, 1)[:3], BY_DEFAULT: way(2, 2, 2)[:3]}, BY_DEFAULT)[CPU.key]
    assert judge.judged(few, 1.03) is Verdict.FEW
    assert judge.cell(few) == "2.00"


def test_a_goal_of_many_figures_is_as_good_as_the_worst_of_them() -> None:
    assert judge.all_of([Verdict.MET, Verdict.MET]) is Verdict.MET
    assert judge.all_of([Verdict.MET, Verdict.OPEN]) is Verdict.OPEN
    assert judge.all_of([Verdict.OPEN, Verdict.NONE]) is Verdict.NONE
    assert judge.all_of([Verdict.NONE, Verdict.NOT_MET]) is Verdict.NOT_MET
    assert judge.all_of([]) is Verdict.NONE


def test_as_fast_for_more_memory_is_not_as_good() -> None:
    assert judge.as_good(ratio_of(1.0)) is Verdict.MET
    assert judge.as_good(ratio_of(1.0, peak=1.1)) is Verdict.NOT_MET


def test_the_grid_is_every_combination_but_nothing_set() -> None:
    both = plan.grid(2)
    assert len(both) == len(set(both)) == 4 * 4 * 2 - 1
    assert {"cache_room:800,depot_room:200,narenas:8", "narenas:8", "depot_room:400"} <= set(both)
    assert len(plan.grid(0)) == 15
    assert not any("narenas" in one for one in plan.grid(0))


def test_what_is_set_by_hand_is_measured_without_tuning() -> None:
    assert plan.conf(OFF) == plan.conf(plan.OWN_ARENAS) == OFF
    assert plan.conf(BY_DEFAULT) == plan.DEFAULT == "tuning:on"
    assert plan.conf(LAVISH) == "tuning:on,tuning_memory:100"
    assert plan.conf("cache_room:400,narenas:8") == "tuning:off,cache_room:400,narenas:8"


def test_a_program_of_another_s_is_run_as_it_stands(tmp_path: Path) -> None:
    ours = tmp_path / "bench/apps/batches"
    ours.parent.mkdir(parents=True)
    ours.touch()
    assert plan.command_of(tmp_path, ("batches", "--threads", "8")) == (str(ours), "--threads", "8")
    assert plan.command_of(tmp_path, ("java", "-cp", "{root}/inputs")) == ("java", "-cp", f"{ROOT}/inputs")


def test_the_fastest_four_come_further_and_the_fastest_that_is_lean() -> None:
    first = {OFF: way(9, 1, 100), **{f"cache_room:{at}": way(at, 1, 200) for at in (5, 4, 3, 2, 1)}}
    lean = {"depot_room:400": way(7, 1, 101), "depot_room:200": way(8, 1, 100)}
    assert judge.picks({**first, **lean}) == [
        *("cache_room:1", "cache_room:2", "cache_room:3", "cache_room:4"),
        "depot_room:400",
    ]


def test_a_disturbed_run_does_not_hide_a_fast_setting() -> None:
    slow = [{**way(1, 1, 100)[0]}, {**way(50, 1, 100)[0]}]
    first = {OFF: way(9, 1, 100)[:2], "a": slow, "b": way(2, 1, 100)[:2]}
    assert judge.picks(first)[0] == "a"


def test_where_no_setting_helps_none_is_the_best() -> None:
    rounds = {OFF: way(1, 1, 100), HAND: way(1.1, 1, 90), "depot_room:400": way(0.5, 1, 200)}
    assert judge.best(rounds, [HAND, "depot_room:400"], lean=True) == OFF
    assert judge.best(rounds, [HAND, "depot_room:400"], lean=False) == "depot_room:400"


def test_the_best_setting_is_chosen_by_other_rounds_than_it_is_compared_in() -> None:
    lucky = [{**way(0.9, 1, 100)[0], CPU.key: cpu} for cpu in (0.5, 1.5, 0.5, 1.5, 0.5, 1.5, 0.5)]
    unlucky = [{**one, CPU.key: 2 - one[CPU.key]} for one in lucky]
    rounds = {OFF: way(2, 2, 100), BY_DEFAULT: way(1, 1, 100), "a": lucky, "b": unlucky}
    assert judge.compared(rounds, BY_DEFAULT, judge.best(rounds, ["a", "b"], lean=True))[CPU.key].value == 2
    assert judge.against_best(rounds, BY_DEFAULT, ["a", "b"], lean=True)[CPU.key].per_round == (1 / 1.5,) * ROUNDS
    alike = {OFF: way(2, 2, 100), BY_DEFAULT: way(1, 1, 100), HAND: way(0.8, 1, 100)}
    assert judge.against_best(alike, BY_DEFAULT, [HAND], lean=True) == judge.compared(alike, BY_DEFAULT, HAND)


def test_who_is_above_the_limit_for_certain_is_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    found = iter((1.2, 1.1, 1.0))

    def interleaved(_name: str, _ways: Any, count: int, _measure: Any) -> dict[str, Any]:
        asked.append(count)
        return {OFF: way(1, 1, 100), BY_DEFAULT: way(next(found), 1, 100)}

    monkeypatch.setattr(suite, "interleaved", interleaved)
    workload = next(one for one in suite.workloads().workloads if one.name == "tiny")
    assert suite.measured(workload, ROOT / "build", 7)["rounds"][BY_DEFAULT] == way(1.1, 1, 100)
    assert suite.measured(workload, ROOT / "build", 7)["rounds"][BY_DEFAULT] == way(1.0, 1, 100)
    assert asked == [7, suite.AGAIN, 7]


def test_before_each_run_more_memory_is_touched_than_any_has_held(monkeypatch: pytest.MonkeyPatch) -> None:
    touched: list[int] = []
    monkeypatch.setattr(runs, "warm", touched.append)
    peaks = iter((10, 400, 20))
    runs.interleaved("x", ["a"], 3, lambda step: Run(step.allocator, step.round, way(1, 1, next(peaks))[0]))
    assert touched == [64 << 20, 64 << 20, 500 << 20]


def test_a_mean_is_one_of_ratios_round_by_round() -> None:
    half, double = ({OFF: way(1, 1, 1), BY_DEFAULT: way(times, 1, 1)} for times in (0.5, 2))
    found = judge.mean_ratio([half, double], BY_DEFAULT, CPU.key)
    assert found is not None
    assert found.value == pytest.approx(1)
    assert found.pairs == ROUNDS
    assert judge.mean_ratio([], BY_DEFAULT, CPU.key) is None


def test_who_pays_for_certain_is_told_from_who_may() -> None:
    workloads = {
        "surely": {OFF: way(1, 1, 1), BY_DEFAULT: way(1.2, 1, 1)},
        "perhaps": {OFF: way(1, 1, 1), BY_DEFAULT: way(1.04, 1, 1, 0.06)},
        "no": {OFF: way(1, 1, 1), BY_DEFAULT: way(0.9, 0.9, 1)},
    }
    certain, perhaps = judge.beyond(workloads, BY_DEFAULT, 1.02)
    assert certain == ["surely: CPU time 1.20 (1.200 – 1.200)"]
    assert [one.split(" 1")[0] for one in perhaps] == ["perhaps: CPU time"]
    assert judge.worst(workloads, BY_DEFAULT, [CPU.key]) == certain[0]


def test_a_failing_workload_is_named() -> None:
    failed = Run("cache_room:400", 1, failure=Failure("exit status 3", "first\nno room\n"))
    with pytest.raises(HewError, match=r"^batches, cache_room:400: exit status 3: no room$"):
        runs.interleaved("batches", ["cache_room:400"], 1, lambda _step: failed)


def test_ways_side_by_side_have_their_own_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "APART", 0)
    figures = {"a": way(1, 1, 1)[0], "b": way(2, 2, 2)[0]}
    found = runs.side_by_side("x", ["a", "b"], 3, lambda step: Run(step.allocator, step.round, figures[step.allocator]))
    assert found == {name: [one] * 3 for name, one in figures.items()}


def test_the_cost_of_the_controller_is_judged_by_all_runs() -> None:
    assert cost.cpu_verdict({"shares": [0.0001] * 6, "looks": [3] * 6}) is Verdict.MET
    assert cost.cpu_verdict({"shares": [0.0001] * 5 + [0.003], "looks": [3] * 6}) is Verdict.OPEN
    assert (
        cost.said({"shares": [0.0001, 0.0005], "looks": [3, 4]}) == "0.010 to 0.050 % of its CPU time, 4 looks at most"
    )
    peaks = {OFF: [2.0**26] * 9, BY_DEFAULT: [2.0**26 + 2**13] * 9}
    assert cost.memory_verdict({"peaks": peaks}) is Verdict.MET
    assert cost.said({"peaks": peaks}) == "+8 KiB (+8 to +8)"


def test_a_case_is_beside_the_best_in_its_memory_and_the_best_of_all() -> None:
    kept = case(way(1.5, 1.5, 101), {HAND: way(1.49, 1.6, 101), "depot_room:400": way(1, 1, 130)})
    assert cases.verdict_of(kept, lean=True) is Verdict.MET
    assert cases.verdict_of(kept, lean=False) is Verdict.NOT_MET
    [row] = cases.lean_table({"batches": kept})[2:]
    assert "| 2.00 s, 100 MiB | 0.75, 0.75, 1.01 | `cache_room:400`: 0.74, 0.80, 1.01 | 1.01 (" in row
    [row] = cases.any_table({"batches": kept})[2:]
    assert row.startswith("| batches | `depot_room:400`: 0.50, 0.50, 1.30 | 1.50 (")


def everything() -> dict[str, Any]:
    """Measurements of all parts, in which all goals are met."""
    good = case(way(1, 1, 100), {HAND: way(1, 1, 100)})
    turns = {one.name: {**good, "hostile": one.hostile} for one in plan.CASES}
    work = {"load": 0, "date": "2026-01-03", "rounds": {OFF: way(1, 1, 100), BY_DEFAULT: way(0.9, 0.9, 99)}}
    shares = {name: {"shares": [0.001] * 6, "looks": [9] * 6, "date": "2026-01-02"} for name in cost.BUSY}
    idle = {"peaks": {OFF: [1e6] * 9, BY_DEFAULT: [1e6] * 9}, "date": "2026-01-02"}
    return {
        **NOWHERE,
        "cases": turns,
        "suite": {"slots": {**work, "group": "one thread"}, "jq": {**work, "group": suite.REAL}},
        "cost": {**shares, cost.IDLE: idle},
    }


def test_each_goal_has_a_verdict_from_what_was_measured() -> None:
    kept = everything()
    assert [verdict for *_, verdict in page.goals(kept)] == [Verdict.MET] * 15
    kept["suite"]["jq"]["rounds"][BY_DEFAULT] = way(1.2, 1.2, 99)
    verdicts = {goal: verdict for goal, _, _, verdict in page.goals(kept)}
    assert verdicts["real programs: each"] is Verdict.NOT_MET
    assert verdicts["the suite of benchmarks: no workload pays"] is Verdict.NOT_MET
    assert verdicts["hostile patterns"] is Verdict.MET


def test_what_was_not_measured_is_no_goal_met() -> None:
    assert {verdict for *_, verdict in page.goals(NOWHERE)} == {Verdict.NONE}
    kept = everything()
    del kept["cases"]["batches"]
    del kept["cases"]["hostile: turns of 50 batches"]
    verdicts = {goal: verdict for goal, _, _, verdict in page.goals(kept)}
    assert verdicts["each other case, beside the best setting of all"] is Verdict.NONE
    assert verdicts["hostile patterns"] is Verdict.NONE


def test_the_page_begins_with_the_goals_and_ends_with_what_is_missing() -> None:
    kept = everything()
    kept["failed"] = {"suite: lua": "lua, by default: exit status 1"}
    text = "\n".join(page.lines(kept, ["z3: command not found"]))
    assert text.startswith("Measured 2026-01-02 to 2026-01-03 on ")
    titles = [line for line in text.splitlines() if line.startswith("### ")]
    assert titles[0] == "### Goals"
    assert "### Next to what experts gain by hand" in titles
    assert f"| {HOT_LONG}, {BY_DEFAULT} |" in text  # beside theirs, whose services run for long
    assert text.endswith("- suite: lua: failed: lua, by default: exit status 1\n- left out: z3: command not found")
    assert "| jq | real programs |" in text


def test_a_page_of_one_case_has_no_empty_tables() -> None:
    kept = {**NOWHERE, "cases": {HOT: everything()["cases"][HOT]}}
    titles = [line for line in page.lines(kept, ["z3: not here"]) if line.startswith("### ")]
    assert len(titles) == 4  # goals, two of the case, experts


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A page and a file of what was measured; of the cases batches alone can be measured."""

    def measured(one: plan.Case, *_: object) -> dict[str, Any]:
        if one.name != "batches":
            raise HewError(f"{one.name}, tuning:off: exit status 2")
        return case(way(1, 1, 100), {HAND: way(1, 1, 100)})

    monkeypatch.setattr(cases, "measured", measured)
    (tmp_path / "page.md").write_text(f"head\n{gen_self_tuning.SECTION.text(['what was there'])}\nfoot\n")
    return ["--page", str(tmp_path / "page.md"), "--keep", str(tmp_path / "kept.json")]


def test_the_page_keeps_what_stands_outside_its_marks(place: list[str]) -> None:
    assert gen_self_tuning.main([*place, "--cases", "batches"]) == 0
    text = Path(place[1]).read_text()
    assert text.startswith("head\n")
    assert text.endswith("foot\n")
    assert "| batches | 2.00 s, 100 MiB |" in text
    assert "what was there" not in text


def test_what_fails_is_named_and_keeps_no_older_figures(place: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path(place[3]).write_text(json.dumps({**NOWHERE, "cases": {"exchange": case(way(1, 1, 1), {HAND: way(1, 1, 1)})}}))
    assert gen_self_tuning.main([*place, "--cases", "batches;exchange"]) == 1
    assert "exchange, tuning:off: exit status 2" in capsys.readouterr().err
    kept = json.loads(Path(place[3]).read_text())
    assert list(kept["cases"]) == ["batches"]
    assert kept["failed"] == {"cases: exchange": "exchange, tuning:off: exit status 2"}
    assert "- cases: exchange: failed:" in Path(place[1]).read_text()


def test_resuming_measures_only_what_is_missing(place: list[str]) -> None:
    Path(place[3]).write_text(json.dumps({**NOWHERE, "cases": {"exchange": case(way(1, 1, 1), {HAND: way(1, 1, 1)})}}))
    assert gen_self_tuning.main([*place, "--cases", "batches;exchange", "--resume"]) == 0
    assert set(json.loads(Path(place[3]).read_text())["cases"]) == {"batches", "exchange"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--cases", "none such"], "none such here"),
        (["--parts", "cases,speed"], "speed here"),
        (["--workloads", "none such"], "none such here"),
    ],
)
def test_a_name_that_is_not_there_is_an_error(
    place: list[str], capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert gen_self_tuning.main([*place, *words]) == 1
    assert said in capsys.readouterr().err


def test_what_another_version_has_kept_is_refused(place: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path(place[3]).write_text('{"batches": {}}')
    assert gen_self_tuning.main([*place, "--cases", "batches"]) == 1
    assert "remove it" in capsys.readouterr().err


def test_a_page_without_marks_is_an_error(place: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path(place[1]).write_text("nothing\n")
    assert gen_self_tuning.main([*place, "--cases", "batches"]) == 1
    assert "page.md: no marks" in capsys.readouterr().err
