# SPDX-License-Identifier: MIT
"""The table, the document and the page of a made-up report."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from io import StringIO
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import validate
from rich.console import Console

from hew.analysis.choice import choice
from hew.model.allocator import Allocator
from hew.model.figures import Unit
from hew.model.quantity import quantity
from hew.model.report import Choice, Ratio, Report, Verdict
from hew.model.run import RssPoint
from hew.views import document
from hew.views.charts import memory_lines
from hew.views.document import to_json
from hew.views.memory_text import memory_rows
from hew.views.page import allocator_colors, to_page
from hew.views.svg import spread, ticks
from hew.views.table import show_table
from hew.views.text import times

SCHEMA = json.loads((Path(document.__file__).parent / "compare.schema.json").read_text())
CHOSEN = Choice("Choose <hew>: it is less.", ("best peak RSS: <hew>",))
VOID = {"meta", "link", "br", "img", "hr", "input"}


class Page(HTMLParser):
    """Checks that every element is closed in order, and collects what is of interest."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.links: list[str] = []
        self.words = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in {"src", "href", "xlink:href", "data", "action"}]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


def parsed(report: Report) -> Page:
    page = Page()
    page.feed(to_page(report, CHOSEN))
    page.close()
    assert page.open == []
    return page


def test_the_document_is_as_its_schema_says(report: Report) -> None:
    found = json.loads(to_json(report))
    validate(found, SCHEMA)
    assert found["allocators"][1]["ratios"]["wall_seconds"]["verdict"] == "better"


def test_the_table_says_what_is_known_and_not_more(report: Report) -> None:
    console = Console(file=StringIO(), width=100)
    show_table(report, CHOSEN, console)
    assert isinstance(console.file, StringIO)
    text = console.file.getvalue()
    rows = [" ".join(line.split()) for line in text.splitlines()]
    assert "hew 804 ms 0.80× 0.801 – 0.806 20 % less" in rows
    assert "hew 500 ms 1.00× 1.000 – 1.000 no difference" in rows
    assert "broken failed" in rows
    for words in ("killed by SIGSEGV", "<b>line two</b>", "scudo: left out: not installed", "a remark"):
        assert words in text
    assert max(map(len, text.splitlines())) <= 100


def test_the_page_is_well_formed_and_has_its_pictures(report: Report) -> None:
    page = parsed(report)
    assert page.tags.count("svg") == 5
    assert {"polyline", "rect", "circle"} <= set(page.tags)


def test_the_page_and_the_table_begin_with_what_to_choose(report: Report) -> None:
    page = to_page(report, CHOSEN)
    assert page.index("Choose &lt;hew&gt;") < page.index("<h2>")
    console = Console(file=StringIO(), width=100)
    show_table(report, CHOSEN, console)
    assert isinstance(console.file, StringIO)
    assert console.file.getvalue().index(CHOSEN.advice) < console.file.getvalue().index("wall time")


def test_the_table_of_the_page_has_a_row_for_each_allocator_and_hew_in_front(report: Report) -> None:
    table = to_page(report, CHOSEN).partition('class="blocks"')[2].partition("</table>")[0]
    names = re.findall(r'scope="row">.*?</span>(\S+?)</th>', table)
    assert sorted(names) == sorted(one.allocator.name for one in report.results)
    assert names[:2] == ["glibc", "hew"]
    assert table.count("data-label") == len(report.results) * len(report.figures)


def with_ratios(report: Report, **verdicts: tuple[float, Verdict]) -> Report:
    """The report with hew's ratios changed."""
    key = {"time": "wall_seconds", "memory": "peak_rss_bytes"}
    made = {
        key[name]: Ratio(value, value, value, 6, verdict, (value,) * 6) for name, (value, verdict) in verdicts.items()
    }
    kept = [one for one in report.results if one.allocator.name in {"glibc", "hew"}]
    return replace(
        report, results=tuple(one if one.allocator.is_baseline else replace(one, ratios=made) for one in kept)
    )


def test_one_sentence_says_what_to_choose(report: Report) -> None:
    better, worse, same = (0.75, Verdict.BETTER), (1.2, Verdict.WORSE), (1.0, Verdict.NO_DIFFERENCE)
    found = choice(with_ratios(report, time=better, memory=better))
    assert found.advice == "Choose hew: 25 % less wall time and 25 % less peak RSS, against glibc."
    assert found.axes == ("best wall time: hew (75 % of glibc's)", "best peak RSS: hew (75 % of glibc's)")
    assert choice(with_ratios(report, time=same, memory=worse)).advice.startswith("Stay with glibc")
    few = (0.5, Verdict.TOO_FEW_RUNS)
    assert "--runs 6" in choice(with_ratios(report, time=few, memory=few)).advice


def test_where_each_axis_has_its_own_winner_both_are_named(report: Report) -> None:
    found = choice(with_ratios(report, time=(0.75, Verdict.BETTER), memory=(1.2, Verdict.WORSE)))
    assert found.advice == "For wall time choose hew (25 % less wall time); for peak RSS stay with glibc."
    assert found.axes[1] == "best peak RSS: glibc; every other allocator is worse"


