# SPDX-License-Identifier: MIT
"""docs/advice.md, from the rules of tool/src/hew/analysis/advice, each of which says what it looks for."""

import ast
from pathlib import Path

from pages.page import Page

RULES = Path("tool/src/hew/analysis/advice")
INTRODUCTION = """\
# The rules of `hew advise`

<!-- Made by scripts/gen_pages.py from the modules of tool/src/hew/analysis/advice; change those, then run it. -->

Each rule reads one report of an allocator's statistics (`hew stats`), or a process from outside.
Above a threshold it gives advice: the evidence, a setting for this allocator and version, the
effect on CPU and memory, the risk, and how to verify it. *Likely* marks advice whose numbers would
fit something harmless too. `tool/tests/test_advise_for_real.py` provokes the rules on real
allocators, follows each setting and checks that the rule falls silent.

Thresholds come from costs: 2 µs for a page returned and faulted in again (measured on 2 virtual
CPUs), 1 µs for a refill of a thread cache with its flush, 10 µs for a thread's sleep and wake-up
(both estimated). Rules about CPU speak from 2 % of one CPU on.

How the advice did on programs that the rules had not seen (2026-11-24, two CPUs at a load of 8 to
20, jemalloc 5.3.0 unless stated; [decision 0070](decisions/0070-advice-rehearsed.md)):

| program | advice | result of following it |
|---|---|---|
| buffers of 8 to 190 KB in bursts, decay 100 ms | `decay-too-short` | operations by CPU time 1.5 to 4.2 times |
| 10 threads on 2 arenas | `slab-sizes` | 1.03 to 1.08 times |
| 300 idle threads with full caches | `thread-caches` | RSS 0.88 |
| glibc: six workers drop an index, a small object stays on top | `glibc-trim`, `glibc-arenas` | RSS 0.81 and 0.93 |
| pictures of 9 to 15 MiB from a second arena | `oversize` | 25 times as fast |
| six peaks of small strings, one in 60 kept | `external-fragmentation` | the program must change |
| sessions of which one in four is forgotten | none; `hew watch` finds the leak | the program must change |
| Redis, Ruby, pyarrow; bursts handed to another thread on hew | well | |
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
