# SPDX-License-Identifier: MIT
"""The figures of docs/tuning.md about tuning by itself: from made-up measurements."""

import json
from pathlib import Path
from typing import Any

import gen_self_tuning
import pytest

SPENDING, LAVISH = gen_self_tuning.SPENDING, gen_self_tuning.LAVISH
KEYS = [one.key for one in gen_self_tuning.FIGURES]


def way(*ratios: float) -> dict[str, Any]:
    return {key: {"median": 2.0**20, "ratio": ratio} for key, ratio in zip(KEYS, ratios, strict=True)}


def case(healthy: bool, **ways: dict[str, Any]) -> dict[str, Any]:
    return {"words": ["x"], "runs": 3, "load": 1.25, "healthy": healthy, "ways": {"without": way(1, 1, 1), **ways}}


def test_a_case_has_the_best_setting_by_hand_beside_what_it_found_itself() -> None:
    kept = {
        "batches": case(
            False,
            **{
                "tuning:room": way(0.75, 0.8, 1.01),
                "tuning:on": way(0.7, 0.8, 1.02),
                SPENDING: way(0.6, 0.7, 1.2),
                LAVISH: way(0.5, 0.6, 1.4),
                "cache_room:400": way(0.65, 0.7, 1.1),
                "depot_room:400": way(0.72, 0.7, 1.02),
            },
        )
    }
    [row] = gen_self_tuning.rows(kept)
    assert row[2:6] == ["0.75, 0.80, 1.01", "0.70, 0.80, 1.02", "0.60, 0.70, 1.20", "0.50, 0.60, 1.40"]
    assert row[6] == "`depot_room:400`: 0.72, 0.70, 1.02"  # the other one takes more memory than the default
    assert row[7:] == ["`cache_room:400`: 0.65, 0.70, 1.10", "1.2"]


def test_a_program_of_another_s_is_run_as_it_stands(tmp_path: Path) -> None:
    ours = tmp_path / "bench/apps/batches"
    ours.parent.mkdir(parents=True)
    ours.touch()
    assert gen_self_tuning.command_of(tmp_path, ("batches", "--threads", "8")) == (str(ours), "--threads", "8")
    words = gen_self_tuning.command_of(tmp_path, ("java", "-cp", "{root}/inputs"))
    assert words == ("java", "-cp", f"{gen_self_tuning.ROOT}/inputs")


def test_what_is_set_by_hand_is_measured_without_tuning() -> None:
    settings = {one.name: one.changes["HEW_CONF"] for one in gen_self_tuning.ways(healthy=False)}
    assert settings["tuning:room"] == "tuning:room"
    assert settings["cache_room:400"] == "tuning:off,cache_room:400"
    assert next(iter(settings.values())) == "tuning:off"
    assert len(gen_self_tuning.ways(healthy=True)) == 3


def test_where_no_setting_helps_none_is_the_best() -> None:
    alike = dict.fromkeys(("tuning:room", "tuning:on", SPENDING, LAVISH), way(1, 1, 1))
    kept = {"store": case(False, **alike, **{"cache_room:400": way(1.1, 1, 1)})}
    assert gen_self_tuning.rows(kept)[0][6:8] == ["tuning:off", "tuning:off"]


def test_the_page_keeps_what_stands_outside_its_marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page, keep = tmp_path / "page.md", tmp_path / "kept.json"
    page.write_text(f"head\n{gen_self_tuning.SECTION.text(['old'])}\nfoot\n")
    slots = {"tuning:room": way(1, 1, 1), "tuning:on": way(1.01, 0.99, 1.0)}
    keep.write_text(json.dumps({"slots": case(True, **slots)}))
    alike = dict.fromkeys(("tuning:room", "tuning:on", SPENDING, LAVISH), way(1, 1, 1))
    monkeypatch.setattr(
        gen_self_tuning,
        "measured",
        lambda _build, _words, _runs, _healthy: case(False, **alike),
    )
    assert gen_self_tuning.main(["--page", str(page), "--keep", str(keep), "--cases", "batches"]) == 0
    text = page.read_text()
    assert text.startswith("head\n")
    assert text.endswith("foot\n")
    assert "| slots | 1.00, 1.00, 1.00 | 1.01, 0.99, 1.00 | 1.2 |" in text
    assert "| batches |" in text
    assert "old" not in text


def test_a_page_without_marks_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, keep = tmp_path / "page.md", tmp_path / "kept.json"
    page.write_text("nothing\n")
    keep.write_text("{}")
    assert gen_self_tuning.main(["--page", str(page), "--keep", str(keep), "--cases", "none such"]) == 1
    assert "page.md: no marks" in capsys.readouterr().err
