# SPDX-License-Identifier: MIT
"""Every program that is run, in ten kinds.

None is left out because it does badly under hew.  Not here, and why: polars (its wheels carry their own allocator
inside the library, which no preload reaches); Debian's ClickHouse (linked to jemalloc, operator new included, so that it
crashes with glibc's malloc preloaded, which a comparison needs).
"""

from __future__ import annotations

from catalogue import (
    biology,
    builds,
    documents,
    fronts,
    media,
    numbers,
    reasoning,
    runtimes,
    servers,
    short,
    tools,
    windows,
)

KINDS = {
    "servers": [*servers.PROGRAMS, *fronts.PROGRAMS],
    "compilers": builds.PROGRAMS,
    "data": [*tools.PROGRAMS, *numbers.PROGRAMS],
    "documents": [*documents.PROGRAMS, *media.PROGRAMS],
    "analysers": reasoning.ANALYSERS,
    "solvers": reasoning.SOLVERS,
    "biology": biology.PROGRAMS,
    "interpreters": runtimes.PROGRAMS,
    "desktop": windows.PROGRAMS,
    "short processes": short.PROGRAMS,
}

PROGRAMS = [program for programs in KINDS.values() for program in programs]

TELLING = (
    "redis",
    "postgresql",
    "nginx",
    "gcc",
    "sqlite3",
    "poppler",
    "clang-tidy",
    "cvc5",
    "bowtie2",
    "python3",
    "ruby",
    "hooks",
)
"""The twelve that `make programs-quick` runs: one or two of each kind, with heaps from 1 to 400 MiB."""
