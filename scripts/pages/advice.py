# SPDX-License-Identifier: MIT
"""docs/advice.md, from the rules of tool/src/hew/analysis/advice, each of which says what it looks for."""

import ast
from pathlib import Path

from pages.page import Page

RULES = Path("tool/src/hew/analysis/advice")
INTRODUCTION = """\
# The rules of `hew advise`

<!-- Made by scripts/gen_pages.py from the modules of tool/src/hew/analysis/advice; change those, then run it. -->

Each rule looks at one report of an allocator's statistics (`hew stats`), or at a process from outside. It speaks from
certain numbers on and is silent otherwise; what it says holds its evidence, with the name under which each number
stands, a setting for this allocator and version, what that will do to CPU and memory, its risk, and how to verify it.
`tool/tests/test_advise_for_real.py` provokes them on real allocators and, where a setting is advised, follows it and
sees the rule fall silent.

Thresholds rest on costs: a page given back and faulted in again 2 µs (measured on 2 virtual CPUs), a fill of a thread
cache with its flush 1 µs, a thread's sleep and wake-up 10 µs (both reckoned). Rules about CPU speak from 2 % of one on.
"""


def modules(root: Path) -> list[Path]:
    """The rules' files, in the order of rules.py."""
    tree = ast.parse((root / RULES / "rules.py").read_text())
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Tuple):
            return [root / RULES / f"{one.id}.py" for one in node.value.elts if isinstance(one, ast.Name)]
    raise ValueError("rules.py has no table of rules")


def chapter(path: Path) -> str:
    """A rule's name and what it says of itself."""
    text = ast.get_docstring(ast.parse(path.read_text()))
    if not text:
        raise ValueError(f"{path.name} says nothing of itself")
    title, _, rest = text.partition("\n\n")
    return f"## {path.stem.replace('_', '-')}\n\n**{title}**\n\n{rest}\n"


def page(root: Path) -> str:
    return "\n".join([INTRODUCTION, *(chapter(path) for path in modules(root))])


PAGE = Page("advice", "docs/advice.md", page)
