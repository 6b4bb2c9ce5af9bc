# SPDX-License-Identifier: MIT
"""Short processes: thousands that live for milliseconds, as in builds and scripts."""

from __future__ import annotations

import preparing
from generate import scripts
from model import Place, Program, Step
from normalise import only


def configure(place: Place) -> None:
    scripts.write_configure(place.inputs, int(place.sizes["checks"]))
    preparing.run(place, "autoconf")


def repository(place: Place) -> None:
    scripts.write_hooks(place.inputs / "hooks")


def tree(place: Place) -> None:
    scripts.write_tree(place.inputs / "tree", int(place.sizes["files"]))


PROGRAMS = [
    Program(
        name="configure",
        what="a `configure` script by autoconf: headers, functions and sizes, each by compiler, sed and grep",
        packages={"autoconf": "autoconf", "gcc": "gcc"},
        version=("autoconf", "--version"),
        probe=("/bin/sh", "-c", "true"),
        sizes={"checks": ("6", "24")},
        prepare=configure,
        steps=(Step(("/bin/sh", "{inputs}/configure", "--cache-file=/dev/null"), artifacts=("config.h",)),),
    ),
    Program(
        name="hooks",
        what="commits in a git repository with four hooks, each a shell script of grep, sed, awk and sort",
        packages={"git": "git", "awk": "mawk"},
        version=("git", "--version"),
        sizes={"commits": ("10", "60")},
        environment={"GIT_CONFIG_NOSYSTEM": "1"},
        prepare=repository,
        steps=(Step(("/bin/sh", "{workloads}/commits.sh", "{inputs}/hooks", "{commits}")),),
    ),
    Program(
        name="find",
        what="`find -exec`: wc, sed and a shell for each file of a tree",
        packages={"find": "findutils"},
        version=("find", "--version"),
        sizes={"files": ("120", "800")},
        prepare=tree,
        steps=(
            Step(
                ("find", "{inputs}/tree", "-type", "f", "-exec", "wc", "-c", "{}", ";"), normalise=only(" total$|never")
            ),
            Step(
                (
                    "find",
                    "{inputs}/tree",
                    "-type",
                    "f",
                    "-exec",
                    "sh",
                    "-c",
                    'sed s/a/b/ "$1" | sort | uniq -c | tail -n 1',
                )
                + ("sh", "{}", ";"),
                normalise=lambda text: "\n".join(sorted(text.splitlines())),
            ),
        ),
    ),
]
