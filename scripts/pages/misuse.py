# SPDX-License-Identifier: MIT
"""docs/misuse.md: what hew, hew with checks, glibc and scudo report of each misuse of misuse_table."""

import os
import subprocess
from pathlib import Path

from pages.page import Page

PROGRAM = Path("build") / "release" / "tests" / "death" / "misuse_table"
LIBRARY = Path("build") / "release" / "libhew.so"
SECONDS = 20  # a misuse that takes longer has made an endless loop

HEAD = """# Misuse: what is detected, and when

Made by `scripts/gen_pages.py misuse`, which runs each misuse of `tests/death/misuse_table.c` in a
process of its own. The process then allocates and frees many objects of the size.

| word | meaning |
|---|---|
| immediately | the call itself ends the process with a message |
| later | a later operation ends it with a message |
| later, reused | likewise, after the memory was handed out twice |
| crash, hang | a signal without a message; no end |
| handed out twice | no message, and the memory was handed out twice |
| not detected | no message, and no harm seen |

"""

TAIL = """
## What hew detects by default

- **Large objects** (above 14 KiB): free claims the extent, so a second free is detected when it
  reaches the page heap at the latest. A pointer to the inside is detected by free, or by the next
  request that would get it.
- **Small objects**: a free that repeats the thread's last one of its class is detected immediately.
  Any other second free, or pointer to the inside, is detected when it reaches its slab, after the
  CPU's slot and depot. Until then the memory may be handed out twice.
- **realloc** detects a freed object in the slot of the thread's CPU: of a small class the newest,
  of a large one any.
- **malloc_usable_size** of a free small object is answered.
- **Foreign pointers** (stack, static data, mappings) are detected immediately.

`MALLOC_CONF=hardening:check` detects each second free, each pointer to the inside and each use of a
free object by realloc or malloc_usable_size immediately. It detects a write to the first 8 bytes of
a free small object when the object is next allocated ([hardening.md](hardening.md)). It does not
detect other writes after free, nor writes beyond an object: use AddressSanitizer.
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
        return "handed out twice" if overlap else "not detected"
    if not run.stderr.strip():
        return "crash"
    return ("later, reused" if overlap else "later") if passed else "immediately"


def make_page(root: Path) -> str:
    """docs/misuse.md, measured with the release build of a project."""
    program, library = root / PROGRAM, str(root / LIBRARY)
    allocators: dict[str, dict[str, str]] = {
        "hew": {"LD_PRELOAD": library},
        "hew, hardening:check": {"LD_PRELOAD": library, "MALLOC_CONF": "hardening:check"},
        "hew, hardening:full": {"LD_PRELOAD": library, "MALLOC_CONF": "hardening:full"},
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
