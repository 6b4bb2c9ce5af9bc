#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compare replays with the recorded programs, twelve of them under each allocator: writes docs/replay.md.

    .venv/bin/python scripts/gen_replay.py [--only NAME ...] [--output FILE] [--alloc NAME=LIBRARY ...]

A run's heap is the process's peak RSS less that of the same program with nothing to do, so what a program maps by
itself (V8's heap, the compiler's own pools) counts as heap there and is not in a trace. Times are not judged.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from generated import revision_of, version_of
from program_texts import AWK, compiler

from hew.model.figures import PEAK_RSS
from hew.model.run import CommandPlan, Step
from hew.sources.environment import caller_environment
from hew.sources.measure import Place, measure_command

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "replay.md"
RELEASE = ROOT / "build" / "release"
MIB = 1 << 20

LUA = "local t={} for i=1,400000 do t[i]={name='n'..i, value=i} end print(#t)"
PERL = "my %h; $h{qq(key$_)} = [$_, qq(value$_)] for 1..300000; print scalar(keys %h), qq(\\n)"
RUBY = "a = (1..300000).map { |i| {name: 'name of ' + i.to_s * 8, value: [i]} }; puts a.size"
PYTHON = "x = {str(i): [i, str(i * 7), (i,)] for i in range(200000)}; print(len(x))"
NODE = "const b = []; for (let i = 0; i < 3000; i++) b.push(Buffer.alloc(20000, i)); console.log(b.length)"
TCL = "for {set i 0} {$i < 300000} {incr i} {set a($i) [string repeat x [expr {$i % 60}]]}\nputs [array size a]\n"
SQL = (
    "pragma cache_size=-400000; create table t(a integer primary key, b text, c text);"
    "with recursive n(i) as (select 1 union all select i+1 from n where i<300000)"
    "insert into t select i, hex(randomblob(16)), printf('row %d', i) from n;"
    "create index i on t(b); select count(*) from t;"
)
CXX = """#include <functional>
#include <iostream>
#include <map>
#include <regex>
int main() { std::regex r("a+b"); std::map<int, std::function<int()>> m; return m.size(); }
"""


@dataclass(frozen=True)
class Program:
    """A command, and the same program with nothing to do."""

    name: str
    words: Sequence[str]
    idle: Sequence[str]
    environment: Mapping[str, str]


def programs(folder: Path) -> list[Program]:
    """Those whose command is here."""
    rows = ",".join(f'{{"id":{i},"name":"name {i}","tags":["a","b",{i}],"v":{i}.5}}' for i in range(120_000))
    (folder / "in.json").write_text(f"[{rows}]")
    items = "".join(f"<item id='{i}'><name>name {i}</name><value>{i * 7}</value></item>" for i in range(120_000))
    (folder / "in.xml").write_text(f"<all>{items}</all>")
    (folder / "in.cpp").write_text(CXX)
    (folder / "in.tcl").write_text(TCL)
    (folder / "empty.cpp").write_text("int main() { return 0; }\n")
    (folder / "in.txt").write_text("\n".join(str(i * 7919 % 1_000_003) + " line" * (i % 9) for i in range(900_000)))
    malloc = {"PYTHONMALLOC": "malloc"}
    found = [
        Program("jq", ["jq", "length", str(folder / "in.json")], ["jq", "-n", "1"], {}),
        Program("python", [sys.executable, "-c", PYTHON], [sys.executable, "-c", "pass"], malloc),
        Program("sqlite", ["sqlite3", ":memory:", SQL], ["sqlite3", ":memory:", "select 1"], {}),
        Program("lua", ["lua5.4", "-e", LUA], ["lua5.4", "-e", ""], {}),
        Program("perl", ["perl", "-e", PERL], ["perl", "-e", "1"], {}),
        Program("ruby", ["ruby", "-e", RUBY], ["ruby", "-e", ""], {}),
        Program("xmllint", ["xmllint", "--noout", str(folder / "in.xml")], ["xmllint", "--version"], {}),
        Program("sort", ["sort", "-o", "/dev/null", str(folder / "in.txt")], ["sort", "/dev/null"], {}),
        Program("awk", ["gawk", AWK], ["gawk", "BEGIN {}"], {}),
        Program("tcl", ["tclsh", str(folder / "in.tcl")], ["tclsh", "/dev/null"], {}),
        Program("node", ["node", "-e", NODE], ["node", "-e", ""], {}),
    ]
    if shutil.which("g++"):
        found.append(Program("g++", compiler(folder / "in.cpp", 2), compiler(folder / "empty.cpp", 2), {}))
    return [one for one in found if shutil.which(one.words[0])]


