#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write docs/mallctl.md from src/control/ctl_names.def, which the C preprocessor puts together.

--check writes nothing and exits 1 when the page is not what the table says.
"""

import argparse
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROGRAM = """\
#define HEW_CTL_ABOUT(what) @about@ what @end@
#include "control/ctl_names_macros.h"
#define HEW_CTL(name, type, access, leaf, field) @row@ name @ type @ access @ leaf @end@
@begin@
#include "control/ctl_names.def"
"""
ENTRY = re.compile(r"@(about|row)@(.*?)@end@", re.DOTALL)
STRING = re.compile(r'"((?:\\.|[^"\\])*)"')
TYPES = {
    "VOID": "",
    "BOOL": "bool",
    "UNSIGNED": "unsigned",
    "U32": "uint32_t",
    "U64": "uint64_t",
    "I64": "int64_t",
    "SIZE": "size_t",
    "SSIZE": "ssize_t",
    "TEXT": "const char *",
    "POINTER": "pointer",
    "STRUCT": "struct",
}
ACCESS = {"NONE": "call", "READ": "read", "WRITE": "write", "BOTH": "read, write"}
ABSENT = "hew_ctl_absent"
INTRODUCTION = """\
# mallctl

<!-- Made by scripts/gen_mallctl.py from src/control/ctl_names.def; change that file, then run the script. -->

`mallctl(name, old, old_length, new, new_length)` reads and writes what the table lists, under jemalloc's names and with
its results: 0; `ENOENT` no such name or index; `EINVAL` a wrong length or value; `EPERM` what the name does not allow;
`EFAULT` the object cannot take it; `EAGAIN` no memory. `errno` stays as it was. A read of the wrong length copies what
fits and says how much that was. A call that fails has changed nothing that can be set.

`mallctlnametomib` gives the name's numbers for `mallctlbymib`; they differ between versions. `<i>` and `<j>` are indices,
which stand in a MIB as themselves. mallctl may be called in an extent hook.
"""


@dataclass(frozen=True)
class Name:
    """One row of the table."""

    name: str
    type: str
    access: str
    leaf: str
    about: str


def expand(root: Path) -> str:
    """The table with every macro in it replaced."""
    command = [os.environ.get("CC", "cc"), "-E", "-P", "-x", "c", "-I", str(root / "src"), "-"]
    result = subprocess.run(command, input=PROGRAM, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise ValueError(result.stderr.strip().splitlines()[0])
    return result.stdout.partition("@begin@")[2]


def strings(text: str) -> str:
    """Adjacent string literals as one."""
    return "".join(STRING.findall(text)).replace('\\"', '"')


def read_names(text: str) -> list[Name]:
    names, about = [], ""
    for kind, content in ENTRY.findall(text):
        if kind == "about":
            about = strings(content)
            continue
        name, *columns = content.split("@")
        names.append(Name(strings(name), *(column.strip() for column in columns), about))
        about = ""
    return names


def section_of(name: str) -> str:
    """The subtree that a name is shown in."""
    parts = name.split(".")
    if len(parts) == 1:
        return "Without a subtree"
    if parts[0] == "stats":
        return "stats.arenas.\\<i\\>" if parts[1] == "arenas" else "stats"
    return parts[0]


def row(name: Name) -> str:
    """A line of the table in words."""
    if name.type == "INDEX":
        return f"| `{name.name}` | | index | {name.about} |"
    about = name.about.replace("|", "\\|") + (" (unknown here: `ENOENT`)" if name.leaf == ABSENT else "")
    access, _, needs = name.access.partition("_")
    about += "; with `prof:true`" if needs else ""
    kind = f"`{TYPES[name.type]}`" if TYPES[name.type] else ""
    return f"| `{name.name}` | {kind} | {ACCESS[access]} | {about} |"


def page(names: list[Name]) -> str:
    lines = [INTRODUCTION]
    sections = list(dict.fromkeys(section_of(name.name) for name in names))
    for section in sections:
        lines.append(f"## {section}\n\n| name | type | may be | what it is |\n|---|---|---|---|")
        lines += [row(name) for name in names if section_of(name.name) == section]
        lines.append("")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Write docs/mallctl.md from the table of mallctl's names.")
    parser.add_argument("--root", type=Path, default=ROOT, help="the project's directory")
    parser.add_argument("--check", action="store_true", help="only say whether the page is up to date")
    options = parser.parse_args(arguments)
    target = options.root / "docs" / "mallctl.md"
    try:
        text = page(read_names(expand(options.root)))
        current = target.read_text() if target.is_file() else ""
    except (OSError, ValueError, KeyError) as error:
        print(f"gen_mallctl: {error}", file=sys.stderr)
        return 2
    if options.check:
        if text != current:
            print("gen_mallctl: docs/mallctl.md is not up to date: run scripts/gen_mallctl.py", file=sys.stderr)
        return 1 if text != current else 0
    target.parent.mkdir(exist_ok=True)
    target.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
