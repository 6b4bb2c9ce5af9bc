# SPDX-License-Identifier: MIT
"""Command-line tools."""

from __future__ import annotations

import preparing
from generate import data
from model import Place, Program, Step


def git_history(place: Place) -> None:
    """A repository made by fast-import, its objects exploded into loose files where that keeps gc busy."""
    data.write_history(place.inputs / "stream", int(place.sizes["commits"]))
    preparing.run(place, "git", "init", "-q", "-b", "main", "--bare", "{inputs}/repository")
    preparing.run(
        place, "git", "-C", "{inputs}/repository", "fast-import", "--quiet", "--depth=0", stdin=place.inputs / "stream"
    )


def text_file(place: Place) -> None:
    data.write_text(place.inputs / "text", int(place.sizes["megabytes"]))


GIT = ("git", "-C", "repository")

PROGRAMS = [
    Program(
        name="git",
        what="`git gc --aggressive` of a repository of thousands of commits, then `fsck`, `log -p`, `blame`, a clone",
        packages={"git": "git"},
        version=("git", "--version"),
        quick=True,
        sizes={"commits": ("1200", "5000")},
        environment={"GIT_CONFIG_NOSYSTEM": "1", "GIT_PAGER": "cat"},
        prepare=git_history,
        steps=(
            Step(("cp", "-r", "{inputs}/repository", "repository"), timed=False),
            Step((*GIT, "-c", "pack.threads=2", "gc", "--aggressive", "--prune=now", "--quiet")),
            Step((*GIT, "fsck", "--full", "--strict", "--no-progress")),
            Step((*GIT, "rev-list", "--objects", "--all")),
            Step((*GIT, "log", "-p", "--stat", "-n", "400", "main")),
            Step((*GIT, "blame", "main", "--", "dir3/file4.txt")),
            Step(("git", "clone", "--quiet", "--no-local", "repository", "copy")),
            Step(("git", "-C", "copy", "status", "--short")),
        ),
    ),
    Program(
        name="sqlite3",
        what="a script of inserts, joins, windows, JSON, full-text search and a vacuum, on disk and in memory",
        packages={"sqlite3": "sqlite3"},
        version=("sqlite3", "--version"),
        quick=True,
        sizes={"rows": ("60000", "120000")},
        steps=(
            Step(
                ("sqlite3", "-cmd", ".parameter set @rows {rows}", "database"),
                stdin="{workloads}/sqlite.sql",
                artifacts=("database",),
            ),
            Step(("sqlite3", "-cmd", ".parameter set @rows {rows}", ":memory:"), stdin="{workloads}/sqlite.sql"),
        ),
    ),
    Program(
        name="xz",
        what="`xz -T0` of generated text, and back",
        packages={"xz": "xz-utils"},
        version=("xz", "--version"),
        quick=True,
        sizes={"megabytes": ("6", "40")},
        prepare=text_file,
        steps=(
            Step(("cp", "{inputs}/text", "text"), timed=False),
            Step(("xz", "-T0", "--block-size=4MiB", "text"), artifacts=("text.xz",)),
            Step(("xz", "-d", "-T0", "text.xz"), artifacts=("text",)),
        ),
    ),
]