def peak_rss(words: Sequence[str], environment: Mapping[str, str], preload: str) -> int:
    """Bytes, as `hew compare` measures them."""
    place = Place(Path(preload) if preload else None, {**caller_environment(), **environment})
    run = measure_command(CommandPlan(tuple(words), Path("/dev/null"), None), place, Step("any", 1))
    if run.failure:
        raise SystemExit(f"gen_replay: {words[0]} under {preload or 'glibc'}: {run.failure.reason}")
    return int(run.figures[PEAK_RSS.key])


def replayed(plan: Path, preload: str) -> int:
    """The heap's peak in bytes, as hew-replay prints it."""
    given = {**os.environ, **({"LD_PRELOAD": preload} if preload else {})}
    words: list[Path | str] = [RELEASE / "hew-replay", "run", plan, "recorded", "fast"]
    done = subprocess.run(words, env=given, capture_output=True, text=True, check=True)
    return next(int(line.rsplit(" ", 1)[1]) for line in done.stdout.splitlines() if line.startswith("peak heap"))


def one_row(program: Program, allocators: Mapping[str, str], folder: Path) -> list[tuple[float, float]]:
    """For each allocator the heap of the run and of the replay, MiB."""
    trace, plan = folder / "trace", folder / "plan"
    trace.unlink(missing_ok=True)
    given = {**os.environ, **program.environment, "HEW_TRACE": str(trace), "HEW_TRACE_CHILDREN": "0"}
    given["LD_PRELOAD"] = str(RELEASE / "libhewtrace.so")
    subprocess.run(program.words, env=given, stdout=subprocess.DEVNULL, check=True)
    subprocess.run([RELEASE / "hew-replay", "plan", trace, plan], stdout=subprocess.DEVNULL, check=True)
    row = []
    for preload in allocators.values():
        busy, idle = (peak_rss(words, program.environment, preload) for words in (program.words, program.idle))
        row.append(((busy - idle) / MIB, replayed(plan, preload) / MIB))
    return row


def same_order(row: Sequence[tuple[float, float]]) -> bool:
    """Whether pairs of allocators that differ by more than 3 % in the run have the same order in the replay."""
    pairs = [(a, b) for a in row for b in row if a[0] > b[0] * 1.03]
    return all(a[1] > b[1] for a, b in pairs)


def page(names: Sequence[str], rows: Mapping[str, list[tuple[float, float]]]) -> str:
    """The whole page."""
    lines = [
        "<!-- made by scripts/gen_replay.py -->",
        "# How close a replay is to the program",
        "",
        f"Measured: hew {version_of(ROOT)} at revision `{revision_of(ROOT)}`.",
        "",
        "Each program was recorded once over glibc's malloc. Then it ran under each allocator, and its trace was",
        "replayed under each (`--touch recorded`). *run*: the program's peak RSS less that of the same program with",
        "nothing to do. *replay*: anonymous memory. Memory that a program maps itself is not in a trace: ruby, node",
        "and g++ do that. *Order*: whether allocators that differ by more than 3 % keep their order in the replay.",
        f"{datetime.now(UTC):%Y-%m-%d}, one run each, under {', '.join(names)}.",
        "",
        "| program | " + " | ".join(f"{name}: run, MiB | replay | ratio" for name in names) + " | order |",
        "|---|" + "---|---|---|" * len(names) + "---|",
    ]
    for program, row in rows.items():
        cells = " | ".join(f"{life:.1f} | {again:.1f} | {again / life:.2f}" for life, again in row)
        lines.append(f"| {program} | {cells} | {'same' if same_order(row) else 'other'} |")
    close = sum(0.95 <= again / life <= 1.05 for row in rows.values() for life, again in row)
    lines += ["", f"Within 5 %: {close} of {sum(map(len, rows.values()))}.", ""]
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--alloc", action="append", default=[], metavar="NAME=LIBRARY")
    parser.add_argument("--output", type=Path, default=PAGE)
    options = parser.parse_args(arguments)
    allocators = {"glibc": "", "hew": str(RELEASE / "libhew.so")}
    allocators |= dict(one.split("=", 1) for one in options.alloc)
    rows = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for program in programs(folder):
            if not options.only or program.name in options.only:
                rows[program.name] = one_row(program, allocators, folder)
                print(program.name, *(f"{life:.1f}/{again:.1f}" for life, again in rows[program.name]), flush=True)
    options.output.write_text(page(list(allocators), rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
