# SPDX-License-Identifier: MIT
"""check_first: a stale name and a section that is too long are noticed."""

from pathlib import Path

import check_first
import pytest

HEADERS = (
    "  [12] .text.first       PROGBITS        0000000000005e90 005e90 {size:06x} 00  AX  0   0 16\n"
    "  [14] .text.often       PROGBITS        0000000000010000 010000 {often:06x} 00  AX  0   0 16\n"
)


@pytest.fixture
def arguments(tmp_path: Path) -> list[str]:
    source = tmp_path / "src"
    source.mkdir()
    (source / "a.c").write_text("static int\nfill(int count)\n{\n}\n\nvoid\nhew_take(void)\n{\n    give(1);\n}\n")
    (tmp_path / "first.txt").write_text("# Fill first.\nfill\n")
    (tmp_path / "often.txt").write_text("hew_take\n")
    return ["--lists", str(tmp_path), "--source", str(source), "--library", "libhew.so"]


def answer_with(monkeypatch: pytest.MonkeyPatch, headers: str) -> None:
    monkeypatch.setattr(check_first, "section_headers", lambda _: headers)


def test_names_that_are_functions_and_a_short_section_pass(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answer_with(monkeypatch, HEADERS.format(size=0x8000, often=0x8000))
    assert check_first.main(arguments) == 0


@pytest.mark.parametrize("part", ["first.txt", "often.txt"])
def test_a_name_that_no_file_defines_fails(arguments: list[str], monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    answer_with(monkeypatch, HEADERS.format(size=0x8000, often=0x8000))
    (Path(arguments[1]) / part).write_text("hew_take fill give\n")
    assert check_first.main(arguments) == 1


@pytest.mark.parametrize("sizes", [{"size": 0xB000, "often": 0x8000}, {"size": 0x8000, "often": 0x10001}])
def test_a_section_past_its_piece_fails(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, sizes: dict[str, int]
) -> None:
    answer_with(monkeypatch, HEADERS.format(**sizes))
    assert check_first.main(arguments) == 1


def test_a_library_without_the_section_passes(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    answer_with(monkeypatch, "")
    assert check_first.main(arguments) == 0
