#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Build the documents as a site with search: mkdocs, by mkdocs.yml, into build/site.

Copies the Markdown pages and the files that they link to into build/site-pages, at the same paths, so that links hold.
Pages that the search should list first or last say so in their copy.
mkdocs then fails on a link or a heading that does not exist, and on a page that mkdocs.yml sorts under no heading.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from check_links import FENCE, INDENTED, LINK, SPAN

ROOT = Path(__file__).parent.parent
PAGES = ROOT / "build" / "site-pages"
# What the search lists first: how to start. Last: why hew is built as it is, and the questions that other pages answer.
BOOSTS = {
    "docs/stable.md": 2.0,
    "docs/install.md": 1.5,
    "docs/recipes.md": 1.5,
    "CHANGELOG.md": 0.2,
    "docs/decisions/": 0.1,
    "docs/reader_test.md": 0.1,
}
SOURCES = ("*.md", "docs/**/*.md", "src/README.md", "packaging/**/*.md")


def linked(page: Path, root: Path) -> Iterator[Path]:
    """The files of the project that a page links to, other pages apart."""
    text = SPAN.sub("", INDENTED.sub("", FENCE.sub("", page.read_text(encoding="utf-8"))))
    for target in LINK.findall(text):
        there = (page.parent / target.partition("#")[0]).resolve()
        if not re.match(r"[a-z]+:", target) and there.is_file() and there.suffix != ".md":
            yield there.relative_to(root)


def gather(root: Path, pages: Path) -> list[Path]:
    """Copies pages and what they link to; returns the paths of all."""
    root = root.resolve()
    shutil.rmtree(pages, ignore_errors=True)
    found = {page.relative_to(root) for pattern in SOURCES for page in root.glob(pattern)}
    found |= {path for page in sorted(found) for path in linked(root / page, root)}
    for path in sorted(found):
        (pages / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / path, pages / path)
        for start, boost in BOOSTS.items():
            if path.as_posix().startswith(start) and path.suffix == ".md":
                text = (pages / path).read_text(encoding="utf-8")
                (pages / path).write_text(f"---\nsearch:\n  boost: {boost}\n---\n{text}", encoding="utf-8")
    return sorted(found)


def main() -> int:
    count = len(gather(ROOT, PAGES))
    print(f"build_site: {count} files in {PAGES.relative_to(ROOT)}", flush=True)
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--config-file", "mkdocs.yml"]
    return subprocess.run(command, check=False, cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())
