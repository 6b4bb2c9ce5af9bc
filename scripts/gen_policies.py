#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Record real programs, simulate textbook policies on what they did, and write tables and pictures of docs/policies.md.

    python3 scripts/gen_policies.py [--page docs/policies.md] [--keep DIR] [--only NAME ...]

Needs a release build (libhewtrace.so and hew-simulate).  A program that is not here is left out.  What stands outside
the two marks in the page is left as it is; pictures go into docs/policies/.
"""

import argparse
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from generated import section_of, table
from program_texts import PYTHON, jq_filter, libc_of, perl, sql

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tool/src"))

from hew.analysis.cut import cut  # noqa: E402
from hew.model.cut import Cut, Waste  # noqa: E402
from hew.model.quantity import size  # noqa: E402
from hew.model.simulation import Simulation  # noqa: E402
from hew.sources.simulation import simulate, sizes_of  # noqa: E402
from hew.views.simulation import standalone_picture  # noqa: E402

SECTION = section_of("scripts/gen_policies.py", "figures")
PICTURED = ("Redis", "g++")
CLASSES = 36
READY_SECONDS = 60.0

SOURCE = """
#include <algorithm>
#include <map>
#include <regex>
#include <string>
#include <unordered_map>
#include <vector>
int main()
{
    std::map<std::string, std::vector<int>> all;
    std::unordered_map<std::string, std::regex> patterns;
    for (int i = 0; i < 1000; i++)
        all[std::to_string(i % 37)].push_back(i);
    patterns.emplace("a", std::regex("[a-z]+"));
    return (int)std::count_if(all.begin(), all.end(), [](const auto &one) { return one.second.size() > 20; });
}
"""


@dataclass(frozen=True)
class Program:
    """A program, what it needs, and how it is recorded."""

    name: str
    does: str
    needs: str
    run: Callable[[Path, Path], None]


def record(output: Path, words: Sequence[str], stdin: str = "", **changes: str) -> None:
    """Run it to its end."""
    subprocess.run(
        [sys.executable, "-m", "hew", "record", "-o", str(output), "--", *words],
        env={**os.environ, "PYTHONPATH": str(ROOT / "tool/src"), **changes},
        input=stdin, text=True, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def redis(output: Path, folder: Path) -> None:
    """A server that is loaded by its own benchmark and ended by its own client."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    words = ["redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    libc = libc_of(shutil.which("redis-server") or "")
    server = subprocess.Popen(
        [sys.executable, "-m", "hew", "record", "-o", str(output), "--", *words],
        env={**os.environ, "PYTHONPATH": str(ROOT / "tool/src"), "LD_PRELOAD": libc},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        until = time.monotonic() + READY_SECONDS
        while subprocess.run(["redis-cli", "-p", port, "ping"], capture_output=True, check=False).returncode != 0:
            if time.monotonic() > until or server.poll() is not None:
                raise RuntimeError("redis-server does not come up")
            time.sleep(0.1)
        load = ["redis-benchmark", "-p", port, "-t", "set,lpush,sadd", "-n", "100000", "-r", "50000", "-d", "100", "-q"]
        subprocess.run(load, check=True, capture_output=True)
        subprocess.run(["redis-cli", "-p", port, "shutdown", "nosave"], capture_output=True, check=False)
        server.wait(READY_SECONDS)
    finally:
        server.terminate()
        server.wait()


def compiler(output: Path, folder: Path) -> None:
    """The compiler proper is a child of g++."""
    source = folder / "program.cc"
    source.write_text(SOURCE)
    record(output, ["g++", "-O1", "-c", str(source), "-o", str(folder / "program.o")])


PROGRAMS = (
    Program("Redis", "300,000 requests: SET, LPUSH, SADD", "redis-server", redis),
    Program("SQLite", "100,000 rows in memory, an index, deletions", "sqlite3",
            lambda output, _: record(output, ["sqlite3", ":memory:"], sql(100_000))),
    Program("g++", "a page of C++ with maps and regular expressions, -O1", "g++", compiler),
    Program("Python", "JSON documents written and read (PYTHONMALLOC=malloc)", "python3",
            lambda output, _: record(output, [sys.executable, "-c", PYTHON], PYTHONMALLOC="malloc")),
    Program("Perl", "a hash that grows and loses keys", "perl",
            lambda output, _: record(output, ["perl", "-e", perl(150_000)])),
    Program("jq", "an array of 60,000 objects, filtered", "jq",
            lambda output, _: record(output, ["jq", "-n", jq_filter(60_000)])),
)  # fmt: skip


def largest(output: Path) -> Path:
    """Of the command's files, the one with the most in it."""
    return max(output.parent.glob(f"{output.name}*"), key=lambda path: path.stat().st_size)


def figures(done: Sequence[tuple[Program, Simulation, Cut]]) -> list[str]:
    """All between the marks."""
    names = [one.name for one in done[0][1].policies]
    programs = [program.name for program, _, _ in done]
    lines = ["### The programs", ""]
    lines += table(
        ["program", "operations", "most live", "what it does"],
        ([one.name, f"{found.trace.operations:,}", size(found.peak_live), one.does] for one, found, _ in done),
    )
    ways: dict[str, Callable[[Simulation, int], str]] = {
        "Peak of the heap, in times of the most live bytes (the lower bound is 1)":
            lambda found, at: f"{found.policies[at].peak_heap / found.peak_live:.2f}",
        "Peak of resident pages, likewise":
            lambda found, at: f"{found.policies[at].peak_resident / found.peak_live:.2f}",
        "Internal fragmentation, mean": lambda found, at: f"{found.internal(found.policies[at]):.1%}",
        "External fragmentation, mean": lambda found, at: f"{found.policies[at].external:.1%}",
        "Work, steps for each operation": lambda found, at: f"{found.policies[at].work / found.trace.operations:,.1f}",
    }  # fmt: skip
    for title, cell in ways.items():
        lines += ["", f"### {title}", ""]
        lines += table(
            ["policy", *programs], ([name, *(cell(found, at) for _, found, _ in done)] for at, name in enumerate(names))
        )
    lines += ["", "### Size classes of one's own (`hew cut`), waste of small objects in the mean, of live bytes", ""]
    lines += table(
        ["program", "hew's 36 classes", "as many or fewer of its own", "of hew's waste"],
        ([one.name, share(found.others["hew"]), share(found.waste), times(found.waste, found.others["hew"])]
         for one, _, found in done),
    )  # fmt: skip
    for one in programs:
        if one in PICTURED:
            lines += ["", f"![{one}: heap over operations](policies/{file_name(one)})"]
    return lines


def share(waste: Waste) -> str:
    """Waste in per cent of what lives."""
    return f"{waste.total / waste.asked:.1%}"


def times(ours: Waste, theirs: Waste) -> str:
    """One waste as a part of another."""
    return f"{ours.total / theirs.total:.2f}"


def file_name(program: str) -> str:
    """Of its picture."""
    return f"{re.sub(r'[^a-z]', '', program.lower().replace('+', 'p'))}.svg"


def main() -> int:
    """Record, simulate, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", type=Path, default=ROOT / "docs/policies.md")
    parser.add_argument(
        "--keep", type=Path, help="keep the traces there; those that are there already are not made again"
    )
    parser.add_argument("--only", nargs="*", default=[one.name for one in PROGRAMS])
    asked = parser.parse_args()
    done = []
    with tempfile.TemporaryDirectory() as temporary:
        keep = asked.keep or Path(temporary)
        keep.mkdir(parents=True, exist_ok=True)
        for program in PROGRAMS:
            if program.name not in asked.only or shutil.which(program.needs) is None:
                print(f"{program.name}: left out", file=sys.stderr)
                continue
            output = keep / f"{file_name(program.name).removesuffix('.svg')}.trace"
            if not output.exists():
                program.run(output, Path(temporary))
            trace = largest(output)
            found = simulate(trace, (), ())
            print(f"{program.name}: {found.trace.operations:,} operations", file=sys.stderr)
            done.append((program, found, cut(sizes_of(trace), CLASSES, by_peak=False)))
            if program.name in PICTURED:
                picture = asked.page.parent / "policies" / file_name(program.name)
                picture.parent.mkdir(exist_ok=True)
                picture.write_text(standalone_picture(found, program.name) + "\n", encoding="utf-8")
    SECTION.write(asked.page, figures(done))
    return 0


if __name__ == "__main__":
    sys.exit(main())
