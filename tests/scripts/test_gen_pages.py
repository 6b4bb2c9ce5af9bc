# SPDX-License-Identifier: MIT
"""gen_pages: which pages it makes, and what it makes of one that cannot be made.  Each page has tests of its own."""

from pathlib import Path

import gen_pages
import pytest
from pages.page import Page


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of three pages: one that is made, one that has a breach, one that is measured."""
    pages = [
        Page("plain", "docs/plain.md", lambda root: f"from {root.name}\n"),
        Page("broken", "docs/broken.md", lambda _root: "text\n", lambda _root: ["a row is missing"]),
        Page("slow", "docs/slow.md", lambda _root: "measured\n", measured=True),
    ]
    monkeypatch.setattr(gen_pages, "PAGES", {page.name: page for page in pages})
    return tmp_path


def test_a_named_page_is_made_alone(root: Path) -> None:
    assert gen_pages.main(["plain", "--root", str(root)]) == 0
    assert [page.name for page in (root / "docs").iterdir()] == ["plain.md"]


def test_without_a_name_all_are_made_but_what_is_measured(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert gen_pages.main(["--root", str(root)]) == 1
    assert sorted(page.name for page in (root / "docs").iterdir()) == ["broken.md", "plain.md"]
    assert capsys.readouterr().err == "gen_pages: broken: a row is missing\n"


def test_a_measured_page_is_made_when_it_is_named(root: Path) -> None:
    assert gen_pages.main(["slow", "--root", str(root)]) == 0
    assert (root / "docs" / "slow.md").read_text() == "measured\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["other"], "no page other: plain, broken, slow"), (["slow", "--check"], "slow is measured")],
)
def test_what_cannot_be_asked_is_refused(
    root: Path, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        gen_pages.main([*arguments, "--root", str(root)])
    assert words in capsys.readouterr().err


def test_every_page_is_checked_though_one_cannot_be_made(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_root: Path) -> str:
        raise ValueError("no table")

    monkeypatch.setitem(gen_pages.PAGES, "plain", Page("plain", "docs/plain.md", fail))
    assert gen_pages.main(["--root", str(root), "--check"]) == 2
    error = capsys.readouterr().err
    assert "gen_pages: plain: no table\n" in error
    assert "gen_pages: broken: docs/broken.md is not up to date: run scripts/gen_pages.py broken\n" in error
