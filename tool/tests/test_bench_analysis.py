# SPDX-License-Identifier: MIT
"""Best peers, geometric means and curves of a suite; two saved runs against each other."""

from pathlib import Path
from typing import Any

import pytest

from conftest import MACHINE
from hew.analysis.bench import curve_means, curve_points, setup_of, summarise_bench, summarise_workload
from hew.analysis.versus import changes, unpaired_ratio
from hew.model.allocator import Allocator
from hew.model.bench import BEST_PEER, BenchReport, Suite, Workload
from hew.model.report import Ratio, Report, Setup, Verdict
from hew.model.run import CommandPlan, Failure, Point, Run, ServerPlan

SETUP = Setup((), None, 6, 0, "2026-01-02T03:04:05+00:00", MACHINE)
ALLOCATORS = [Allocator(name, Path(f"/x/lib{name}.so")) for name in ("hew", "one", "two", "snail")]
ALLOCATORS.insert(0, Allocator("glibc"))
SUITE = Suite("fake", (), (), frozenset({"snail"}))


def workload(name: str, curve: bool = False) -> Workload:
    return Workload(name, "group", CommandPlan(("work", name), Path("/dev/null"), None), curve, 6, 0)


def runs(wall: dict[str, float], **more: float) -> list[Run]:
    """Six rounds in which every allocator takes its time, and twice as much CPU."""
    return [
        Run(name, number, {"wall_seconds": seconds, "cpu_seconds": 2 * seconds, "peak_rss_bytes": 1e6, **more})
        for number in range(1, 7)
        for name, seconds in wall.items()
    ]


def bench(made: dict[str, list[Run]]) -> BenchReport:
    results = []
    for name, mine in made.items():
        one = workload(name)
        results.append((summarise_workload(one, setup_of(one, SETUP), ALLOCATORS, mine, SUITE.slow_peers), mine))
    return summarise_bench(SUITE, SETUP, ALLOCATORS, results, ["a note"])


TWO = {
    "a": runs({"glibc": 1.0, "hew": 0.5, "one": 0.4, "two": 0.8, "snail": 0.1}),
    "b": runs({"glibc": 1.0, "hew": 2.0, "one": 4.0, "two": 0.9, "snail": 0.1}),
}


def ratio(report: Report | None, name: str, key: str = "wall_seconds") -> Ratio:
    assert report is not None
    return next(one for one in report.results if one.allocator.name == name).ratios[key]


def test_the_best_peer_is_chosen_by_workload_and_a_slow_peer_is_never_it() -> None:
    report = bench(TWO)
    assert [one.best["wall_seconds"].name for one in report.workloads] == ["one", "two"]
    to_best = report.workloads[0].best["wall_seconds"].ratio
    assert to_best is not None
    assert to_best.value == pytest.approx(0.5 / 0.4)
    assert to_best.verdict is Verdict.WORSE


def test_a_mean_is_geometric_over_the_workloads() -> None:
    report = bench(TWO)
    assert ratio(report.mean, "hew").value == pytest.approx(1.0)
    assert ratio(report.mean, "one").value == pytest.approx((0.4 * 4.0) ** 0.5)
    assert ratio(report.mean, BEST_PEER).value == pytest.approx((0.4 * 0.9) ** 0.5)
    assert ratio(report.groups["group"], "hew", "cpu_seconds").value == pytest.approx(1.0)


def test_an_allocator_that_fails_a_workload_is_in_no_mean_and_the_report_says_so() -> None:
    broken = [Run("one", one.round, failure=Failure("broke")) if one.allocator == "one" else one for one in TWO["b"]]
    report = bench({"a": TWO["a"], "b": broken})
    assert report.mean is not None
    assert "one" not in {one.allocator.name for one in report.mean.results}
    assert any("one is in no mean" in note and "b" in note for note in report.notes)
    assert ratio(report.mean, "two").value == pytest.approx((0.8 * 0.9) ** 0.5)


def test_a_figure_that_some_workloads_lack_has_a_mean_over_the_others() -> None:
    walls = {"glibc": 1.0, "hew": 1.0, "one": 1.0, "two": 1.0, "snail": 1.0}
    report = bench({"a": runs(walls, instructions=5.0), "b": runs(walls)})
    assert ratio(report.mean, "hew", "instructions").value == pytest.approx(1.0)


def test_the_latency_of_one_server_is_no_mean_of_a_suite() -> None:
    walls = {"glibc": 1.0, "hew": 1.0, "one": 1.0, "two": 1.0, "snail": 1.0}
    report = bench({"a": runs(walls, tail_latency_seconds=0.001), "b": runs(walls)})
    assert report.workloads[0].best["tail_latency_seconds"].name in walls
    assert report.mean is not None
    assert "tail_latency_seconds" not in {figure.key for figure in report.mean.figures}


def point(allocator: str, at: float, value: float, number: int = 1) -> Run:
    return Run(allocator, number, {"wall_seconds": 1.0}, points=(Point("malloc", at, "ns", value),))


def test_a_curve_holds_medians_and_names_its_worst_place() -> None:
    made = [point("glibc", 8, value, number) for number, value in enumerate((10.0, 90.0, 10.0), 1)]
    made += [point("glibc", 16, 10), point("hew", 8, 5), point("hew", 16, 20), point("one", 8, 10), point("one", 16, 5)]
    found = curve_points(made)
    assert [(one.at, one.medians["glibc"]) for one in found] == [(8, 10), (16, 10)]
    (mean,) = curve_means(found, frozenset({"one"}))
    assert mean.ratios["hew"] == pytest.approx(1.0)
    assert (mean.worst, mean.worst_at) == (4, 16)
    assert mean.to_best == pytest.approx((0.5 * 4) ** 0.5)


def test_a_curve_has_no_part_in_the_means() -> None:
    one = workload("curve", curve=True)
    made = [point(name.name, 8, 1.0, number) for name in ALLOCATORS for number in range(1, 7)]
    result = summarise_workload(one, setup_of(one, SETUP), ALLOCATORS, made, frozenset())
    assert result.best == {}
    assert summarise_bench(SUITE, SETUP, ALLOCATORS, [(result, made)], []).mean is None


def test_a_server_is_named_with_its_client() -> None:
    one = Workload("redis", "g", ServerPlan(("server",), None, ("client", "x"), None), False, 1, 0)
    assert setup_of(one, SETUP).command == ("server", "⟵", "client", "x")


def document(per_round: list[float]) -> dict[str, Any]:
    row = {"name": "hew", "ratios": {"wall_seconds": {"per_round": per_round}}}
    return {"workloads": [{"name": "a", "report": {"allocators": [row]}}]}


def test_a_saved_run_is_compared_by_ratios_to_glibc() -> None:
    (change,) = changes(document([1.0] * 6), document([0.8] * 6), "hew", ["wall_seconds", "cpu_seconds"])
    assert (change.before, change.after) == (1.0, 0.8)
    assert change.change.verdict is Verdict.BETTER
    assert changes(document([1.0]), document([1.0]), "other", ["wall_seconds"]) == []


def test_unpaired_noise_is_no_difference_and_few_rounds_tell_nothing() -> None:
    noisy = [0.9, 1.0, 1.1, 0.95, 1.05, 1.0]
    assert unpaired_ratio(noisy, noisy[::-1]).verdict is Verdict.NO_DIFFERENCE
    assert unpaired_ratio([0.5] * 3, [1.0] * 6).verdict is Verdict.TOO_FEW_RUNS
