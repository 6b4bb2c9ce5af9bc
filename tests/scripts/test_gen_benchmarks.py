# SPDX-License-Identifier: MIT
"""The tables of docs/benchmarks.md, from a small made-up run."""

import json
from pathlib import Path
from typing import Any

import gen_benchmarks
import pytest


def report(**ratios: float) -> dict[str, Any]:
    rows = [
        {"name": name, "medians": {}, "ratios": {"wall_seconds": {"value": value}}} for name, value in ratios.items()
    ]
    return {"allocators": [{"name": "glibc", "medians": {"wall_seconds": 0.5}, "ratios": {}}, *rows]}


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    best = {"wall_seconds": {"name": "one", "ratio": {"value": 1.25}}}
    curve = {"series": "malloc", "ratios": {"hew": 0.4}, "to_best": 0.9, "worst": 1.1, "worst_at": 64.0}
    found = {
        "suite": "nightly",
        "started": "2026-01-02T03:04:05+00:00",
        "machine": {
            "cpu": "a CPU",
            "cpus_usable": 2,
            "memory_bytes": 2**33,
            "kernel": "Linux",
            "libc": "glibc",
            "load_average": 0.0,
        },
        "allocators": [{"name": "glibc"}, {"name": "one"}, {"name": "hew"}],
        "unusable": [{"name": "two", "reason": "not installed"}],
        "notes": [],
        "mean": report(hew=0.5, one=0.4, **{"best peer": 0.4}),
        "groups": {},
        "workloads": [
            {"name": "a", "curve": False, "best": best, "report": report(hew=0.5, one=0.4), "curve_means": []},
            {"name": "b", "curve": True, "best": {}, "report": report(), "curve_means": [curve]},
        ],
    }
    path = tmp_path / "saved.json"
    path.write_text(json.dumps(found))
    return path


def test_a_page_is_made_and_says_what_was_measured(saved: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    assert gen_benchmarks.main([str(saved), str(page)]) == 0
    text = page.read_text()
    for line in ("| a | 0.50 s | 0.50 | 0.40 | 1.25 (one) |", "| b: malloc | 0.40 | – | 0.90 | 1.10 at 64 |"):
        assert line in text
    assert "| *mean, everything* |  | 0.50 | 0.40 | 1.25 |" in text
    assert "two: left out: not installed" in text


def test_words_around_the_tables_stay(saved: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Head\n{gen_benchmarks.BEGIN}\nold\n{gen_benchmarks.END}\nfoot\n")
    assert gen_benchmarks.main([str(saved), str(page)]) == 0
    text = page.read_text()
    assert text.startswith("# Head\n")
    assert text.endswith(f"{gen_benchmarks.END}\nfoot\n")
    assert "\nold\n" not in text


def test_a_page_without_marks_is_left_alone(saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text("words\n")
    assert gen_benchmarks.main([str(saved), str(page)]) == 1
    assert page.read_text() == "words\n"
    assert "has no" in capsys.readouterr().err
