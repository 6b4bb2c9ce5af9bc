# SPDX-License-Identifier: MIT
"""What starts many short processes: a configure script, git hooks, a tree of small files."""

from __future__ import annotations

import random
from pathlib import Path

from generate.data import WORDS

HEADERS = (
    "stdint.h sys/types.h unistd.h fcntl.h pthread.h sys/mman.h sys/wait.h netdb.h arpa/inet.h locale.h wchar.h "
    "termios.h poll.h sys/epoll.h sys/event.h malloc.h stdalign.h threads.h spawn.h langinfo.h dirent.h glob.h "
    "fnmatch.h regex.h"
).split()
FUNCTIONS = (
    "mmap strdup strlcpy getline memrchr reallocarray pipe2 accept4 getrandom explicit_bzero qsort_r fdatasync "
    "posix_spawn clock_gettime strnlen mkostemp utimensat openat fexecve epoll_create1 kqueue closefrom "
    "setproctitle arc4random"
).split()

HOOKS = {
    "pre-commit": "git diff --cached --name-only | while read -r f; do\n"
    "  grep -n 'FORBIDDEN' \"$f\" && exit 1\n  awk 'length > 200 { exit 1 }' \"$f\" || exit 1\n"
    "  sed 's/[a-z]*/x/' \"$f\" | sort | uniq -c | sort -rn | head -n 3 >/dev/null\ndone\nexit 0\n",
    "prepare-commit-msg": 'sed -e \'s/^/ /\' "$1" | tr a-z A-Z >/dev/null\nbasename "$(pwd)" >/dev/null\n',
    "commit-msg": 'grep -q \'^Change\' "$1" || exit 1\ntest "$(wc -c <"$1")" -lt 500\n',
    "post-commit": "git rev-parse HEAD >/dev/null\ngit log --oneline -n 3 | cut -c 1-7 | tr '\\n' ' ' >/dev/null\n",
}


def write_configure(directory: Path, checks: int) -> None:
    """configure.ac with so many checks of each kind; autoconf makes the script."""
    sizes = "".join(f"AC_CHECK_SIZEOF([{kind}])\n" for kind in ("int", "long", "void *", "size_t")[: checks // 6])
    (directory / "configure.ac").write_text(
        "AC_INIT([trial], [1.0])\nAC_CONFIG_HEADERS([config.h])\nAC_PROG_CC\n"
        f"AC_CHECK_HEADERS([{' '.join(HEADERS[:checks])}])\nAC_CHECK_FUNCS([{' '.join(FUNCTIONS[:checks])}])\n"
        f"{sizes}AC_OUTPUT\n",
        encoding="ascii",
    )
    (directory / "config.h.in").write_text(
        "".join(
            f"#undef HAVE_{name.upper().translate(str.maketrans('/.', '__'))}\n"
            for name in [*HEADERS[:checks], *FUNCTIONS[:checks]]
        ),
        encoding="ascii",
    )


def write_hooks(directory: Path) -> None:
    directory.mkdir()
    for name, body in HOOKS.items():
        (directory / name).write_text("#!/bin/sh\n" + body, encoding="ascii")
        (directory / name).chmod(0o755)


def write_tree(directory: Path, files: int) -> None:
    """Small files, twenty to a folder."""
    chance = random.Random(61)
    for number in range(files):
        folder = directory / f"part{number // 20}"
        folder.mkdir(parents=True, exist_ok=True)
        lines = (" ".join(chance.choice(WORDS) for _ in range(5)) for _ in range(chance.randint(5, 60)))
        (folder / f"file{number}").write_text("\n".join(lines) + "\n", encoding="ascii")
