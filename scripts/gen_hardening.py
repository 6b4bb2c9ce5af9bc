#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measure what each level of hardening costs on six real programs, and write the table into docs/hardening.md.

    python3 scripts/gen_hardening.py [--runs N] [--library build/release/libhew.so] [--page docs/hardening.md]

Each round runs every program at every level, one after the other, so that a slow minute of the machine meets them all.
A cell has the median of the ratios to `off` in the same round.  Columns of other allocators: scripts/pages/misuse.py.
Three minutes on a quiet machine; a program that is not installed is named and left out.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from generated import ROOT, section_of, table
from pages import misuse
from program_figures import geometric

SECTION = section_of("scripts/gen_hardening.py", "figures")

PYTHON = """
import json
rows = [{"id": i, "name": "name %d" % i, "tags": [str(i % k) for k in range(1, 9)]} for i in range(30000)]
for _ in range(3):
    rows = json.loads(json.dumps(rows))
words = sorted(" ".join(row["tags"]) + row["name"] for row in rows)
print(len(words), sum(map(len, words)))
"""
PERL = """
my %count;
for my $i (1 .. 400000) { my $word = "word" . ($i * 7919 % 50021); push @{$count{$word}}, "$i:$word"; }
my @lines = map { join ",", $_, @{$count{$_}} } sort keys %count;
s/(\\d+):word/<$1>/g for @lines;
print scalar(@lines), " ", length(join "", @lines), "\\n";
"""
SQL = """
create table t(id integer primary key, name text, place text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 150000)
  insert into t select i, 'name ' || (i * 7919 % 100003), 'place ' || (i % 977) from n;
create index by_name on t(name);
select count(*), sum(length(name)) from t where name > 'name 5';
select place, group_concat(name) from t group by place order by place limit 3;
"""
LUA = """
local objects = {}
for i = 1, 1200000 do objects[i % 40000] = {i, tostring(i), {name = "n" .. i % 997}} end
local parts = {}
for i = 1, 200000 do parts[i] = string.format("%d:%s", i, objects[i % 40000][2]) end
print(#table.concat(parts, ","))
"""
COMPILED = "src/alloc/request.c"
COMPILER = ("gcc", "-std=gnu11", "-O2", "-S", "-o", "/dev/null", "-D_GNU_SOURCE")
DEFINED = ("-DHEW_LG_QUANTUM=4", "-DHEW_CHECK_LEVEL=0", f"-I{ROOT}/src", f"-I{ROOT}/include")


@dataclass(frozen=True)
class Program:
    """A program and its input."""

    name: str
    words: tuple[str, ...]
    stdin: str = ""


PROGRAMS = (
    Program("gcc", (*COMPILER, *DEFINED, str(ROOT / COMPILED))),
    Program("python3", ("/usr/bin/python3", "-c", PYTHON)),
    Program("perl", ("perl", "-e", PERL)),
    Program("sqlite3", ("sqlite3", ":memory:"), SQL),
    Program("lua", ("lua5.4", "-e", LUA)),
    Program("jq", ("jq", "-n", '[range(150000) | {id: ., name: "n\\(.)"}] | group_by(.id % 97) | map(length) | add')),
)


@dataclass(frozen=True)
class Cost:
    """Of one run: seconds of CPU, of the program and its children, and KiB of the largest process."""

    seconds: float
    memory: int


def run(program: Program, environment: Mapping[str, str]) -> tuple[Cost, bytes]:
    """One run, and what it printed."""
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as output:
        stdin.write(program.stdin.encode())
        stdin.seek(0)
        actions = [(os.POSIX_SPAWN_DUP2, stdin.fileno(), 0), (os.POSIX_SPAWN_DUP2, output.fileno(), 1)]
        pid = os.posix_spawnp(program.words[0], program.words, {**os.environ, **environment}, file_actions=actions)
        _, status, usage = os.wait4(pid, 0)
        output.seek(0)
        if status != 0:
            raise subprocess.CalledProcessError(os.waitstatus_to_exitcode(status), program.words[0])
        return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss), output.read()


def environments(library: Path) -> dict[str, dict[str, str]]:
    """What each column sets."""
    return {
        "off" if name == "hew" else name.removeprefix("hew, "): words for name, words in misuse.ours(library).items()
    } | misuse.others(ROOT)


def measure(program: Program, columns: Mapping[str, Mapping[str, str]], runs: int) -> dict[str, list[Cost]]:
    """All runs of a program; ValueError when it prints something else under one of them."""
    costs: dict[str, list[Cost]] = {column: [] for column in columns}
    printed = set()
    for turn in range(runs):
        for column in list(columns) if turn % 2 == 0 else reversed(list(columns)):
            cost, output = run(program, columns[column])
            costs[column].append(cost)
            printed.add(output)
    if len(printed) != 1:
        raise ValueError(f"{program.name} does not print the same in each run")
    return costs


def ratios(costs: Mapping[str, Sequence[Cost]], column: str) -> tuple[float, float]:
    """CPU and memory to `off`, medians of paired ratios."""
    pairs = list(zip(costs[column], costs["off"], strict=True))
    return (
        statistics.median(cost.seconds / off.seconds for cost, off in pairs),
        statistics.median(cost.memory / off.memory for cost, off in pairs),
    )


def figures(costs: Mapping[str, Mapping[str, Sequence[Cost]]], columns: Sequence[str]) -> list[str]:
    """The table."""
    others = columns[1:]
    rows, all_ratios = [], {column: list[tuple[float, float]]() for column in others}
    for name, of_program in costs.items():
        off = of_program["off"]
        seconds, memory = (statistics.median(values) for values in ((o.seconds for o in off), (o.memory for o in off)))
        cells = [name, f"{seconds:.2f} s, {memory / 1024:.0f} MiB"]
        for column in others:
            pair = ratios(of_program, column)
            all_ratios[column].append(pair)
            cells.append(f"{pair[0]:.2f}, {pair[1]:.2f}")
        rows.append(cells)
    means = [
        ", ".join(f"{geometric(pair[part] for pair in all_ratios[column]):.2f}" for part in (0, 1)) for column in others
    ]
    return table(["CPU, memory", "off", *others], [*rows, ["geometric mean", "", *means]])


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure what each level of hardening costs; write docs/hardening.md.")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--library", type=Path, default=ROOT / "build/release/libhew.so")
    parser.add_argument("--page", type=Path, default=ROOT / "docs/hardening.md")
    options = parser.parse_args()
    columns = environments(options.library.resolve())
    there = [program for program in PROGRAMS if shutil.which(program.words[0]) is not None]
    for program in set(PROGRAMS) - set(there):
        print(f"gen_hardening: {program.name} is not installed: left out", file=sys.stderr)
    try:
        costs = {program.name: measure(program, columns, options.runs) for program in there}
        SECTION.write(options.page, figures(costs, list(columns)))
    except (ValueError, subprocess.CalledProcessError) as error:
        print(f"gen_hardening: {error}", file=sys.stderr)
        return 1
    print(f"gen_hardening: {options.page}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
