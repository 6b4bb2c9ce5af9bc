#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Hold that pages with measured figures say what they measured, and are not of a library of long ago.

    python3 scripts/check_figures.py

Such a page has a line `Measured: hew VERSION at revision REVISION.`, which the scripts that write its figures renew
(generated.py). Releases are the headings of CHANGELOG.md, the newest first. A page may be one release behind: older
figures are measured again or deleted.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from generated import MEASURED, version_of

ROOT = Path(__file__).parent.parent
RELEASE = re.compile(r"^## (\d+\.\d+\.\d+)", re.MULTILINE)
FIGURES = re.compile(r"^\|.*\d\.\d+ *\|", re.MULTILINE)  # a row of a table with a number that is not whole
FEW = 5  # rows, which may stand in any text
WHOLE_NUMBERS = ("fleet", "programs", "simulator")  # what these pages measure
NOT_MEASURED = ("compatibility", "options", "roadmap")  # ranges and defaults; gaps, each of its own day


def pages(folder: Path) -> Iterator[Path]:
    """The pages that hold figures."""
    for page in sorted(folder.glob("*.md")):
        many = len(FIGURES.findall(page.read_text(encoding="utf-8"))) >= FEW
        if page.stem in WHOLE_NUMBERS or (many and page.stem not in NOT_MEASURED):
            yield page


def problem(text: str, releases: list[str]) -> str:
    """What is wrong with a page; nothing: it is well."""
    found = MEASURED.search(text)
    if found is None:
        return "has figures and no line `Measured: hew VERSION at revision REVISION.`"
    if found["version"] not in releases:
        return f"was measured with {found['version']}, which is no release of CHANGELOG.md"
    behind = releases.index(found["version"])
    return f"was measured with {found['version']}, {behind} releases ago: measure it again" if behind > 1 else ""


def main(root: Path = ROOT) -> int:
    releases = RELEASE.findall((root / "CHANGELOG.md").read_text(encoding="utf-8"))
    version = version_of(root)
    if releases[:1] != [version]:
        print(f"check_figures: the newest release of CHANGELOG.md is {releases[:1]}, the library's version {version}")
        return 1
    looked = {page: problem(page.read_text(encoding="utf-8"), releases) for page in pages(root / "docs")}
    for page, said in looked.items():
        if said:
            print(f"check_figures: {page.relative_to(root)} {said}")
    wrong = sum(bool(said) for said in looked.values())
    print(f"check_figures: {len(looked)} pages with figures, {wrong} not as they should be")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
