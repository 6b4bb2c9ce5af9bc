# SPDX-License-Identifier: MIT
"""docs/advice.md follows from the rules' own words."""

from pathlib import Path

import gen_pages
import pytest
from pages import advice

RULE = '"""Too few.\n\nSpeaks when there are too few.\n"""\n'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / advice.RULES
    folder.mkdir(parents=True)
    (folder / "rules.py").write_text("MODULES: object = (too_few,)\n")
    (folder / "too_few.py").write_text(RULE)
    return tmp_path


def test_each_rule_is_a_chapter(project: Path) -> None:
    assert gen_pages.main(["advice", "--root", str(project)]) == 0
    text = (project / "docs/advice.md").read_text()
    assert "## too-few\n\n**Too few.**\n\nSpeaks when there are too few.\n" in text


def test_a_stale_page_is_found(project: Path) -> None:
    assert gen_pages.main(["advice", "--root", str(project), "--check"]) == 1
    assert gen_pages.main(["advice", "--root", str(project)]) == 0
    assert gen_pages.main(["advice", "--root", str(project), "--check"]) == 0


def test_a_rule_without_words_is_refused(project: Path) -> None:
    (project / advice.RULES / "too_few.py").write_text("NAME = 1\n")
    assert gen_pages.main(["advice", "--root", str(project)]) == 2