Interval = tuple[float, float, float]


def compared(report: Report, today: str = "glibc", **rivals: tuple[Interval, Interval]) -> Report:
    """The report with these allocators, each with its ratio and both ends of the interval: of time and of memory."""
    hew = next(one for one in report.results if one.allocator.name == "hew")

    def ratio(value: float, low: float, high: float, falls: bool) -> Ratio:
        verdict = Verdict.NO_DIFFERENCE if low <= 1 <= high else Verdict.BETTER if value < 1 else Verdict.WORSE
        rounds = (low, low, value, value, high, high)
        return Ratio(value, low, high, 6, verdict, rounds[::-1] if falls else rounds)

    made = [
        replace(
            hew,
            allocator=Allocator(name, Path(f"/{name}.so")),
            ratios={"wall_seconds": ratio(*time, number % 2 == 1), "peak_rss_bytes": ratio(*memory, number % 2 == 1)},
        )
        for number, (name, (time, memory)) in enumerate(rivals.items())
    ]
    return replace(report, results=(report.baseline, *made), today=today)


def test_allocators_within_their_intervals_tie_and_all_are_named(report: Report) -> None:
    found = choice(
        compared(
            report,
            jemalloc=((0.60, 0.58, 0.62), (1.10, 1.09, 1.11)),
            hew=((0.46, 0.42, 0.55), (0.80, 0.79, 0.81)),
            tcmalloc=((0.47, 0.39, 0.52), (1.28, 1.27, 1.29)),
        )
    )
    assert found.axes[0] == "best wall time: hew and tcmalloc, a tie (46 % to 47 % of glibc's)"
    assert found.axes[1] == "best peak RSS: hew (80 % of glibc's)"
    assert found.advice == "Choose hew: 54 % less wall time and 20 % less peak RSS, against glibc."


def test_a_difference_of_less_than_a_percent_is_a_tie_however_surely_it_was_measured(report: Report) -> None:
    level = compared(
        report,
        jemalloc=((0.5, 0.49, 0.51), (0.900, 0.900, 0.900)),
        hew=((0.5, 0.49, 0.51), (0.906, 0.906, 0.906)),
    )
    assert choice(level).advice.endswith("against glibc. hew is as good.")
    assert choice(replace(level, today="hew")).advice == (
        "Stay with hew: no other allocator is better in wall time or peak RSS beyond noise; jemalloc is as good."
    )


def test_rounds_that_were_disturbed_alike_do_not_make_a_tie(report: Report) -> None:
    """Their intervals to glibc overlap, since a round disturbed both; in each round the one is half of the other."""
    noisy = compared(report, jemalloc=((0.8, 0.5, 1.2), (0.9, 0.5, 1.8)), other=((1.5, 1.4, 1.6), (2.0, 1.9, 2.1)),
                     hew=((0.4, 0.25, 0.6), (0.45, 0.25, 0.9)))  # fmt: skip
    assert choice(noisy).axes == ("best wall time: hew (40 % of glibc's)", "best peak RSS: hew (45 % of glibc's)")


def test_what_runs_today_stays_among_equals(report: Report) -> None:
    found = choice(compared(report, hew=((0.99, 0.95, 1.03), (1.0, 0.99, 1.01))))
    assert found.advice.startswith("Stay with glibc: ")
    assert found.advice.endswith("; hew is as good.")


def test_of_allocators_that_are_as_fast_the_leanest_is_chosen(report: Report) -> None:
    fast, lean = ((0.46, 0.42, 0.55), (1.74, 1.74, 1.74)), ((0.47, 0.39, 0.52), (0.9, 0.9, 0.9))
    assert choice(compared(report, fast=fast, lean=lean)).advice.startswith("Choose lean: 53 % less wall time")


