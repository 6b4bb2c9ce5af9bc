#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What recording costs: user and system time, peak memory and the file, beside heaptrack and memray.

    make recorder-cost    # half an hour; writes a table of docs/whole_run.md
    .venv/bin/python scripts/recorder_cost.py --only Redis --runs 1    # one round of one program

Four programs: a C++ program with strings, a compiler with a large file, a job in Python (pylint, in an environment of
its own with memray), and Redis under load. The cost of a recorder is that of the command with all its children: packing
and the interpreters of the tools count. In each round the recorders take turns; a row has the medians of the rounds.
What is measured is saved, and only what is missing is run. Needs a release build, g++, heaptrack, redis.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attach_soak import await_port, needed
from generated import section_of, table
from python_lines import environment

from hew.sources.server import free_port

ROOT = Path(__file__).parent.parent
HEW: list[str | Path] = [sys.executable, "-m", "hew"]
FLAGS = ("-std=c++17", "-O2")
# A cache of 20,000 strings, a peak of 57 MB, 1,000 lost objects, and 3 million strings that live for a moment.
CASES = r"""
#include <memory>
#include <string>
#include <vector>
#define NOINLINE __attribute__((noinline))
static std::vector<std::string> cache;
static volatile size_t seen;
static char *volatile lost;

NOINLINE static void fill_cache() {
    for (int i = 0; i < 20000; i++) {
        std::string text = "entry " + std::to_string(i);
        text.append(1000, 'x');
        cache.push_back(text);
    }
}
NOINLINE static void peak_here() {
    std::vector<std::unique_ptr<char[]>> held;
    for (int i = 0; i < 57; i++) held.emplace_back(new char[1000000]);
}
NOINLINE static void leaks_here() {
    for (int i = 0; i < 1000; i++) lost = new char[1000];
    lost = nullptr;
}
NOINLINE static void churn() {
    for (int i = 0; i < 3000000; i++) seen = std::string(40 + i % 60, 'x').size();
}
int main() {
    fill_cache();
    peak_here();
    leaks_here();
    churn();
    cache = {};
}
"""
HEADERS = "regex map unordered_map functional algorithm iostream future random thread filesystem variant optional"
# A compiler makes ten million allocations of it, with deep stacks.
LARGE = r"""
template <int N> struct one {
    std::map<int, std::vector<std::string>> table;
    std::function<int(int)> call = [](int x) { return x * N; };
    bool matches(const std::string &text) { return std::regex_search(text, std::regex("[a-z]+" + std::to_string(N))); }
    int sum() {
        int total = 0;
        for (auto &[key, values] : table) { std::sort(values.begin(), values.end()); total += call(key); }
        return total;
    }
};
template <int N> int all(const std::string &text) { return one<N>().matches(text) + one<N>().sum() + all<N - 1>(text); }
template <> int all<0>(const std::string &) { return 0; }
int main(int, char **argv) { return all<250>(argv[0]); }
"""
PYLINT = """
import argparse, io, pylint.lint, pylint.reporters.text
report = pylint.reporters.text.TextReporter(io.StringIO())
pylint.lint.Run([argparse.__file__], reporter=report, exit=False)
"""
LOAD = "redis-benchmark -q -c 50 -n 200000 -r 200000 -d 64 -t set,get,lpush,hset -p".split()  # noqa: SIM905
ALL = "`hew record --stacks all`"
HEAD = ["program, allocations", "recorder", "CPU, s", "of plain", "peak memory, MiB", "file, KiB"]
SECTION = section_of("scripts/recorder_cost.py", "the cost of recording")
# Runs a command; prints its seconds, its memory and its status.
RUNS = """
import resource, subprocess, sys
null = subprocess.DEVNULL
status = subprocess.run(sys.argv[1:], stdin=null, stdout=null, stderr=null).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, status)
"""


@dataclass(frozen=True)
class Command:
    """What is recorded, the port on which it serves until its load ends it, and its Python if memray can record it."""

    words: Sequence[str | Path]
    port: int = 0
    python: Path | None = None


def cases(folder: Path) -> Command:
    """The program with strings."""
    source, program = folder / "cases.cpp", folder / "cases"
    source.write_text(CASES)
    subprocess.run(["g++", *FLAGS, "-g", "-o", program, source], check=True)
    return Command([program])


def compiler(folder: Path) -> Command:
    """GCC with a file that has its headers in it."""
    source, plain = folder / "large.cpp", folder / "large.ii"
    source.write_text("".join(f"#include <{name}>\n" for name in HEADERS.split()) + LARGE)
    subprocess.run(["g++", *FLAGS, "-E", "-o", plain, source], check=True)
    program = subprocess.check_output(["g++", "-print-prog-name=cc1plus"], text=True).strip()
    return Command([program, "-quiet", *FLAGS, "-o", "/dev/null", plain])


def job(folder: Path) -> Command:
    """Pylint over a module of the standard library."""
    (folder / "job.py").write_text(PYLINT)
    python = environment(ROOT / "build" / "recorder-cost", ["memray", "pylint"])
    return Command([python, folder / "job.py"], python=python)


