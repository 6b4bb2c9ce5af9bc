# SPDX-License-Identifier: MIT
"""docs/misuse.md: what hew at each level of hardening, and other allocators, report of each misuse of misuse_table."""

import os
import subprocess
from pathlib import Path

from pages.page import Page

PROGRAM = Path("build") / "release" / "tests" / "death" / "misuse_table"
LIBRARY = Path("build") / "release" / "libhew.so"
SECONDS = 60  # a misuse that takes longer has made an endless loop
FOUND = "found: "  # an attack says so what it has got

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
| *other words* | what an attack got, without a message |

The last rows are attacks. They read freed memory, look for the place that the next object gets, or
make malloc return memory of their choice. "one of 2^n" is the number of distances between an object
and the next one, among 2,000 pairs.

"""

TAIL = """
## What hew detects by default

- **Large objects** (above 14 KiB): free claims the extent, so a second free is detected when it
  reaches the page heap at the latest. A pointer to the inside is detected by free, or by the next
  request that would get it.
- **Small objects**: a free that repeats the thread's last one of its class is detected immediately.
  Any other second free, or pointer to the inside, is detected when it reaches its slab, after the
  thread's magazine and the CPU's depot. Until then the memory may be handed out twice.
- **realloc** detects a freed object in the thread's own magazine: of a small class the newest, of a
  large one any.
- **malloc_usable_size** of a free small object is answered.
- **Foreign pointers** (stack, static data, mappings) are detected immediately.

The settings `hardening:check` and `hardening:full` detect more: [hardening.md](hardening.md). Neither
`off` nor `check` detects a write beyond an object: use `full`, or AddressSanitizer.
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
    got = [line.removeprefix(FOUND) for line in run.stdout.splitlines() if line.startswith(FOUND)]
    if got:
        return got[0]
    if run.returncode == 0:
        return "handed out twice" if overlap else "not detected"
    if not run.stderr.strip():
        return "crash"
    return ("later, reused" if overlap else "later") if passed else "immediately"


def others(root: Path) -> dict[str, dict[str, str]]:
    """What each allocator of others that is there sets."""
    found = sorted(
        Path("/usr/lib").glob(f"llvm-*/lib/clang/*/lib/*/libclang_rt.scudo_standalone-{os.uname().machine}.so")
    )
    libraries = {f"scudo (LLVM {found[-1].parts[3].removeprefix('llvm-')})": found[-1]} if found else {}
    for path in sorted((root / "build/peers/checking").glob("lib*.so")):
        libraries[path.stem.removeprefix("lib")] = path
    return {"glibc": {}} | {name: {"LD_PRELOAD": str(path)} for name, path in libraries.items()}


def ours(library: Path) -> dict[str, dict[str, str]]:
    """What each level of hardening sets."""
    levels = {"hew": "off", "hew, sample": "sample", "hew, check": "check", "hew, full": "full"}
    return {name: {"LD_PRELOAD": str(library), "MALLOC_CONF": f"hardening:{level}"} for name, level in levels.items()}


def names_of(program: Path) -> list[str]:
    """The misuses that the program knows."""
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()


def make_page(root: Path) -> str:
    """docs/misuse.md, measured with the release build of a project."""
    program = root / PROGRAM
    allocators = ours(root / LIBRARY) | others(root)
    lines = [f"| | {' | '.join(allocators)} |", "|---" * (len(allocators) + 1) + "|"]
    for name in names_of(program):
        words = (outcome(program, name, environment) for environment in allocators.values())
        lines.append(f"| {name} | {' | '.join(words)} |")
    return HEAD + "\n".join(lines) + "\n" + TAIL


PAGE = Page("misuse", "docs/misuse.md", make_page, measured=True)
