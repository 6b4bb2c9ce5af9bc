#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Hold the layers of src/ apart.

Four rules, as in src/LAYERS and the style guide:

- a file includes only its own layer and those that src/LAYERS lists before it; in a layer with rooms (lines set in
  under it) only its own room, those before it, and the files beside the rooms;
- no file includes a .c file;
- a header begins with a guard that is named after its path, HEW_OS_MUTEX_H;
- conditionals of the preprocessor stand only in os/, api/override_*, base/compiler.h, cache/slot.h (pop and push
  of a processor), in header guards and in
  defaults of build-time constants (#ifndef NAME, #define NAME ..., #endif).

Prints one line per breach and exits 1 when there is any.
"""

import argparse
import re
import sys
from pathlib import Path

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
CONDITIONAL = re.compile(r"^\s*#\s*(if|ifdef|ifndef|elif|else|endif)\b\s*(\w*)")
DEFINE = re.compile(r"^\s*#\s*define\s+(\w+)")
SOURCES = {".c", ".h", ".def", ".cc", ".cpp"}


def read_layers(path: Path) -> dict[str, list[str]]:
    """The layers from bottom to top, each with its rooms from bottom to top."""
    layers: dict[str, list[str]] = {}
    for line in (line.split("#")[0].rstrip() for line in path.read_text().splitlines()):
        if line.startswith(" "):
            layers[next(reversed(layers))].append(line.strip())
        elif line:
            layers[line] = []
    return layers


def may_have_conditionals(relative: Path) -> bool:
    """Whether a file, named from src/ on, is one of the few that may know the system and the processor."""
    parts = relative.parts
    is_override = parts[0] == "api" and parts[-1].startswith("override_")
    return parts[0] == "os" or is_override or relative.as_posix() in {"base/compiler.h", "cache/slot.h"}


def room_of(path: Path) -> str | None:
    """The room that a file stands in; None beside the rooms."""
    return path.parts[1] if len(path.parts) > 2 else None


def is_above(target: str | None, own: str | None, rooms: list[str]) -> bool:
    """Whether one room of a layer lies above another."""
    order = [None, *rooms]
    return target in order and own in order and order.index(target) > order.index(own)


def include_breaches(relative: Path, lines: list[str], layers: dict[str, list[str]]) -> list[str]:
    """What is wrong with the includes of one file."""
    breaches = []
    layer, order = relative.parts[0], list(layers)
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        target = Path(match[1])
        where = f"src/{relative}:{number}: includes {target}"
        if target.suffix in {".c", ".cc", ".cpp"}:
            breaches.append(f"{where}: no file includes a source file")
        elif len(target.parts) < 2:
            breaches.append(f"{where}: write the layer as well, {relative.parts[0]}/{target}")
        elif target.parts[0] in layers and order.index(target.parts[0]) > order.index(layer):
            breaches.append(f"{where}: {layer} lies below {target.parts[0]} in src/LAYERS")
        elif target.parts[0] == layer and is_above(room_of(target), room_of(relative), layers[layer]):
            breaches.append(f"{where}: {relative.parent} lies below {target.parent} in src/LAYERS")
    return breaches


def conditional_breaches(relative: Path, lines: list[str]) -> list[str]:
    """Conditionals that are neither a header guard nor the default of a constant."""
    breaches = []
    allowed_depth: list[bool] = []
    for number, line in enumerate(lines, 1):
        match = CONDITIONAL.match(line)
        if not match:
            continue
        word, name = match[1], match[2]
        if word in {"if", "ifdef", "ifndef"}:
            following = DEFINE.match(lines[number]) if number < len(lines) else None
            allowed = word == "ifndef" and following is not None and following[1] == name
            allowed_depth.append(allowed)
        elif word == "endif":
            allowed = not allowed_depth or allowed_depth.pop()
            continue
        else:
            allowed = False
        if not allowed:
            breaches.append(
                f"src/{relative}:{number}: #{word}: only os/, api/override_*, base/compiler.h and cache/slot.h may"
            )
    return breaches


def guard_breaches(relative: Path, lines: list[str]) -> list[str]:
    """A header whose guard has the name of another place: it has moved, and two may meet in one name."""
    own = "HEW_" + re.sub(r"[/.]", "_", relative.as_posix()).upper()
    first = next((line.split() for line in lines if line.startswith("#")), [])
    if relative.suffix != ".h" or first == ["#ifndef", own]:
        return []
    return [f"src/{relative}: its guard is to be {own}"]


def check(source: Path) -> list[str]:
    """All breaches under one src/ directory."""
    layers = read_layers(source / "LAYERS")
    breaches = []
    for path in sorted(source.rglob("*")):
        if path.suffix not in SOURCES:
            continue
        relative = path.relative_to(source)
        if relative.parts[0] not in layers:
            breaches.append(f"src/{relative}: {relative.parts[0]} is no layer of src/LAYERS")
            continue
        rooms = layers[relative.parts[0]]
        if rooms and room_of(relative) not in {None, *rooms}:
            breaches.append(f"src/{relative}: {relative.parent} is no room of src/LAYERS")
        lines = path.read_text().splitlines()
        breaches += include_breaches(relative, lines, layers)
        breaches += guard_breaches(relative, lines)
        if not may_have_conditionals(relative):
            breaches += conditional_breaches(relative, lines)
    return breaches


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Check the includes and conditionals of src/ against its layers.")
    parser.add_argument("--source", type=Path, default=Path(__file__).parent.parent / "src", help="the src/ directory")
    source = parser.parse_args(arguments).source
    if not (source / "LAYERS").is_file():
        print(f"check_layers: no file {source / 'LAYERS'}", file=sys.stderr)
        return 2
    breaches = check(source)
    print("\n".join(breaches) if breaches else "check_layers: every include points down")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
