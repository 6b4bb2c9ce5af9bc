# SPDX-License-Identifier: MIT
"""The section of a page that a script makes: what stands outside of its marks stays."""

from pathlib import Path

import bench_pools
import bench_weeks
import gen_benchmarks
import gen_cut_to_fit
import gen_policies
import gen_tuning
import pytest
from generated import Section, section_of, table
from pages import locks

SECTION = section_of("scripts/x.py", "figures")
MADE = {
    "docs/pools.md": [bench_pools.SECTION],
    "docs/weeks.md": [bench_weeks.SECTION],
    "docs/benchmarks.md": [gen_benchmarks.SECTION],
    "docs/unseen.md": [gen_benchmarks.SECTION],
    "docs/cut-to-fit.md": [gen_cut_to_fit.SECTION],
    "docs/policies.md": [gen_policies.SECTION],
    "docs/tuning.md": [gen_tuning.SECTION],
    "src/README.md": [locks.SECTION],
}


def test_what_stands_outside_the_marks_stays() -> None:
    before = "head\n<!-- figures: made by scripts/x.py -->\nold\n<!-- end of figures -->\nfoot\n"
    after = SECTION.put(before, ["new \\1 figures", ""])
    assert after == before.replace("old", "\nnew \\1 figures\n")
    assert SECTION.put(after, ["", "new \\1 figures"]) == after


@pytest.mark.parametrize("page", ["nothing", SECTION.begin, SECTION.end, f"{SECTION.end}\n{SECTION.begin}"])
def test_a_page_without_marks_is_left_as_it_is(page: str, tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text(page)
    with pytest.raises(ValueError, match=r"page\.md: no marks <!-- figures"):
        SECTION.write(path, ["new"])
    assert path.read_text() == page


@pytest.mark.parametrize(("page", "sections"), MADE.items())
def test_each_page_of_this_project_has_the_marks_of_its_scripts_once(page: str, sections: list[Section]) -> None:
    text = (Path(__file__).parents[2] / page).read_text()
    for one in sections:
        assert (text.count(one.begin), text.count(one.end)) == (1, 1)
        _, _, rest = text.partition(one.begin)
        inside, _, _ = rest.partition(one.end)
        assert one.put(text, inside.splitlines()) == text


def test_a_table_has_its_figures_to_the_right() -> None:
    assert table(["a", "b", "c"], [["x", "1", "2"]]) == ["| a | b | c |", "| --- | ---: | ---: |", "| x | 1 | 2 |"]
