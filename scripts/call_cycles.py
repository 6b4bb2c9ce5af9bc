#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Find call cycles between the files of one layer.

Layers cannot call upwards (an upward call does not link); inside a layer nothing but this script keeps files in an
order.  It reads the object files of a build with nm: file A calls file B when A refers to a function that B defines.
Prints each cycle with the functions that close it, and exits 1 when one is not in scripts/call_cycles_allowed.txt,
whose lines read  LAYER/FILE.c LAYER/FILE.c ... : REASON.
"""

import argparse
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parent.parent
FUNCTION_TYPES = set("TtWwi")
Graph = dict[str, dict[str, set[str]]]


def source_of(path: Path) -> str | None:
    """layer/file.c of an object file .../src/layer/file.c.o, or None for objects that are not of src/."""
    parts = path.parts
    if "src" not in parts or not path.name.endswith(".o"):
        return None
    index = len(parts) - 1 - parts[::-1].index("src")
    return "/".join(parts[index + 1 :])[: -len(".o")]


def symbols_of(path: Path) -> tuple[set[str], set[str]]:
    """The functions that an object file defines for others, and the names that it takes from others."""
    output = subprocess.run(["nm", str(path)], check=True, capture_output=True, text=True).stdout
    defined, wanted = set(), set()
    for line in output.splitlines():
        kind, name = line.split()[-2:]
        if kind in {"U", "w", "v"}:
            wanted.add(name)
        elif kind in FUNCTION_TYPES:
            defined.add(name)
    return defined, wanted


def call_graph(objects: dict[str, Path]) -> Graph:
    """From each file to the files of its own layer that it calls, with the functions called."""
    defined_in: dict[str, str] = {}
    wanted_by: dict[str, set[str]] = {}
    for source, path in objects.items():
        defined, wanted_by[source] = symbols_of(path)
        defined_in.update(dict.fromkeys(defined, source))
    graph: Graph = {source: defaultdict(set) for source in objects}
    for source, wanted in wanted_by.items():
        for name in wanted & defined_in.keys():
            target = defined_in[name]
            if target != source and target.split("/")[0] == source.split("/")[0]:
                graph[source][target].add(name)
    return graph


def reachable(graph: Graph, start: str) -> set[str]:
    """Every file that can be reached by one call or more."""
    found: set[str] = set()
    rest = list(graph[start])
    while rest:
        source = rest.pop()
        if source not in found:
            found.add(source)
            rest += graph[source]
    return found


def cycles(graph: Graph) -> list[tuple[str, ...]]:
    """The largest groups of files that all reach each other, sorted."""
    reach = {source: reachable(graph, source) for source in graph}
    groups = {
        tuple(sorted(other for other in reach[source] if source in reach[other]))
        for source in graph
        if source in reach[source]
    }
    return sorted(groups)


def read_allowed(path: Path) -> set[tuple[str, ...]]:
    """The cycles that are allowed; raises ValueError on a line without a reason."""
    allowed = set()
    for number, line in enumerate(path.read_text().splitlines() if path.is_file() else [], 1):
        if not line.strip() or line.startswith("#"):
            continue
        files, _, reason = line.partition(":")
        if not reason.strip():
            raise ValueError(f"{path}:{number}: write FILE FILE ... : REASON")
        allowed.add(tuple(sorted(files.split())))
    return allowed


def describe(graph: Graph, cycle: tuple[str, ...]) -> list[str]:
    """The cycle and the calls that make it."""
    lines = ["cycle: " + " ".join(cycle)]
    for source in cycle:
        for target in sorted(set(graph[source]) & set(cycle)):
            lines.append(f"  {source} calls {target}: {', '.join(sorted(graph[source][target]))}")
    return lines


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Find call cycles between the files of a layer.")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release", help="a build directory")
    parser.add_argument("--allowed", type=Path, default=ROOT / "scripts" / "call_cycles_allowed.txt")
    options = parser.parse_args(arguments)
    objects = {}
    for path in options.build.rglob("*.o"):
        source = source_of(path.relative_to(options.build))
        if source is not None and "_objects.dir" in str(path):
            objects[source] = path
    if not objects:
        print(f"call_cycles: no object files of src/ under {options.build}; build first", file=sys.stderr)
        return 2
    try:
        allowed = read_allowed(options.allowed)
        graph = call_graph(objects)
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        print(f"call_cycles: {error}", file=sys.stderr)
        return 2
    found = cycles(graph)
    for cycle in found:
        print("\n".join(describe(graph, cycle)) + ("\n  (allowed)" if cycle in allowed else ""))
    stale = sorted(allowed - set(found))
    for cycle in stale:
        print(f"call_cycles: {' '.join(cycle)} is allowed but is no cycle any more")
    print(f"call_cycles: {len(found)} cycles between {len(objects)} files")
    return 1 if stale or set(found) - allowed else 0


if __name__ == "__main__":
    sys.exit(main())
