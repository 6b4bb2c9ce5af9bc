# SPDX-License-Identifier: MIT
"""check_branches: a branch that no test takes needs a reason, and a reason a function."""

import json
from pathlib import Path

import check_branches
import pytest

REPORT = {
    "files": [
        {
            "file": "src/page/heap.c",
            "lines": [
                {"line_number": 7, "function_name": "give", "branches": [{"count": 0}, {"count": 3}]},
                {"line_number": 9, "function_name": "take", "branches": [{"count": 1}, {"count": 3}]},
            ],
        }
    ]
}


@pytest.fixture
def arguments(tmp_path: Path) -> list[str]:
    (tmp_path / "branches.json").write_text(json.dumps(REPORT))
    return [str(tmp_path / "branches.json"), "--reasons", str(tmp_path / "reasons.txt")]


@pytest.mark.parametrize(
    ("reasons", "status", "said"),
    [
        ("# why\nsrc/page/heap.c:give two threads at once\n", 0, ""),
        ("", 1, "src/page/heap.c:give: has branches that no test takes"),
        ("src/page/heap.c:give\n", 1, "src/page/heap.c:give: has branches that no test takes"),
        ("src/page/heap.c:give x\nsrc/page/heap.c:gone x\n", 1, "heap.c:gone: has a reason, and is no function"),
        ("src/page/heap.c:give x\nsrc/page/heap.c:take x\n", 0, "src/page/heap.c:take: has a reason, and all its"),
    ],
)
def test_every_function_with_a_branch_that_nobody_takes_has_a_reason(
    arguments: list[str], capsys: pytest.CaptureFixture[str], reasons: str, status: int, said: str
) -> None:
    Path(arguments[2]).write_text(reasons)
    assert check_branches.main(arguments) == status
    assert said in capsys.readouterr().out


def test_the_page_has_lines_and_reason(arguments: list[str]) -> None:
    Path(arguments[2]).write_text("src/page/heap.c:give two threads at once\n")
    check_branches.main(arguments)
    page = Path(arguments[0]).with_suffix(".md").read_text()
    assert "3 of 4 branches are taken (75.0 %)" in page
    assert "| `src/page/heap.c:give` | 1 of 2 | 7 | two threads at once |" in page
