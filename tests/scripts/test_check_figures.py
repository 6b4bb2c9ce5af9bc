# SPDX-License-Identifier: MIT
"""Pages with figures say which library they are of, and not one of long ago."""

from pathlib import Path

import check_figures
import pytest
from generated import MEASURED, section_of, version_of

ROWS = "| a | 1.5 |\n" * check_figures.FEW


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "CHANGELOG.md").write_text("# Changes\n\n## 0.3.0 (not released)\n\n## 0.2.0\n\n## 0.1.0\n")
    (tmp_path / "CMakeLists.txt").write_text("project(hew VERSION 0.3.0 LANGUAGES C CXX)\n")
    (tmp_path / "docs").mkdir()
    return tmp_path


def test_the_pages_of_this_checkout_are_as_they_should_be() -> None:
    assert check_figures.main() == 0


@pytest.mark.parametrize(
    ("line", "status", "said"),
    [
        ("Measured: hew 0.3.0 at revision `0123456789ab`.", 0, "1 pages with figures, 0 not"),
        ("Measured: hew 0.2.0 at revision `0123456789ab`.", 0, "1 pages with figures, 0 not"),
        ("Measured: hew 0.1.0 at revision `0123456789ab`.", 1, "docs/speed.md was measured with 0.1.0, 2 releases ago"),
        ("Measured: hew 0.0.9 at revision `0123456789ab`.", 1, "no release of CHANGELOG.md"),
        ("Measured some day.", 1, "has figures and no line"),
    ],
)
def test_a_page_may_be_one_release_behind(
    root: Path, capsys: pytest.CaptureFixture[str], line: str, status: int, said: str
) -> None:
    (root / "docs/speed.md").write_text(f"# Speed\n\n{line}\n\n{ROWS}")
    (root / "docs/words.md").write_text("# Words\n\n| a | 1.5 |\n")
    (root / "docs/options.md").write_text(f"# Settings\n\n{ROWS}")
    assert check_figures.main(root) == status
    assert said in capsys.readouterr().out


def test_a_changelog_without_the_librarys_version_is_told(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "CMakeLists.txt").write_text("project(hew VERSION 0.4.0 LANGUAGES C CXX)\n")
    assert check_figures.main(root) == 1
    assert "['0.3.0'], the library's version 0.4.0" in capsys.readouterr().out


def test_who_writes_figures_renews_the_line(tmp_path: Path) -> None:
    section, page = section_of("make_it.py", "figures"), tmp_path / "page.md"
    page.write_text(f"Measured: hew 0.0.1 at revision `abc`.\n\n{section.text(['old'])}\n")
    section.write(page, ["new"])
    found = MEASURED.search(page.read_text())
    assert found is not None
    assert (found["version"], found["revision"] != "abc") == (version_of(check_figures.ROOT), True)
    assert "new" in page.read_text()
