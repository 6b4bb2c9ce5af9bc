# SPDX-License-Identifier: MIT
"""docs/misuse.md: what hew, hew without caches, glibc and scudo say of each misuse of misuse_table."""

import os
import subprocess
from pathlib import Path

from pages.page import Page

PROGRAM = Path("build") / "release" / "tests" / "death" / "misuse_table"
LIBRARY = Path("build") / "release" / "libhew.so"
SECONDS = 20  # a misuse that takes longer has made an endless loop

HEAD = """# Misuse: what is found, and when

Written by `scripts/gen_pages.py misuse`, which runs `tests/death/misuse_table.c`. Each misuse is done in a process of
its own, which then allocates and frees many objects of the size.

**at once**: the call itself ends the process with a message. **later**: an operation after it does, with a message;
when memory was handed out twice before, it says so. **crash**: a signal without a message. **hang**: no end.
**twice**: nothing was said, and memory was handed out twice. **silence**: nothing was said, and nothing seen.

"""

TAIL = """
## What hew finds by default, and when

- **Large objects** (above 14 KiB): who gives one back claims its extent, so a second free is named when it reaches
  the page heap at the latest. A pointer to its inside is named by free, or by the next request that would get it.
- **Small objects**: a free that repeats the thread's last one of its class is named at once. Otherwise a second free,
  or a pointer to the inside, is named when it reaches its slab: when the thread's magazine, and the CPU's depot, give
  it up. Until then the memory may go out twice.
- **realloc** names an object that lies in the thread's own magazine: of a small class the newest, of a large one any.
- **malloc_usable_size** of a small object that is free is answered.
- **Foreign pointers**: the stack, static data, mappings, are named at once.

`MALLOC_CONF=tcache:false` keeps nothing in threads: each second free and each pointer to an inside is named at once;
only a realloc of a free small object within its class is accepted. Use after free and writes beyond an object are not
found; AddressSanitizer is the tool for them.
"""


def outcome(program: Path, name: str, environment: dict[str, str]) -> str:
    """One misuse under one allocator, in a word or three."""
    try:
        run = subprocess.run(
            [program, name],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "hang"
    passed, overlap = "passed" in run.stdout, "overlap" in run.stdout
    if run.returncode == 0:
        return "twice" if overlap else "silence"
    if not run.stderr.strip():
        return "crash"
    return ("later, twice before" if overlap else "later") if passed else "at once"


def make_page(root: Path) -> str:
    """docs/misuse.md, measured with the release build of a project."""
    program, library = root / PROGRAM, str(root / LIBRARY)
    allocators: dict[str, dict[str, str]] = {
        "hew": {"LD_PRELOAD": library},
        "hew, tcache:false": {"LD_PRELOAD": library, "MALLOC_CONF": "tcache:false"},
        "glibc": {},
    }
    if os.environ.get("SCUDO"):
        allocators["scudo (LLVM 14)"] = {"LD_PRELOAD": os.environ["SCUDO"]}
    names = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    lines = [f"| | {' | '.join(allocators)} |", "|---" * (len(allocators) + 1) + "|"]
    for name in names:
        words = (outcome(program, name, environment) for environment in allocators.values())
        lines.append(f"| {name} | {' | '.join(words)} |")
    return HEAD + "\n".join(lines) + "\n" + TAIL


PAGE = Page("misuse", "docs/misuse.md", make_page, measured=True)
