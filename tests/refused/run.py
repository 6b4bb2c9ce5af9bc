#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run a program under hew while its system calls are refused by chance; each run comes from its seed.

    python3 tests/refused/run.py [--seconds 600 | --runs 30] [--seed 1] [--jobs 1] [--library FILE ...]

A seed draws the settings, which calls are refused, how often and with which error, and what the program does.
The program (work.c) checks what its objects hold, and goes on where it is given no memory.  A run that ends badly
is printed with the words that repeat it; threads may need it repeated some times.  Exits 1 when there was one,
77 where the system cannot refuse.
"""

import argparse
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 300  # seconds without a call: the program hangs, also on a busy machine
ALL = 3600  # seconds for one run
SKIPPED = 77
NOT_STARTED = "the system gave no memory for the address map"  # how the library ends when it cannot begin

# Numbers and texts to try; a setting of two or three words is tried with each of them.
VALUES = {
    "narenas": ("1", "2", "8"),
    "narenas_ratio": ("0.5", "4"),
    "oversize_threshold": ("65536", "1048576"),
    "mutex_max_spin": ("-1", "0", "600"),
    "dirty_decay_ms": ("0", "10", "1000", "-1"),
    "muzzy_decay_ms": ("0", "10", "1000", "-1"),
    "limit": ("20000000", "100000000"),
    "limit_hard": ("30000000", "200000000"),
    "thp_threshold": ("0", "1000000"),
    "lg_extent_max_active_fit": ("0", "2", "6"),
    "process_madvise_max_batch": ("2", "8", "128"),
    "calloc_madvise_threshold": ("16384", "262144"),
    "slab_sizes": ("8-4096:4", "1-14336:1", "64-64:16"),
    "classes": ("16|32|64|128|256|512|1024|2048|4096|8192|14336",),
    "pools": ("64-1000|4096-100", "48-100", "1000-20000"),
    "tcache_max": ("0", "4096", "65536", "8388608"),
    "lg_tcache_max": ("10", "22"),
    "lg_tcache_nslots_mul": ("-4", "3"),
    "tcache_nslots_small_min": ("1", "100"),
    "tcache_nslots_small_max": ("2", "8", "2000"),
    "tcache_nslots_large": ("1", "3", "100"),
    "tcache_ncached_max": ("1-64:3", "128-4096:0", "1-14336:8"),
    "lg_tcache_flush_small_div": ("2", "16"),
    "lg_tcache_flush_large_div": ("2", "16"),
    "cache_room": ("25", "400", "1600"),
    "depot_room": ("25", "400", "1600"),
    "san_guard_large": ("1", "5"),
    "guard_rate": ("0", "1000"),
    "stats_interval": ("1000000",),
    "lg_prof_sample": ("0", "10", "16"),
    "lg_prof_interval": ("20", "26"),
    "prof_bt_max": ("1", "256"),
    "prof_recent_alloc_max": ("-1", "100"),
    "control": ("{folder}/hew.%p",),
}
# What ends a program on purpose, or only says where or what is printed.
LEFT_OUT = {
    "abort",
    "abort_conf",
    "conf_file",
    "experimental_infallible_new",
    "prof_leak_error",
    "prof_prefix",
    "stats_interval_opts",
    "stats_print_opts",
    "xmalloc",
    "zero_realloc",
}
# The calls that the library makes, and errors that the kernel or a filter gives; brk:0 is the kernel's own way.
ERRORS = {
    "mmap": (12, 12, 1),
    "munmap": (12, 22),
    "mprotect": (12, 13),
    "mremap": (12, 12, 14, 38),
    "madvise": (12, 11, 22, 1),
    "process_madvise": (12, 38, 1),
    "mincore": (12, 38),
    "brk": (0, 0, 12, 1),
    "clone": (11, 1),
    "clone3": (11, 1, 38),
    "futex": (4, 11),
    "openat": (13, 24),
    "read": (4, 5),
    "pread64": (5,),
    "readlinkat": (13,),
    "write": (5, 32),
    "prlimit64": (1, 38),
    "sched_getaffinity": (1, 38),
    "sysinfo": (38,),
    "prctl": (22,),
    "socket": (13, 24),
}
MEMORY = ("mmap", "munmap", "mprotect", "mremap", "madvise", "brk")


class SettingsError(Exception):
    """The table of settings and this file do not agree."""


@dataclass(frozen=True)
class Plan:
    """What one seed stands for."""

    seed: int
    library: Path
    settings: str
    after: int
    calls: str
    threads: int
    operations: int

    def words(self, programs: Path) -> list[str]:
        """The command, without its environment."""
        injector = [str(programs / "refuse"), str(self.seed), str(LIMIT), str(self.after), self.calls]
        work = [str(programs / "refused_work"), str(self.seed), str(self.threads), str(self.operations)]
        return [*injector, str(self.library), *work]


@dataclass(frozen=True)
class End:
    """How a run ended."""

    plan: Plan
    status: int
    said: str

    @property
    def bad(self) -> bool:
        return self.status not in {0, SKIPPED} and NOT_STARTED not in self.said


def settings_of(source: Path) -> dict[str, tuple[str, ...]]:
    """Every setting that has an effect, with the values to try."""
    choices = source / "option_choices.def"
    words: dict[str, list[str]] = {}
    for name, word in re.findall(r'^HEW_CHOICE\(HEW_(\w+), "(\w+)"\)', choices.read_text(), re.MULTILINE):
        words.setdefault(name, []).append(word)
    found: dict[str, tuple[str, ...]] = {}
    rows = re.findall(
        r"^HEW_(?:LOG2_)?OPTION\((\w+), (\w+), [^\n]*, (WORKS|ACCEPTED),",
        (source / "options.def").read_text(),
        re.MULTILINE,
    )
    for name, kind, state in rows:
        values = VALUES.get(name, ())
        if kind == "BOOL":
            values = ("true", "false")
        elif kind == "CHOICE":
            values = tuple(
                w for choice, all_words in words.items() if choice.startswith(name.upper() + "_") for w in all_words
            )
        if name in LEFT_OUT or state == "ACCEPTED":
            continue
        if not values:
            raise SettingsError(f"no values to try for the setting {name}: tests/refused/run.py")
        found[name] = values
    return found


def plan_of(seed: int, libraries: Sequence[Path], settings: dict[str, tuple[str, ...]]) -> Plan:
    dice = random.Random(seed)  # noqa: S311
    chosen = {
        name: dice.choice(values) for name, values in settings.items() if dice.random() < dice.choice((0.03, 0.1))
    }
    kinds = list(MEMORY) if dice.random() < 0.3 else dice.sample(sorted(ERRORS), dice.randint(1, 5))
    kinds += [dice.choice(MEMORY)] if not set(kinds) & set(MEMORY) else []
    calls = [f"{kind}:{dice.choice((5, 20, 50, 200, 500))}:{dice.choice(ERRORS[kind])}" for kind in kinds]
    return Plan(
        seed=seed,
        library=libraries[seed % len(libraries)],
        settings=",".join(f"{name}:{value}" for name, value in chosen.items()),
        after=dice.choice((0, 20, 50, 100, 1000)),
        calls=",".join(calls),
        threads=dice.randint(0, 6),
        operations=dice.choice((200, 500, 1500)),
    )


def run(plan: Plan, programs: Path) -> End:
    with tempfile.TemporaryDirectory() as folder:  # profiles, sockets
        settings = plan.settings.replace("{folder}", folder)
        environment = {**os.environ, "MALLOC_CONF": f"{settings},abort_conf:true".lstrip(",")}
        try:
            done = subprocess.run(
                plan.words(programs),
                capture_output=True,
                errors="replace",
                timeout=ALL,
                cwd=folder,
                env=environment,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return End(plan, 124, "the injector itself did not end")
    return End(plan, done.returncode, done.stderr)


def run_all(plans: Iterator[Plan], programs: Path, jobs: int) -> Iterator[End]:
    """The ends of all runs, as they come."""
    with ThreadPoolExecutor(jobs) as pool:
        running: set[Future[End]] = set()
        more = True
        while more or running:
            while more and len(running) < jobs:
                plan = next(plans, None)
                more = plan is not None
                if plan is not None:
                    running.add(pool.submit(run, plan, programs))
            over, running = wait(running, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in over)


def plans_for(options: argparse.Namespace, settings: dict[str, tuple[str, ...]]) -> Iterator[Plan]:
    until = time.monotonic() + options.seconds
    count = 0
    while count < options.runs if options.seconds == 0 else time.monotonic() < until:
        yield plan_of(options.seed + count, options.library, settings)
        count += 1


def say_bad(end: End, programs: Path) -> None:
    told = ("work: ", "<hew>: ", "refuse: ")  # statistics may stand around it
    last = [line for line in end.said.splitlines() if any(word in line for word in told)][-8:]
    settings = f"MALLOC_CONF='{end.plan.settings}' " if end.plan.settings else ""
    print(f"refused: seed {end.plan.seed}: status {end.status}\n  {settings}{shlex.join(end.plan.words(programs))}")
    print("".join(f"    {line}\n" for line in last), end="", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Run a program under hew while system calls are refused by chance.")
    parser.add_argument("--seed", type=int, default=1, help="of the first run; each further one has the next")
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=0, help="instead of a number of runs")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--library", type=Path, action="append", help="may be given more than once")
    parser.add_argument("--programs", type=Path, default=ROOT / "build/release/tests/refused")
    options = parser.parse_args(arguments)
    options.library = [file.resolve() for file in options.library or [ROOT / "build/release/libhew.so"]]
    for file in (*options.library, options.programs / "refuse"):
        if not file.is_file():
            parser.error(f"{file} is not there: make release dev")
    counts = {"runs": 0, "bad": 0, "not started": 0, "skipped": 0}
    for end in run_all(plans_for(options, settings_of(ROOT / "src/base")), options.programs, options.jobs):
        counts["runs"] += 1
        counts["bad"] += end.bad
        counts["skipped"] += end.status == SKIPPED
        counts["not started"] += NOT_STARTED in end.said
        if end.bad:
            say_bad(end, options.programs)
    print(f"refused: {counts['bad']} of {counts['runs']} runs ended badly; {counts['not started']} could not start")
    if counts["skipped"]:
        print("refused: SKIP: no seccomp notification here")
    return 1 if counts["bad"] else SKIPPED if counts["skipped"] else 0


if __name__ == "__main__":
    sys.exit(main())