def server(_: Path) -> Command:
    """Redis without threads for input and output, which wait by spinning."""
    port = free_port()
    return Command([needed("redis-server"), "--port", str(port), "--save", ""], port)


PROGRAMS: dict[str, Callable[[Path], Command]] = {
    "C++ with strings": cases,
    "`cc1plus -O2`, a large file": compiler,
    "Python: pylint": job,
    "Redis under load": server,
}


def recorders(folder: Path, python: Path | None) -> dict[str, list[str | Path]]:
    """The words before a command."""
    found: dict[str, list[str | Path]] = {
        "plain": [],
        "heaptrack": ["heaptrack", "-o", folder / "trace"],
        ALL: [*HEW, "record", "--stacks", "all", "-o", folder / "trace", "--"],
        "`hew record --sample 512K`": [*HEW, "record", "--sample", "512K", "-o", folder / "trace", "--"],
    }
    if python is not None:
        words = ("run", "-q", "--native", "--trace-python-allocators", "-o", folder / "trace")
        found["memray `--native`"] = [python, "-m", "memray", *words]
    return found


def cost(words: Sequence[str | Path], port: int) -> tuple[float, float]:
    """Seconds of user and system time of the command with all its children, and MiB of the largest process."""
    with subprocess.Popen([sys.executable, "-c", RUNS, *words], stdout=subprocess.PIPE, text=True) as process:
        if port:
            await_port(port)
            subprocess.run([*LOAD, str(port)], check=True, stdout=subprocess.DEVNULL)
            subprocess.run(["redis-cli", "-p", str(port), "shutdown", "nosave"], check=False, capture_output=True)
        out, _ = process.communicate()
    seconds, memory, status = out.split()
    if status != "0":
        raise RuntimeError(f"{' '.join(map(str, words))} ended with status {status}")
    return float(seconds), float(memory)


def fill(found: dict[str, Any], make: Callable[[Path], Command], save: Callable[[], None]) -> None:
    """Adds what a round lacks, and saves after each recorder: seconds, MiB and bytes of the file. And how many
    allocations there were."""
    with tempfile.TemporaryDirectory(prefix="hew-recorder-cost-") as outer:
        command = make(Path(outer))
        for recorder in [one for one in recorders(Path(outer), command.python) if one not in found]:
            with tempfile.TemporaryDirectory(dir=outer) as folder:
                before = recorders(Path(folder), command.python)[recorder]
                words = command.words[1:] if recorder.startswith("memray") else command.words
                try:
                    used = cost([*before, *words], command.port)
                except RuntimeError as error:
                    print(error, file=sys.stderr)
                    found[recorder] = None
                    continue
                found[recorder] = [*used, sum(file.stat().st_size for file in Path(folder).iterdir())]
                if recorder == ALL:
                    show = [*HEW, "profile", "--json", "--rows", "1", Path(folder) / "trace"]
                    document = json.loads(subprocess.run(show, check=True, capture_output=True).stdout)
                    found["allocations"] = document["run"]["allocations"]["objects"]
            save()


def keep(saved: dict[str, list[dict[str, Any]]], file: Path) -> None:
    """Saves the rounds of all programs."""
    file.write_text(json.dumps(saved))


def rows(name: str, rounds: list[dict[str, Any]]) -> Iterator[list[str]]:
    """The medians of a program's rounds, a row for each recorder."""
    allocations = statistics.median(one["allocations"] for one in rounds)
    plain = statistics.median(one["plain"][0] for one in rounds)
    for recorder in [one for one in rounds[0] if one != "allocations"]:
        if None in [one[recorder] for one in rounds]:
            yield [f"{name}, {allocations / 1e6:.2f} million", recorder, "failed", "", "", ""]
        else:
            columns = zip(*(one[recorder] for one in rounds), strict=True)
            seconds, memory, size = (statistics.median(column) for column in columns)
            cells = (f"{seconds:.2f}", f"{seconds / plain:.2f}", f"{memory:.0f}", f"{size / 1024:,.0f}" if size else "")
            yield [f"{name}, {allocations / 1e6:.2f} million", recorder, *cells]


def main() -> int:
    """Runs what is missing, and prints the table; with --page it replaces the section of that name there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3, help="rounds of each program")
    parser.add_argument("--only", default="", help="programs with this in their name")
    parser.add_argument("--save", type=Path, default=ROOT / "build" / "recorder-cost.json", help="the rounds so far")
    parser.add_argument("--page", type=Path, help="a page with the marks of the section")
    options = parser.parse_args()
    os.environ.pop("LD_PRELOAD", None)
    saved: dict[str, list[dict[str, Any]]] = json.loads(options.save.read_text()) if options.save.exists() else {}
    for name, make in PROGRAMS.items():
        if options.only.lower() in name.lower():
            rounds = saved.setdefault(name, [])
            rounds += [{} for _ in range(options.runs - len(rounds))]
            for one in rounds:
                fill(one, make, lambda: keep(saved, options.save))
    lines = table(HEAD, [row for name in PROGRAMS if saved.get(name) for row in rows(name, saved[name])])
    print("\n".join(lines))
    if options.page:
        SECTION.write(options.page, lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
