# SPDX-License-Identifier: MIT
"""check_decisions: a decision of another form, or that the index does not list, is reported."""

from pathlib import Path

import check_decisions
import pytest

HEAD = "# Decisions\n\n| | decision | what it is about |\n|---|---|---|\n"
INDEX = HEAD + "| 0001 | [Lists](0001-lists.md) | where malloc looks |\n| 0002 | [Arrays](0002-arrays.md) | faster |\n"
BODY = "\n**Question.** Why?\n\n**Decision.** So.\n\n**Figures.** 2.\n\n**Rejected.** *Trees*: 3.\n"
FORM = "0002-arrays.md: not in this form: Question, Decision, Figures, Rejected"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two decisions without a breach."""
    (tmp_path / "0001-lists.md").write_text(f"# 0001: Lists\n{BODY}")
    (tmp_path / "0002-arrays.md").write_text(f"# 0002: Arrays\n{BODY}")
    (tmp_path / "README.md").write_text(INDEX)
    return tmp_path


def test_decisions_of_the_form_pass(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check_decisions.main(["--folder", str(folder)]) == 0
    assert "every decision is one page" in capsys.readouterr().out


def test_rows_of_tables_may_be_long(folder: Path) -> None:
    (folder / "0002-arrays.md").write_text(f"# 0002: Arrays\n{BODY}| {'x' * 200} |\n")
    assert check_decisions.main(["--folder", str(folder)]) == 0


@pytest.mark.parametrize(
    ("name", "text", "breach"),
    [
        ("0002-arrays.md", f"# Arrays\n{BODY}", "0002-arrays.md: its first line is not a title with its number"),
        ("0002-arrays.md", f"# 0002: Rings\n{BODY}", "0002-arrays.md: README.md has another number or title"),
        ("0002-arrays.md", "# 0002: Arrays\n\nWhy.\n", FORM),
        ("0002-arrays.md", "# 0002: Arrays\n**Decision.**\n**Question.**\n**Figures.**\n**Rejected.**\n", FORM),
        ("0002-arrays.md", f"# 0002: Arrays\n{BODY}" + "\n" * 80, "0002-arrays.md: 89 lines, more than 80"),
        (
            "0002-arrays.md",
            f"# 0002: Arrays\n{BODY}{'word ' * 30}\n",
            "0002-arrays.md: has lines of more than 100 columns",
        ),
        ("0002-sets.md", f"# 0002: Sets\n{BODY}", "0002-arrays.md: another decision has its number"),
        ("0003-new.md", f"# 0003: New\n{BODY}", "0003-new.md: not in README.md"),
        ("README.md", INDEX + "| 0004 | [Gone](0004-gone.md) | x |\n", "README.md: 0004-gone.md is no decision"),
    ],
)
def test_each_breach_is_reported(
    folder: Path, name: str, text: str, breach: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / name).write_text(text)
    assert check_decisions.main(["--folder", str(folder)]) == 1
    assert breach in capsys.readouterr().out.splitlines()


def test_this_repository_passes() -> None:
    assert check_decisions.main([]) == 0
