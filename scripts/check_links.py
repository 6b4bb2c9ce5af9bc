#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Check that links between the project's Markdown pages lead somewhere: files, headings, and pages named in backticks.

Links to other hosts are not followed, and what stands in code is no link.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"^(?: {4}|\t).*$", re.MULTILINE)
SPAN = re.compile(r"`[^`\n]+`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
NAMED = re.compile(r"`((?:\.\./)*docs/[\w./-]+\.md)`")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def pages(root: Path) -> list[Path]:
    """The Markdown files that are not built, nor in hidden folders."""
    found = (page.relative_to(root) for page in root.rglob("*.md"))
    return sorted(
        root / page for page in found if page.parts[0] != "build" and not any(part[0] == "." for part in page.parts)
    )


def anchors(text: str) -> set[str]:
    """The headings of a page as links name them."""
    plain = (re.sub(r"[^\w\- ]", "", heading).strip().lower() for heading in HEADING.findall(FENCE.sub("", text)))
    return {heading.replace(" ", "-") for heading in plain}


def breaches(page: Path, root: Path) -> Iterator[str]:
    """The links of a page that lead nowhere."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for target in LINK.findall(SPAN.sub("", INDENTED.sub("", text))):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, heading = target.partition("#")
        there = (page.parent / name) if name else page
        if not there.exists():
            yield f"{target}: no such file"
        elif heading and there.suffix == ".md" and heading not in anchors(there.read_text(encoding="utf-8")):
            yield f"{target}: no such heading"
    for name in NAMED.findall(text):
        if not ((page.parent / name) if name.startswith("..") else (root / name)).exists():
            yield f"{name}: no such page"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=ROOT)
    root = parser.parse_args(arguments).root
    found = [f"{page.relative_to(root)}: {breach}" for page in pages(root) for breach in breaches(page, root)]
    for line in found:
        print(f"check_links: {line}")
    print(f"check_links: {len(pages(root))} pages, {len(found)} links that lead nowhere")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
