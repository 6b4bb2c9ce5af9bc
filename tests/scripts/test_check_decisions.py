# SPDX-License-Identifier: MIT
"""check_decisions: a decision without a state, or that the index tells otherwise, is named."""

from pathlib import Path

import check_decisions
import pytest

HEAD = "# Decisions\n\n| | decision | state | what it is about |\n|---|---|---|---|\n"
INDEX = (
    HEAD + "| 0001 | [Lists](0001-lists.md) | superseded by 0002 | what malloc takes from |\n"
    "| 0002 | [Arrays](0002-arrays.md) | current | the same, faster |\n"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two decisions, all in order."""
    (tmp_path / "0001-lists.md").write_text("<!-- SPDX -->\n# 0001: Lists\n\nState: superseded by 0002\n\nWhy.\n")
    (tmp_path / "0002-arrays.md").write_text("# 0002: Arrays\n\nState: current\n\nWhy.\n")
    (tmp_path / "README.md").write_text(INDEX)
    return tmp_path


def test_decisions_in_order_pass(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check_decisions.main(["--folder", str(folder)]) == 0
    assert "every decision has a state" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "text", "breach"),
    [
        ("0002-arrays.md", "# 0002: Arrays\n\nWhy.\n", "0002-arrays.md: no state under its title"),
        ("0002-arrays.md", "# 0002: Arrays\n\nState: fine\n", "0002-arrays.md: no state under its title"),
        ("0002-arrays.md", "# 0002: Arrays\n\nWhy.\n\nState: current\n", "0002-arrays.md: no state under its title"),
        ("0002-arrays.md", "# Arrays\n\nState: current\n", "0002-arrays.md: its title does not begin with its number"),
        (
            "0002-arrays.md",
            "# 0002: Arrays\n\nState: partly superseded by 0007 (growth)\n",
            "0002-arrays.md: superseded by 0007, which is not there",
        ),
        (
            "0002-arrays.md",
            "# 0002: Arrays\n\nState: partly superseded by 0001 (growth)\n",
            "0002-arrays.md: README.md has another number, title or state",
        ),
        ("0003-new.md", "# 0003: New\n\nState: current\n", "0003-new.md: not in README.md"),
        (
            "README.md",
            INDEX + "| 0004 | [Gone](0004-gone.md) | current | x |\n",
            "README.md: 0004-gone.md is no decision",
        ),
    ],
)
def test_what_is_out_of_order_is_named(
    folder: Path, name: str, text: str, breach: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / name).write_text(text)
    assert check_decisions.main(["--folder", str(folder)]) == 1
    assert breach in capsys.readouterr().out.splitlines()


def test_the_projects_own_decisions_are_in_order() -> None:
    assert check_decisions.find_breaches(check_decisions.DECISIONS) == []
