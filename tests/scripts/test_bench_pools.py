# SPDX-License-Identifier: MIT
"""scripts/bench_pools.py: the tables that it makes of figures, and where it writes them."""

import json
from itertools import product
from pathlib import Path

import bench_pools
import pytest

ROUNDS = [
    {"threads": threads, "row": row, "place": place, "us": us, "first_us": 2 * us}
    for threads, row in product(bench_pools.THREADS, bench_pools.ROWS)
    for place, us in (("glibc", 1000.0), ("hew", 500.0), ("within", 400.0), ("beyond", 450.0))
]
LOOKUPS = [
    {"table": shape, "order": order, "method": method, "sizes": sizes, "ns": 1.25}
    for shape, order, method, sizes in product(
        bench_pools.SHAPES, bench_pools.ORDERS, ("auto", "midpoint"), (15210, 10)
    )
]
DOCUMENT = {"runs": 3, "rounds": ROUNDS, "lookups": LOOKUPS}
PAGE = f"before\n{bench_pools.BEGIN}\nold\n{bench_pools.END}\nafter\n"


def test_ratios_stand_beside_the_figures() -> None:
    row = next(line for line in bench_pools.section(DOCUMENT).splitlines() if line.startswith("| declared sizes"))
    assert row == "| declared sizes | 1,000 | 500 | 400 | 450 | 0.40 | 0.80 | 0.45 | 0.90 |"


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
    assert "no <!-- tables" in capsys.readouterr().err
