#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What recording costs: user and system time, and peak memory, beside heaptrack and memray.

    make recorder-cost    # five to ten minutes; prints a table

Three programs: a compiler with a large file, a job in Python (pylint, in an environment of its own with memray), and
Redis with four threads under load. The cost of a recorder is that of the command with all its children: packing and the
interpreters of the tools count. A row has the median of the runs; in each run the recorders take turns. Needs a release
build, g++, heaptrack, redis.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from generated import section_of, table

ROOT = Path(__file__).parent.parent
PORT = "7391"
HEADERS = "regex map unordered_map functional algorithm iostream future random thread filesystem variant optional"
# Some million allocations, with deep stacks.
BODY = r"""
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
int main(int, char **argv) { return all<60>(argv[0]); }
"""
PYLINT = """
import argparse, io, pylint.lint, pylint.reporters.text
report = pylint.reporters.text.TextReporter(io.StringIO())
pylint.lint.Run([argparse.__file__], reporter=report, exit=False)
"""
LOAD = f"redis-benchmark -q -p {PORT} -c 50 -n 200000 -r 200000 -d 64 -t set,get,lpush,hset".split()
SERVER: list[str | Path] = [*f"redis-server --port {PORT} --io-threads 4 --io-threads-do-reads yes --save".split(), ""]
HEAD = ["program", "recorder", "CPU, s", "of plain", "peak memory, MiB"]
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
    """What is recorded, what loads and ends it, and its Python if it is a job for memray as well."""

    words: Sequence[str | Path]
    load: Sequence[str] = ()
    python: Path | None = None


def recorders(folder: Path, python: Path | None) -> dict[str, list[str | Path]]:
    """The words before a command. memray is there for Python alone."""
    hew: list[str | Path] = [sys.executable, "-m", "hew", "record"]
    found: dict[str, list[str | Path]] = {
        "plain": [],
        "heaptrack": ["heaptrack", "-o", folder / "heaptrack"],
        "`hew record --stacks all`": [*hew, "--stacks", "all", "-o", folder / "all", "--"],
        "`hew record --sample 512K`": [*hew, "--sample", "512K", "-o", folder / "sample", "--"],
    }
    if python is not None:
        trace = ("--trace-python-allocators", "-o", folder / "memray")
        found["memray `--native`"] = [python, "-m", "memray", "run", "-q", "--native", *trace]
    return found


def cost(words: Sequence[str | Path], load: Sequence[str]) -> tuple[float, float]:
    """Seconds of user and system time of the command with all its children, and MiB of the largest process. The load
    runs beside it, and ends it."""
    with subprocess.Popen([sys.executable, "-c", RUNS, *words], stdout=subprocess.PIPE, text=True) as process:
        if load:
            _load(load)
        out, _ = process.communicate()
    seconds, memory, status = out.split()
    if status != "0":
        raise RuntimeError(f"{' '.join(map(str, words))} ended with status {status}")
    return float(seconds), float(memory)


def _load(words: Sequence[str]) -> None:
    """Waits for the server, runs the clients, and ends the server."""
    asks = ["redis-cli", "-p", PORT]
    deadline = time.monotonic() + 120
    while subprocess.run([*asks, "ping"], capture_output=True, text=True, check=False).stdout != "PONG\n":
        if time.monotonic() > deadline:
            raise RuntimeError("redis-server does not answer")
        time.sleep(0.05)
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    subprocess.run([*asks, "shutdown", "nosave"], check=False, capture_output=True)


def compiler(folder: Path, _: Path) -> Command:
    """GCC with a file that has its headers in it."""
    text = "".join(f"#include <{name}>\n" for name in HEADERS.split())
    (folder / "large.cpp").write_text(text + BODY)
    plain = folder / "large.ii"
    subprocess.run(["g++", "-std=c++17", "-E", "-o", plain, folder / "large.cpp"], check=True)
    program = subprocess.check_output(["g++", "-print-prog-name=cc1plus"], text=True).strip()
    return Command([program, "-quiet", "-std=c++17", "-O2", "-o", "/dev/null", plain])


def job(folder: Path, place: Path) -> Command:
    """Pylint over a module of the standard library."""
    (folder / "job.py").write_text(PYLINT)
    python = environment(place)
    return Command([python, folder / "job.py"], python=python)


def server(_folder: Path, _place: Path) -> Command:
    """Redis."""
    return Command(SERVER, LOAD)


PROGRAMS: dict[str, Callable[[Path, Path], Command]] = {
    "`cc1plus -O2`, a large file": compiler,
    "Python: pylint": job,
    "Redis, 4 threads, under load": server,
}


def measured(runs: int, only: str, place: Path) -> Iterator[list[str]]:
    """A row for each program and recorder."""
    for name, make in PROGRAMS.items():
        if only.lower() not in name.lower():
            continue
        with tempfile.TemporaryDirectory(prefix="hew-recorder-cost-") as outer:
            command = make(Path(outer), place)
            found: dict[str, list[tuple[float, float]]] = {}
            for _ in range(runs):
                with tempfile.TemporaryDirectory(dir=outer) as folder:
                    for recorder, first in recorders(Path(folder), command.python).items():
                        words = command.words[1:] if recorder.startswith("memray") else command.words
                        found.setdefault(recorder, []).append(cost([*first, *words], command.load))
        plain = statistics.median(one[0] for one in found["plain"])
        for recorder, values in found.items():
            seconds, memory = (statistics.median(column) for column in zip(*values, strict=True))
            row = [name, recorder, f"{seconds:.2f}", f"{seconds / plain:.2f}", f"{memory:.0f}"]
            print(" | ".join(row), flush=True)
            yield row


def environment(folder: Path) -> Path:
    """The Python of an environment with memray and pylint, which is made if it is not there."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "memray", "pylint"], check=True)
    return python


def main() -> int:
    """Prints the table; with --page it replaces the section of that name there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", default="", help="programs with this in their name")
    parser.add_argument("--environment", type=Path, default=ROOT / "build" / "recorder-cost", help="for Python's job")
    parser.add_argument("--page", type=Path, help="a page with the marks of the section")
    options = parser.parse_args()
    os.environ.pop("LD_PRELOAD", None)
    rows = list(measured(options.runs, options.only, options.environment))
    if options.page:
        SECTION.write(options.page, table(HEAD, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