def test_memory_over_time_is_one_scale_for_all_and_fits_its_width(report: Report) -> None:
    def line(seconds: float, peak: int) -> tuple[RssPoint, ...]:
        return tuple(RssPoint(seconds * step / 20, peak * step // 20) for step in range(1, 21))

    shown = tuple(
        replace(one, rss=line(1.0, 100 << 20) if one.allocator.is_baseline else line(0.5, 50 << 20))
        for one in report.results
        if one.allocator.name in {"glibc", "hew"}
    )
    for width in (80, 120):
        rows = memory_rows(shown, width)
        assert len(rows) == 4
        assert max(map(len, rows)) <= width
        assert "█" in rows[0]  # glibc fills its upper line
        assert rows[2] == ""  # half the memory needs none
        assert rows[1].endswith("100 MiB, 1.00 s")
        assert rows[3].endswith("50.0 MiB, 500 ms")
        assert len(rows[1].split()[1]) == pytest.approx(2 * len(rows[3].split()[1]), abs=1)
    assert memory_rows(tuple(replace(one, rss=()) for one in shown), 80) == []


@pytest.mark.parametrize("width", [80, 100, 120])
def test_no_word_of_the_table_is_cut(report: Report, width: int) -> None:
    long = replace(report.figures[0], label="heap over the trace's time of a label that is far too long for a column")
    console = Console(file=StringIO(), width=width)
    show_table(replace(report, figures=(long, *report.figures[1:])), CHOSEN, console)
    assert isinstance(console.file, StringIO)
    text = console.file.getvalue()
    assert "…" not in text
    assert long.label in text
    assert "vs glibc" in text


def test_a_whisker_that_is_cut_is_marked(report: Report) -> None:
    wide = Ratio(1.5, 0.9, 9.0, 3, Verdict.NO_DIFFERENCE, (0.9, 1.5, 9.0))
    kept = tuple(
        one if one.allocator.is_baseline else replace(one, ratios={"wall_seconds": wide}) for one in report.results
    )
    assert 'class="clipped"' in to_page(replace(report, results=kept), CHOSEN)
    assert 'class="clipped"' not in to_page(with_ratios(report, time=(0.9, Verdict.BETTER)), CHOSEN)


def test_the_page_fetches_nothing_and_runs_nothing(report: Report) -> None:
    page, text = parsed(report), to_page(report, CHOSEN)
    assert page.links == []
    assert {"script", "link", "img", "iframe", "object"}.isdisjoint(page.tags)
    assert not re.search(r"https?:|url\(|@import|//[a-z]", text)


def test_the_page_is_light_or_dark_as_its_reader_likes(report: Report) -> None:
    assert "prefers-color-scheme: dark" in to_page(report, CHOSEN)


def test_words_from_outside_stay_words(report: Report) -> None:
    text = to_page(report, CHOSEN)
    assert "<b>line two</b>" not in text
    assert "<hard>" not in text
    assert "&lt;b&gt;line two&lt;/b&gt;" in text


def test_the_page_names_failures_absentees_and_other_outputs(report: Report) -> None:
    words = parsed(report).words
    for part in ("killed by SIGSEGV", "scudo: left out: not installed", "slow: its output differs", "a remark"):
        assert part in words


def test_a_server_and_its_client_are_both_named(report: Report) -> None:
    setup = replace(report.setup, server=("redis-server", "--port", "{port}"))
    words = parsed(replace(report, setup=setup)).words
    assert "redis-server --port {port}" in words
    assert "client" in words


def test_a_report_without_any_good_run_is_still_a_page(report: Report) -> None:
    empty = tuple(replace(one, values={}, medians={}, ratios={}, rss=()) for one in report.results)
    page = parsed(replace(report, results=empty))
    assert "svg" not in page.tags
    assert "killed by SIGSEGV" in page.words


def test_hew_and_glibc_keep_their_colours_and_no_two_share_one(report: Report) -> None:
    colors = allocator_colors([one.allocator for one in report.results])
    assert (colors["glibc"], colors["hew"]) == ("--glibc", "--hew")
    assert len(set(colors.values())) == len(colors)


def test_there_is_no_memory_picture_without_two_points(report: Report) -> None:
    short = tuple(replace(one, rss=one.rss[:1]) for one in report.results)
    assert memory_lines(short, allocator_colors([one.allocator for one in report.results])) is None


def test_a_busy_machine_is_mentioned(report: Report) -> None:
    machine = replace(report.setup.machine, load_average=7.0)
    assert "busy" in parsed(replace(report, setup=replace(report.setup, machine=machine))).words
    assert "busy" not in parsed(report).words


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0123, Unit.SECONDS, "12.3 ms"),
        (0.0, Unit.SECONDS, "0.00 s"),
        (83.2, Unit.SECONDS, "83.2 s"),
        (3.2e-5, Unit.SECONDS, "32.0 µs"),
        (1536, Unit.BYTES, "1.50 KiB"),
        (3 * 2**40, Unit.BYTES, "3.00 TiB"),
        (1234567, Unit.COUNT, "1,234,567"),
        (88123.4, Unit.PER_SECOND, "88,123/s"),
    ],
)
def test_quantities_are_written_for_people(value: float, unit: Unit, text: str) -> None:
    assert quantity(value, unit) == text


def test_ratios_are_written_with_two_decimals_while_small() -> None:
    assert (times(0.874), times(25.04)) == ("0.87×", "25.0×")


@given(st.floats(1e-6, 1e12), st.integers(2, 10))
def test_ticks_are_even_start_at_zero_and_stay_within(high: float, wanted: int) -> None:
    found = ticks(high, wanted)
    assert found[0] == 0
    assert found[-1] <= high * 1.001
    assert 2 <= len(found) <= wanted + 2


@given(st.lists(st.floats(0, 200), min_size=1, max_size=8))
def test_labels_keep_their_distance_and_their_order(wanted: list[float]) -> None:
    placed = spread(wanted, 16, 0, 300)
    ordered = sorted(placed)
    assert all(after - before >= 16 - 1e-6 for before, after in pairwise(ordered))
    assert all(0 <= one <= 300 for one in placed)
