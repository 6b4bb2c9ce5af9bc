# SPDX-License-Identifier: MIT
"""The README's figures are those of docs, and what it names is there.  tests/packages types its commands."""

import re
from pathlib import Path

import gen_front_picture
import pytest

ROOT = Path(__file__).parents[2]
MAKEFILES = "".join((ROOT / name).read_text(encoding="utf-8") for name in ("Makefile", "scripts/nightly.mk"))
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_its_table_is_that_of_the_benchmarks() -> None:
    measured = {}
    text = (ROOT / "docs/benchmarks.md").read_text(encoding="utf-8").partition("## Geometric means")[2]
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 6 and re.fullmatch(r"[\d.]+", cells[1]):
            measured[cells[0]] = cells[1:5]
        elif line.startswith("## "):
            break
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in README.splitlines() if line.startswith("| ")
    ]
    shown = {
        row[0].strip("*"): [cell.strip("*") for cell in row[1:]]
        for row in rows
        if re.fullmatch(r"\**[\d.]+\**", row[1])
    }
    assert "hew" in shown
    assert len(shown) >= 5
    for name, figures in shown.items():
        assert figures == measured[f"**{name}**" if name == "hew" else name], name


def test_it_is_short_and_its_picture_shows_what_the_benchmarks_say() -> None:
    assert len(README.splitlines()) <= 120
    assert gen_front_picture.main(["--check"]) == 0
    measured = gen_front_picture.revision((ROOT / "docs/benchmarks.md").read_text(encoding="utf-8"))
    assert measured in README.replace("`", "")


def test_every_page_that_it_names_is_there() -> None:
    for place in re.findall(r"\]\((?!http)([^)#]+)\)", README):
        assert (ROOT / place).exists(), place


PAGES = ["docs/install.md", "docs/recipes.md", "docs/stable.md", "RELEASING.md", "SECURITY.md"]


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_pages_for_new_users_name_is_there(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for place in re.findall(r"\]\((?!http)([^)#]+)", text):
        assert ((ROOT / page).parent / place).exists(), place
    for place in re.findall(r"\b(?:scripts|packaging)/[\w./-]+\w", text):
        assert (ROOT / place).exists(), place
    for target in re.findall(r"`make ([a-z-]+)`", text):
        assert re.search(rf"^{target}\b.*:", MAKEFILES, re.MULTILINE), target
