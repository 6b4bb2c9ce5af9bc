# SPDX-License-Identifier: MIT
"""The page of real programs, from small made-up runs."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import gen_programs
import program_figures as figures
import pytest
from program_figures import CPU, MEAN, PEAK


def run(cpu: float = 1.0, peak: int = 1000, sampled: bool = False, **others: Any) -> dict[str, Any]:
    usual = {"wall": cpu, "user": cpu, "system": 0.0, "faults": 10, "calls": None, "mean_kb": 0, "idle_kb": 0}
    return {**usual, "sampled": sampled, "peak_kb": peak, **others}


def program(kind: str = "data", **runs: list[dict[str, Any]]) -> dict[str, Any]:
    return {"kind": kind, "what": "a | b", "version": "1", "state": "passed", "notes": [], "peers": {}, "runs": runs}


def rounds(*times: float, peak: int = 1000) -> list[dict[str, Any]]:
    return [run(peak=peak, sampled=True, mean_kb=peak // 2), *(run(time) for time in times)]


SEVEN = (1.0, 1.1, 0.9, 1.3, 1.0, 1.2, 1.0)


def test_a_ratio_of_times_is_the_median_of_the_rounds_and_knows_its_interval() -> None:
    one = program(
        glibc=rounds(*SEVEN), hew=rounds(*(time * part for time, part in zip(SEVEN, (0.5,) * 6 + (2.0,), strict=True)))
    )
    found = figures.ratio(one, "hew", "glibc", CPU)
    assert found is not None
    assert found.value == pytest.approx(0.5)
    assert [found.low, found.high] == pytest.approx([0.5, 2.0])


def test_six_rounds_hold_the_median_between_the_least_and_the_greatest() -> None:
    assert figures.interval_of([6, 1, 5, 2, 4, 3]) == (1, 6)
    assert figures.interval_of(range(1, 10)) == (2, 8)
    assert figures.sureness(3) == 0.75


def test_memory_comes_from_sampled_runs_and_times_from_the_others() -> None:
    one = program(glibc=rounds(2.0, peak=1000), hew=rounds(1.0, peak=900))
    assert figures.runs_of(one, "hew", PEAK) == [900]
    assert figures.runs_of(one, "hew", MEAN) == [450]
    assert figures.runs_of(one, "hew", CPU) == [1.0]


def test_a_peer_that_failed_has_no_figures() -> None:
    one = program(glibc=rounds(1.0), hew=rounds(1.0), other=rounds(0.1))
    one["peers"] = {"other": "crashed"}
    assert figures.ratio(one, "other", "glibc", CPU) is None
    stands = figures.place(one, ["glibc", "hew", "other"], CPU)
    assert stands is not None
    assert stands.among


def test_times_that_the_interval_cannot_separate_are_a_tie() -> None:
    one = program(glibc=rounds(*SEVEN), hew=rounds(*reversed(SEVEN)), other=rounds(*(3 * time for time in SEVEN)))
    stands = figures.place(one, ["glibc", "hew", "other"], CPU)
    assert stands is not None
    assert set(stands.ties) == {"glibc", "hew"}


def test_memory_within_two_hundredths_is_a_tie_and_more_is_not() -> None:
    near = program(glibc=rounds(1.0, peak=1000), hew=rounds(1.0, peak=1015))
    far = program(glibc=rounds(1.0, peak=1000), hew=rounds(1.0, peak=1030))
    found = [figures.place(one, ["glibc", "hew"], PEAK) for one in (near, far)]
    assert [one.among for one in found if one is not None] == [True, False]


def test_the_mean_of_two_programs_is_geometric() -> None:
    two = {
        "a": program(glibc=rounds(1.0, peak=100), hew=rounds(1.0, peak=50)),
        "b": program(glibc=rounds(1.0, peak=100), hew=rounds(1.0, peak=200)),
    }
    found = figures.mean(two, "hew", PEAK)
    assert found is not None
    assert [found[0].low, found[0].value, found[0].high, found[1]] == pytest.approx([1, 1, 1, 2])


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    winning = program(glibc=rounds(*SEVEN), hew=rounds(*(time / 2 for time in SEVEN), peak=500), other=rounds(*SEVEN))
    losing = program("biology", glibc=rounds(*SEVEN), hew=rounds(*(time * 2 for time in SEVEN)), other=rounds(*SEVEN))
    losing["instructions"] = {"glibc": {"all": 2e9, "library": None}, "hew": {"all": 1e9, "library": 5e6}}
    broken = {**program(), "state": "failed", "reason": "differs", "runs": {}}
    document = {
        "machine": "a machine",
        "date": "2026-01-02",
        "set": "full",
        "library": "libhew.so",
        "idle_seconds": 30.0,
        "programs": {"losing": losing, "winning": winning, "broken": broken},
    }
    path = tmp_path / "full.json"
    path.write_text(json.dumps(document))
    return path


def test_the_page_has_winners_first_a_line_for_each_loss_and_the_picture(saved: Path, tmp_path: Path) -> None:
    page = tmp_path / "programs.md"
    page.write_text(f"# Before\n\n{gen_programs.SECTION.text([])}\n\nafter\n")
    assert gen_programs.main([str(saved), str(page)]) == 0
    text = page.read_text()
    rows = text[text.index("## Each program") :]
    assert rows.index("| winning |") < rows.index("| losing |")
    assert "- **losing**: CPU time 2.00 of glibc's" in text
    assert "- **winning**" not in text
    assert "**failed**: differs" in text
    assert "a \\| b" in text
    assert "| losing | 2,000 million | 0.500 (5.0) |" in text
    assert text.endswith("\nafter\n")
    picture = (tmp_path / "img/programs.svg").read_text()
    assert "prefers-color-scheme:dark" in picture
    drawn = ElementTree.fromstring(picture)  # noqa: S314 - our own
    circles = [one for one in drawn.iter() if one.tag.endswith("circle")]
    assert {one.get("fill") for one in circles} == {"var(--hew)", "var(--c0)"}
    assert "--hew:#" in picture
    assert len(circles) == 4 + 2 + 2, "a dot a program and allocator, a mean and a legend for each"


def test_a_file_without_figures_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "none.json"
    path.write_text(json.dumps({"programs": {}}))
    assert gen_programs.main([str(path)]) == 1
    assert "no program with figures" in capsys.readouterr().err
