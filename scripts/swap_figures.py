#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a swap is good for, as figures of scripts/swap_soak.py: memory that it returns, and the speed afterwards.

    python3 scripts/swap_figures.py [--library FILE]

Speed: three processes do the same piece of work by turns, in a random order, so that what else the machine does meets
all of them. A ratio is the median over the rounds.
"""

import argparse
import os
import random
import statistics
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from attach_soak import needed, read_line, running
from swap_kills import ROOT, WORK

from hew.sources.library import find_hew
from hew.sources.processes import resident
from hew.sources.swap.swapping import drain, swap

HOLES = ("310000", "1000", "100000")  # of plateau: 300 MB, of which a few objects live
SETTLED = 60.0  # seconds
ROUNDS = 40
FIGURES = ["", "on glibc", "swapped", "started under hew", "speed, swapped / started"]
# A line of input, a piece of work, its CPU seconds.
PYTHON = """
import sys, time
def work():
    for _ in range(6):
        kept = {str(i): [i, str(i * 7), (i,)] for i in range(10000)}
work()
print("ready", flush=True)
while sys.stdin.readline():
    began = time.process_time()
    work()
    print(time.process_time() - began, flush=True)
"""
LOOP = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static char *held[1000];
static double cpu(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}
static void work(void) {
    unsigned random = 1;
    for (int i = 0; i < 3000000; i++) {
        random = random * 1664525 + 1013904223;
        char **one = &held[(random >> 8) % 1000];
        free(*one);
        *one = malloc(16 + (random >> 22));
        **one = 1;
    }
}
int main(void) {
    char line[100];
    work();
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin) != NULL) {
        double began = cpu();
        work();
        printf("%f\\n", cpu() - began);
        fflush(stdout);
    }
}
"""


def holes(library: Path) -> list[str]:
    """Resident MiB of a process whose heap is full of holes: before, after a swap with --trim, and under hew."""
    program = WORK / "plateau"
    source = ROOT / "tool" / "tests" / "programs" / "plateau.c"
    subprocess.run([needed("cc"), "-O1", "-fno-builtin", "-pthread", "-w", "-o", program, source], check=True)
    found = []
    for variables in ({}, {"LD_PRELOAD": str(library)}):
        with running([str(program), *HOLES], **variables) as process:
            while read_line(process.stdout) != "end":
                pass
            if not variables:
                found.append(resident(process.pid))
                swap(process.pid, library)
                drain(process.pid)
            time.sleep(SETTLED)
            found.append(resident(process.pid))
    before, swapped, ours = (one / (1 << 20) for one in found)
    return ["resident MiB, 300 MB of holes", f"{before:.1f}", f"{swapped:.1f}", f"{ours:.1f}", ""]


def speed(what: str, words: list[str], library: Path, **changes: str) -> list[str]:
    """CPU ms of a piece of work on glibc, in a swapped process, and in one that was started under hew."""
    times: list[list[float]] = [[], [], []]
    with ExitStack() as stack:
        three = [stack.enter_context(running(words, LD_PRELOAD=one, **changes)) for one in ("", "", str(library))]
        for process in three:
            read_line(process.stdout)
        swap(three[1].pid, library)
        for _ in range(ROUNDS):
            for number in random.sample(range(3), 3):
                stdin = three[number].stdin
                assert stdin is not None  # noqa: S101 - a pipe
                stdin.write("\n")
                stdin.flush()
                times[number].append(float(read_line(three[number].stdout)))
    ratio = statistics.median(started / swapped for swapped, started in zip(times[1], times[2], strict=True))
    return [what, *(f"{statistics.median(one) * 1000:.1f}" for one in times), f"{ratio:.3f}"]


def figures(library: Path) -> list[list[str]]:
    """The rows of the table."""
    loop = WORK / "loop"
    words = [needed("cc"), "-O1", "-fno-builtin", "-x", "c", "-o", str(loop), "-"]
    subprocess.run(words, input=LOOP, text=True, check=True)
    return [
        holes(library),
        speed("CPU ms, 3 million malloc and free", [str(loop)], library),
        speed("CPU ms, a job of Python", [sys.executable, "-c", PYTHON], library, PYTHONMALLOC="malloc"),
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="What a swap is good for.")
    parser.add_argument("--library", type=Path)
    WORK.mkdir(parents=True, exist_ok=True)
    for each in figures(find_hew(parser.parse_args().library, os.environ)):
        print(" | ".join(each), flush=True)
