# SPDX-License-Identifier: MIT
"""scripts/bench_pools.py: the tables that it makes of figures, and where it writes them."""

import json
from itertools import product
from pathlib import Path

import bench_pools
import pytest

TOOK = {"glibc": 1000.0, "hew": 500.0, "again": 510.0, "within": 400.0, "beyond": 450.0}
# Three runs, the middle one of which took half as long.
ROUNDS = [
    {"threads": threads, "row": row, "place": place, "us": [us, us / 2, us], "first_us": [2 * us, us, 2 * us]}
    for threads, row in product(bench_pools.THREADS, bench_pools.ROWS)
    for place, us in TOOK.items()
]
LOOKUPS = [
    {"table": shape, "order": order, "method": method, "sizes": sizes, "ns": 1.25}
    for shape, order, method, sizes in product(
        bench_pools.SHAPES, bench_pools.ORDERS, ("auto", "midpoint"), (15210, 10)
    )
]
DOCUMENT = {"runs": 3, "rounds": ROUNDS, "lookups": LOOKUPS}
PAGE = f"before\n{bench_pools.SECTION.text(['old'])}\nafter\n"


def points_with(place: str, took: list[float]) -> list[bench_pools.Point]:
    """The same figures but for declared sizes with two threads in one place."""
    return [
        {**point, "us": took} if (point["threads"], point["row"], point["place"]) == (2, 1, place) else point
        for point in ROUNDS
    ]


def test_ratios_of_each_runs_processes_stand_beside_the_figures() -> None:
    row = next(line for line in bench_pools.section(DOCUMENT) if line.startswith("| declared sizes"))
    ratios = ("0.40 (0.40-0.40)", "0.80 (0.80-0.80)", "0.45 (0.45-0.45)", "0.90 (0.90-0.90)", "1.02 (1.02-1.02)")
    assert row == f"| declared sizes | 1,000 | 500 | 400 | 450 | {' | '.join(ratios)} |"


def test_a_ratio_is_the_median_over_the_runs_with_its_quartiles() -> None:
    points = points_with("within", [500.0, 500.0, 250.0])
    assert bench_pools.ratio_of(points, 2, 1, "us", "within / hew") == (0.75, 1.0, 1.5)


def test_goals_that_are_met_say_in_how_many_rows() -> None:
    assert "- within / glibc at most 0.5: in 9 of 9 rows." in bench_pools.goals(ROUNDS)
    assert "- beyond / hew at most 1: in 12 of 12 rows." in bench_pools.goals(ROUNDS)


def test_a_row_that_misses_a_goal_is_named_and_chance_is_what_the_same_malloc_shows() -> None:
    slow, lucky = points_with("within", [600.0, 300.0, 600.0]), points_with("beyond", [505.0, 252.5, 505.0])
    assert (
        "- within / glibc at most 0.5: in 8 of 9 rows; not in declared sizes with 2 threads (0.600)."
        in bench_pools.goals(slow)
    )
    assert (
        "- within / hew at most 1: in 11 of 12 rows; not in declared sizes with 2 threads (1.200)."
        in bench_pools.goals(slow)
    )
    assert (
        "- beyond / hew at most 1: in 11 of 12 rows; not in declared sizes with 2 threads (1.010, within chance)."
        in bench_pools.goals(lucky)
    )


def test_each_process_runs_once_a_turn_forwards_and_backwards(monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[tuple[str, bool]] = []

    def run(command: list[str], preload: Path | None) -> list[bench_pools.Point]:
        commands.append((" ".join(command[1:]), preload is None))
        return [{"us": float(len(commands)), "first_us": 1.0}]

    monkeypatch.setattr(bench_pools, "run_program", run)
    points = bench_pools.measure_rounds(Path("build"), 2)
    assert commands[: len(points)] == commands[: len(points) - 1 : -1]
    assert commands[0] == ("--threads 5 --row 1 --place 0 --rounds 41", True)
    assert points[0]["us"] == [1.0, float(2 * len(points))]


def test_the_defaults_worst_look_up_is_named() -> None:
    slower = [
        {**point, "ns": 1.5} if point["method"] == "auto" and point["sizes"] == 10 else point for point in LOOKUPS
    ]
    assert "at most 1.20 of the fastest column's time (even, in order, 10)" in bench_pools.lookup_goal(slower)


def test_a_method_without_a_figure_has_an_empty_cell_and_counts_ascend() -> None:
    lines = bench_pools.lookup_table(LOOKUPS, "even", "in order")
    assert [line.split(" | ")[0] for line in lines if line.startswith("| 1")] == ["| 10", "| 15,210"]
    assert lines[3] == "| 10 | 1.2 | 1.2 |  |  |  |  |"


def test_only_what_stands_between_the_marks_changes(tmp_path: Path) -> None:
    page, saved = tmp_path / "page.md", tmp_path / "saved.json"
    page.write_text(PAGE)
    saved.write_text(json.dumps(DOCUMENT))
    assert bench_pools.main(["--load", str(saved), "--page", str(page)]) == 0
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "old" not in text


def test_a_page_without_marks_is_left_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, saved = tmp_path / "page.md", tmp_path / "saved.json"
    page.write_text("nothing\n")
    saved.write_text(json.dumps(DOCUMENT))
    assert bench_pools.main(["--load", str(saved), "--page", str(page)]) == 2
    assert page.read_text() == "nothing\n"
    assert "page.md: no marks <!-- tables" in capsys.readouterr().err
