# SPDX-License-Identifier: MIT
"""From runs to the report."""

from dataclasses import replace
from pathlib import Path

from conftest import SETUP, good_run
from hew.analysis.summary import summarise
from hew.model.allocator import Allocator
from hew.model.figures import SERVER_FIGURES
from hew.model.report import AllocatorResult, Report, Verdict
from hew.model.run import Failure, RssPoint, Run

GLIBC = Allocator("glibc")
OTHER = Allocator("other", Path("/x/libother.so"))


def result_of(report: Report, name: str) -> AllocatorResult:
    return next(result for result in report.results if result.allocator.name == name)


def test_warm_up_rounds_stay_out_of_the_figures() -> None:
    slow = good_run("glibc", 0, figures={"wall_seconds": 99.0})
    report = summarise(SETUP, [GLIBC], [], [slow, *(good_run("glibc", number) for number in (1, 2))])
    assert report.baseline.values["wall_seconds"] == (1.0, 1.0)


def test_a_failed_run_is_reported_and_counts_for_nothing() -> None:
    failed = Run("other", 2, failure=Failure("exit status 3", "oh"))
    runs = [good_run("glibc", number) for number in (1, 2, 3)]
    runs += [good_run("other", 1), failed, good_run("other", 3)]
    other = result_of(summarise(SETUP, [GLIBC, OTHER], [], runs), "other")
    assert other.good_runs == 2
    assert other.ratios["wall_seconds"].pairs == 2
    assert [(one.round, one.failure.reason) for one in other.failures] == [(2, "exit status 3")]


def test_the_baseline_has_no_ratio_and_the_others_have_one_for_each_figure(report: Report) -> None:
    assert not report.baseline.ratios
    assert set(result_of(report, "hew").ratios) == {figure.key for figure in report.figures}
    assert result_of(report, "hew").ratios["wall_seconds"].verdict is Verdict.BETTER
    assert result_of(report, "slow").ratios["wall_seconds"].verdict is Verdict.WORSE


def test_an_output_other_than_glibcs_is_flagged(report: Report) -> None:
    assert [one.allocator.name for one in report.results if one.output_differs] == ["slow"]


def test_an_output_that_varies_under_glibc_too_is_not_compared_and_that_is_said() -> None:
    runs = [good_run("glibc", 1, output="a"), good_run("glibc", 2, output="b"), good_run("other", 1, output="c")]
    report = summarise(SETUP, [GLIBC, OTHER], [], runs)
    assert not any(one.output_differs for one in report.results)
    assert any("varies" in note for note in report.notes)


def test_the_line_of_memory_is_from_the_run_in_the_middle() -> None:
    runs = [
        good_run("glibc", number, figures={"wall_seconds": wall}, rss=(RssPoint(0.0, number),))
        for number, wall in enumerate((3.0, 1.0, 2.0), start=1)
    ]
    assert summarise(SETUP, [GLIBC], [], runs).baseline.rss == (RssPoint(0.0, 3),)


def test_an_allocator_that_the_command_brings_is_noted_on_glibcs_row() -> None:
    runs = [good_run(name, 1, own_allocators=frozenset({"libjemalloc.so.2"})) for name in ("glibc", "other")]
    report = summarise(SETUP, [GLIBC, OTHER], [], runs)
    assert "libjemalloc.so.2" in report.baseline.notes[0]
    assert result_of(report, "other").notes == ()


def test_a_servers_figures_are_its_own_and_those_the_client_reported() -> None:
    setup = replace(SETUP, server=("server",))
    figures = {"client.GET.p50_seconds": 1e-3, "client.SET.requests_per_second": 9.0, "server_rss_bytes": 1.0}
    report = summarise(setup, [GLIBC], [], [good_run("glibc", 1, figures=figures)])
    assert report.figures[: len(SERVER_FIGURES)] == SERVER_FIGURES
    assert [figure.label for figure in report.figures[len(SERVER_FIGURES) :]] == [
        "GET latency p50",
        "SET requests per second",
    ]
