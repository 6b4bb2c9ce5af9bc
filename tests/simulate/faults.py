#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plant faults in the library, one at a time, and see that the simulator finds each.

    python3 tests/simulate/faults.py [--build build/release] [--seconds 120] [NAME ...]

Each fault is a piece of one source file and what takes its place.  Only that file is compiled anew, with the command of the
build; nothing in the tree is changed.  The table goes to docs/simulator.md by hand.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Fault:
    """What is broken, and how."""

    name: str
    file: str
    old: str
    new: str


FAULTS = [
    Fault("bin_give_without_lock", "src/slab/bin.c", "hew_mutex_lock(&bin->lock);", "(void)bin;"),
    Fault("purger_sleeps_without_looking_at_stop", "src/control/purger.c", "quiet && atomic_load(&stop) == 0 &&", "quiet &&"),
    Fault("shelf_put_without_mark", "src/page/shelf.c", "return atomic_compare_exchange_strong(&rank->held, &none, 1);",
          "return rank->held == none || none == 0;"),
    Fault("shelf_let_go_without_order", "src/page/shelf.c", "atomic_store_explicit(&rank->held, 0, memory_order_release);",
          "atomic_store_explicit(&rank->held, 0, memory_order_relaxed);"),
    Fault("shelf_lets_go_before_it_is_closed", "src/page/shelf.c",
          "HEW_UNLIKELY(own == NULL) || HEW_UNLIKELY(!atomic_load(&shelf->open))", "HEW_UNLIKELY(own == NULL)"),
    Fault("mutex_unlock_forgets_sleepers", "src/os/mutex.c", "hew_futex_wake(&mutex->state, 1);", "(void)mutex;"),
    Fault("meta_take_without_lock", "src/meta/piece.c", "hew_mutex_lock(&hew_meta_lock);", "hew_meta_lock.state = 1;"),
    Fault("purge_refusal_is_lost", "src/os/memory.c", "return advise(address, size, MADV_DONTNEED);",
          "advise(address, size, MADV_DONTNEED);\n    return true;"),
    Fault("move_refusal_is_lost", "src/os/memory.c", "if (result == (long)to) {", "if (result != -1) {"),
    Fault("resized_large_objects_do_not_count", "src/slab/large.c", "large_bytes, more, memory_order_relaxed", "large_bytes, 0, memory_order_relaxed"),
    Fault("pool_bitmap_without_compare", "src/pool/block.c",
          "atomic_fetch_and_explicit(&block->words[word], ~pick, memory_order_acq_rel)",
          "(atomic_store_explicit(&block->words[word], seen & ~pick, memory_order_release), seen)"),
    Fault("shelf_keeps_the_mark_of_zeros", "src/alloc/realloc.c", "    to->zeroed = false;", "    (void)0;"),
    Fault("fork_forgets_a_lock", "src/api/fork.c", "        act(&arena->pages.heap->lock);\n", ""),
    Fault("calloc_believes_dirty_pages", "src/alloc/request.c", "bool zeroed = extent->zeroed;", "bool zeroed = true;"),
]


def compile_with(fault: Fault, build: Path, work: Path) -> Path:
    """A simulator whose library has the fault."""
    text = (ROOT / fault.file).read_text()
    if fault.old not in text:
        raise SystemExit(f"{fault.name}: {fault.file} does not hold the text any more")
    source = work / f"{fault.name}.c"
    source.write_text(text.replace(fault.old, fault.new, 1) if "bin_give" not in fault.name else text.replace(fault.old, fault.new))
    commands = json.loads((build / "compile_commands.json").read_text())
    (entry,) = [c for c in commands if c["file"].endswith(fault.file) and "hew_tested_objects" in c["command"]]
    words = shlex.split(entry["command"])
    replaced = words[words.index("-o") + 1]
    words[words.index("-o") + 1] = str(work / f"{fault.name}.one.o")
    words[words.index("-c") + 1] = str(source)
    subprocess.run(words, check=True, cwd=entry["directory"])
    folder = build / "tests/simulate"
    others = [o for o in folder.glob("CMakeFiles/hew_tested_objects.dir/**/*.o") if not str(o).endswith(replaced)]
    library = work / f"{fault.name}.o"
    subprocess.run(["ld", "-r", "-o", library, work / f"{fault.name}.one.o", *others], check=True)
    subprocess.run(["objcopy", f"--redefine-syms={folder / 'hew_tested.o.renamed'}", library], check=True)
    program = work / fault.name
    own = sorted(folder.glob("CMakeFiles/simulate.dir/*.o"))
    subprocess.run(["cc", "-no-pie", "-o", program, *own, library, "-lpthread"], check=True)
    return program


# What a library without a planted fault is known to do: docs/simulator.md.
KNOWN: list[str] = []


def look_for(program: Path, end: float, also: list[str]) -> str | None:
    """The first finding that is not known."""
    seed = 1
    while (left := int(end - time.monotonic())) > 0:
        words = [program, "--no-shrink", "--seconds", str(left), "--seed", str(seed), *also]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return None
        first = done.stdout.splitlines()[0]
        if not any(known in first for known in KNOWN):
            return first
        seed = int(first.split()[1].rstrip(",")) + 1
    return None


def main() -> int:
    """Try all of them, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--build", type=Path, default=ROOT / "build/release")
    parser.add_argument("--also", default="", help="further arguments of the simulator, in one word")
    parser.add_argument("--seconds", type=int, default=120)
    arguments = parser.parse_args()
    work = arguments.build / "tests/simulate/faults"
    work.mkdir(exist_ok=True)
    missed = 0
    for fault in FAULTS:
        if arguments.names and fault.name not in arguments.names:
            continue
        program = compile_with(fault, arguments.build.resolve(), work)
        begin = time.monotonic()
        first = look_for(program, begin + arguments.seconds, arguments.also.split())
        missed += first is None
        print(f"| {fault.name} | {time.monotonic() - begin:.0f} s | {(first or 'NOT FOUND')[:150]} |", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
