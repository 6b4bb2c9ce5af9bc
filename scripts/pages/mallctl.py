# SPDX-License-Identifier: MIT
"""docs/mallctl.md, from src/control/mallctl/ctl_names.def, which the C preprocessor puts together."""

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from pages.page import Page

PROGRAM = """\
#define HEW_CTL_ABOUT(what) @about@ what @end@
#include "control/mallctl/ctl_names_macros.h"
#define HEW_CTL(name, type, access, leaf, field) @row@ name @ type @ access @ leaf @end@
@begin@
#include "control/mallctl/ctl_names.def"
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

<!-- Made by scripts/gen_pages.py from src/control/mallctl/ctl_names.def; change that file, then run the script. -->

`mallctl(name, old, old_length, new, new_length)` reads and writes what the table lists, under jemalloc's names and with
its results: 0; `ENOENT` no such name or index; `EINVAL` a wrong length or value; `EPERM` what the name does not allow;
`EFAULT` the object cannot take it; `EAGAIN` no memory. `errno` stays as it was. A read of the wrong length copies what
fits and says how much that was. A call that fails has changed nothing that can be set.

`mallctlnametomib` gives the name's numbers for `mallctlbymib`; they differ between versions. `<i>` and `<j>` are
indices, which stand in a MIB as themselves. mallctl may be called in an extent hook.
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
        kind_of_value, access, leaf = (column.strip() for column in columns[:3])
        names.append(Name(strings(name), kind_of_value, access, leaf, about))
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


def make_page(root: Path) -> str:
    """docs/mallctl.md of a project."""
    return page(read_names(expand(root)))


PAGE = Page("mallctl", "docs/mallctl.md", make_page)
