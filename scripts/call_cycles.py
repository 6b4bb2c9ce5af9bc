#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Find circles between the modules of one layer.

Layers cannot call upwards (an upward call does not link); inside a layer nothing but this script keeps modules in
an order.  A module is a .c file and the header of its name, or one of the two alone.  Module A needs module B when
the code of A names a function or a variable that B defines: what object files show (the symbols that nm knows to be
global), and what they do not, since it was inlined or is in a macro (inline functions of headers, by the rule that
a function's name begins its line; bodies of macros, which count where the macro is used).  Types, constants and
declarations do not count.  Prints each circle with the names that close it, and exits 1 when one is not in
scripts/call_cycles_allowed.txt, whose lines read LAYER/MODULE LAYER/MODULE ... : REASON.
"""

import argparse
import re
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parent.parent
GLOBAL_TYPES = set("TDBRVWCi")
NOT_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[^\n]*", re.MULTILINE)
MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)((?:\\\n|[^\n])*)", re.MULTILINE)
BODY = re.compile(r"^(\w+)\([^;{]*?\)\n\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
PROTOTYPE = re.compile(r"^\w[\w *]*\b\w+\([^{};=]*\)[\w ()]*;", re.MULTILINE)
EXTERN = re.compile(r"^extern[^;]*;", re.MULTILINE)
TAG = re.compile(r"\b(?:struct|enum|union)\s+\w+")
NAME = re.compile(r"\b[A-Za-z_]\w*\b")
Graph = dict[str, dict[str, set[str]]]


@dataclass
class Module:
    """What a module defines in headers, and the names in its code."""

    inline: set[str] = field(default_factory=set)
    macros: dict[str, set[str]] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)


def module_of(path: str) -> str:
    """layer/module of layer/file.c or layer/file.h."""
    return path.rsplit(".", 1)[0]


def source_of(path: Path) -> str | None:
    """layer/file.c of an object file .../src/layer/file.c.o, or None for objects that are not of src/."""
    parts = path.parts
    if "src" not in parts or not path.name.endswith(".o"):
        return None
    index = len(parts) - 1 - parts[::-1].index("src")
    return "/".join(parts[index + 1 :])[: -len(".o")]


def symbols_of(path: Path) -> set[str]:
    """The functions and variables that an object file defines for others."""
    output = subprocess.run(["nm", "-g", str(path)], check=True, capture_output=True, text=True).stdout
    rows = (line.split()[-2:] for line in output.splitlines())
    return {name for kind, name in rows if kind in GLOBAL_TYPES}


def read_file(path: Path, module: Module) -> None:
    """Adds what a file defines and names.  Of a header only bodies are code: the rest may be defined elsewhere."""
    text = TAG.sub(" ", INCLUDE.sub("", NOT_CODE.sub(" ", path.read_text())))
    for name, body in MACRO.findall(text):
        module.macros[name] = set(NAME.findall(body))
    text = MACRO.sub("", text)
    if path.suffix == ".h":
        for name, body in BODY.findall(text):
            module.inline.add(name)
            module.names |= set(NAME.findall(body))
    else:
        module.names |= set(NAME.findall(EXTERN.sub("", PROTOTYPE.sub("", text))))


def read_modules(source: Path) -> dict[str, Module]:
    """Every module of src/ by layer/module."""
    modules: dict[str, Module] = defaultdict(Module)
    for path in sorted(source.rglob("*")):
        if path.suffix in {".c", ".h", ".cpp"}:
            read_file(path, modules[module_of(str(path.relative_to(source)))])
    return dict(modules)


def spelled_out(names: set[str], macros: dict[str, set[str]]) -> set[str]:
    """The names with those that their macros stand for."""
    found: set[str] = set()
    rest = list(names)
    while rest:
        name = rest.pop()
        if name not in found:
            found.add(name)
            rest += macros.get(name, ())
    return found


def call_graph(objects: dict[str, Path], modules: dict[str, Module]) -> Graph:
    """From each module to the modules of its own layer that it needs, with the names."""
    defined_in: dict[str, str] = {}
    for file, path in objects.items():
        defined_in.update(dict.fromkeys(symbols_of(path), module_of(file)))
    macros: dict[str, set[str]] = {}
    for name, module in modules.items():
        defined_in.update(dict.fromkeys(module.inline, name))
        macros.update(module.macros)
    graph: Graph = {name: defaultdict(set) for name in modules}
    for user, module in modules.items():
        for name in spelled_out(module.names, macros) & defined_in.keys():
            owner = defined_in[name]
            if owner != user and owner.split("/")[0] == user.split("/")[0]:
                graph[user][owner].add(name)
    return graph


def reachable(graph: Graph, start: str) -> set[str]:
    """Every module that can be reached by one step or more."""
    found: set[str] = set()
    rest = list(graph[start])
    while rest:
        module = rest.pop()
        if module not in found:
            found.add(module)
            rest += graph.get(module, ())
    return found


def cycles(graph: Graph) -> list[tuple[str, ...]]:
    """The largest groups of modules that all reach each other, sorted."""
    reach = {module: reachable(graph, module) for module in graph}
    groups = {
        tuple(sorted(other for other in reach[module] if module in reach.get(other, ())))
        for module in graph
        if module in reach[module]
    }
    return sorted(groups)


def read_allowed(path: Path) -> set[tuple[str, ...]]:
    """The circles that are allowed; raises ValueError on a line without a reason."""
    allowed = set()
    for number, line in enumerate(path.read_text().splitlines() if path.is_file() else [], 1):
        if not line.strip() or line.startswith("#"):
            continue
        modules, _, reason = line.partition(":")
        if not reason.strip():
            raise ValueError(f"{path}:{number}: write MODULE MODULE ... : REASON")
        allowed.add(tuple(sorted(modules.split())))
    return allowed


def describe(graph: Graph, cycle: tuple[str, ...]) -> list[str]:
    """The circle and the names that make it."""
    lines = ["circle: " + " ".join(cycle)]
    for user in cycle:
        for owner in sorted(set(graph[user]) & set(cycle)):
            lines.append(f"  {user} needs {owner}: {', '.join(sorted(graph[user][owner]))}")
    return lines


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Find circles between the modules of a layer.")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release", help="a build directory")
    parser.add_argument("--source", type=Path, default=ROOT / "src", help="the src/ directory")
    parser.add_argument("--allowed", type=Path, default=ROOT / "scripts" / "call_cycles_allowed.txt")
    options = parser.parse_args(arguments)
    objects = {}
    for path in options.build.rglob("*.o"):
        source = source_of(path.relative_to(options.build))
        if source is not None and "_objects.dir" in str(path) and (options.source / source).is_file():
            objects[source] = path
    if not objects:
        print(f"call_cycles: no object files of src/ under {options.build}; build first", file=sys.stderr)
        return 2
    try:
        allowed = read_allowed(options.allowed)
        graph = call_graph(objects, read_modules(options.source))
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        print(f"call_cycles: {error}", file=sys.stderr)
        return 2
    found = cycles(graph)
    for cycle in found:
        print("\n".join(describe(graph, cycle)) + ("\n  (allowed)" if cycle in allowed else ""))
    stale = sorted(allowed - set(found))
    for cycle in stale:
        print(f"call_cycles: {' '.join(cycle)} is allowed but is no circle any more")
    print(f"call_cycles: {len(found)} circles between {len(graph)} modules")
    return 1 if stale or set(found) - allowed else 0


if __name__ == "__main__":
    sys.exit(main())
