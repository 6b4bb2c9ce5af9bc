# SPDX-License-Identifier: MIT
"""The site has all pages and what they link to, and mkdocs.yml names only pages that exist."""

import re
from pathlib import Path

import build_site


def test_pages_and_what_they_link_to_are_gathered_at_their_paths(tmp_path: Path) -> None:
    root, pages = tmp_path / "root", tmp_path / "pages"
    for name, text in {
        "README.md": "[a](docs/a.md) ![p](docs/img/p.svg) [w](https://example.org/x) `[no](docs/img/q.svg)`",
        "docs/a.md": "[code](../src/a.c#L1) [gone](b.md)",
        "docs/img/p.svg": "",
        "docs/img/q.svg": "",
        "src/a.c": "",
        "tool/README.md": "",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (pages / "old").mkdir(parents=True)
    found = build_site.gather(root, pages)
    assert [str(path) for path in found] == ["README.md", "docs/a.md", "docs/img/p.svg", "src/a.c"]
    assert sorted(path.relative_to(pages) for path in pages.rglob("*") if path.is_file()) == found


def test_the_search_lists_decisions_behind_pages_of_tasks(tmp_path: Path) -> None:
    root, pages = tmp_path / "root", tmp_path / "pages"
    for name in ("docs/install.md", "docs/decisions/0001-a.md", "docs/tool.md"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("# Title\n")
    build_site.gather(root, pages)
    install, decision, tool = (
        (pages / name).read_text() for name in ("docs/install.md", "docs/decisions/0001-a.md", "docs/tool.md")
    )
    assert install.startswith("---\nsearch:\n  boost: 1.5\n---\n# Title")
    assert "boost: 0.1" in decision
    assert tool == "# Title\n"


def test_every_page_of_docs_has_a_place_and_every_place_a_page() -> None:
    named = set(re.findall(r": ([\w./-]+\.md)$", (build_site.ROOT / "mkdocs.yml").read_text(), re.MULTILINE))
    assert not [name for name in sorted(named) if not (build_site.ROOT / name).is_file()]
    there = {str(page.relative_to(build_site.ROOT)) for page in (build_site.ROOT / "docs").glob("*.md")}
    assert not there - named
