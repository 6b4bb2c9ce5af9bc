# SPDX-License-Identifier: MIT
"""Hook every function that libhew.so imports, one at a time and all at once, by a hook that allocates.

hooked_calls.py --list LIBRARY LIBC NM OUTPUT: writes the hooks, from the library's symbol table.  What libc does not have is left out:
defined by a hook it would be there for the library, too.
hooked_calls.py --run PROGRAM LIBRARY HOOKS SETTINGS: runs the program under both; with all at once in either order.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

LEAST = 5  # functions: fewer would be a list that was not read
PATIENCE = 900  # seconds: what takes longer, on a busy machine too, is stuck
AT_ONCE = 4  # runs, which wait for the purger most of the time


def symbols(nm: str, library: str, kinds: str) -> set[str]:
    """Names of a library's dynamic symbols of these kinds, without versions."""
    listed = subprocess.run([nm, "-D", library], check=True, capture_output=True, text=True).stdout
    words = [line.split() for line in listed.splitlines()]
    return {word[-1].split("@")[0] for word in words if word[-2] in kinds}


def write_list(library: str, libc: str, nm: str, output: str) -> None:
    """A line for each hook: HOOK(index, name)."""
    names = sorted(symbols(nm, library, "Uw") & symbols(nm, libc, "TWi"))
    if len(names) < LEAST:
        sys.exit(f"{library} imports {len(names)} functions of {libc}: are these the right files?")
    Path(output).write_text("".join(f"HOOK({index}, {name})\n" for index, name in enumerate(names)))


def fault_of(program: str, preload: str, hooked: str, settings: str) -> str:
    """What is wrong with a run in which `hooked` (a name, or all) allocates; empty: nothing."""
    environment = os.environ | {"LD_PRELOAD": preload, "HOOKED": hooked, "MALLOC_CONF": settings}
    try:
        run = subprocess.run(
            [program], env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        return "hangs"
    passed = run.returncode == 0 and "PASS" in run.stdout
    return "" if passed else f"status {run.returncode}: {run.stdout[-300:]}{run.stderr[-300:]}"


def run_all(program: str, library: str, hooks: str, listed: str, settings: str) -> int:
    """1 when a run ends badly."""
    names = [line.split(", ")[1].rstrip(")\n") for line in Path(listed).read_text().splitlines()]
    faults = 0
    before, behind = f"{hooks}:{library}", f"{library}:{hooks}"
    runs = [*((name, behind) for name in names), ("all", behind), ("all", before)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        ends = [(*one, pool.submit(fault_of, program, one[1], one[0], settings)) for one in runs]
    for hooked, preload, end in ends:
        if end.result():
            faults += 1
            print(f"{hooked}, LD_PRELOAD={preload}: {end.result()}", flush=True)
    print(f"{len(names)} functions hooked, {faults} runs end badly")
    return 1 if faults else 0


if __name__ == "__main__":
    if sys.argv[1] == "--list":
        write_list(*sys.argv[2:])
    else:
        sys.exit(run_all(*sys.argv[2:]))
