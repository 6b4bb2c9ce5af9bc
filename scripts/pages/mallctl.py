# SPDX-License-Identifier: MIT
"""docs/mallctl.md, from src/control/mallctl/ctl_names.def, which the C preprocessor puts together."""

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from pages.page import Page, item

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
# What one lock reports: names behind `...mutexes.LOCK.`, and what they are.
LOCK_FIELDS = {
    "num_ops": "times it was taken",
    "num_wait": "times a thread slept for it",
    "num_spin_acq": "times a thread got it while it spun",
    "num_owner_switch": "times another thread than the last one took it",
    "total_wait_time": "nanoseconds that threads slept for it",
    "max_wait_time": "the longest of these",
    "max_num_thds": "most threads that slept for it at once (`uint32_t`)",
}
SETTING = "the setting `"
SHARD = "stats.arenas.<i>.hpa_shard."  # of jemalloc's second page allocator: all of its names are one row
INTRODUCTION = """\
# mallctl

<!-- Made by scripts/gen_pages.py from src/control/mallctl/ctl_names.def; change that file, then run the script. -->

`mallctl(name, old, old_length, new, new_length)` reads and writes the values below, with jemalloc's
names and results.

| result | meaning |
|---|---|
| 0 | done |
| `ENOENT` | no such name or index |
| `EINVAL` | a wrong length or value |
| `EPERM` | the name does not allow it |
| `EFAULT` | the object cannot take it |
| `EAGAIN` | no memory |

`errno` does not change. A read with a wrong length copies what fits and returns how much that was.
A call that fails changes nothing. mallctl may be called in an extent hook.

`mallctlnametomib` gives the numbers of a name for `mallctlbymib`; they differ between versions.
`<i>` and `<j>` are indices, which stand in a MIB as themselves.
"""
LOCKS = """\
## Locks

`LOCK.*` in the tables stands for these names, `uint64_t` and read only:

| name | what it is |
|---|---|
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


def is_lock_field(name: Name) -> bool:
    return name.name.rpartition(".")[2] in LOCK_FIELDS and name.about.startswith(
        LOCK_FIELDS[name.name.rpartition(".")[2]].partition(" (")[0]
    )


def lock_row(name: Name) -> str:
    """One line for all seven names of a lock."""
    return f"| `{name.name.rpartition('.')[0]}.*` | lock | read | {name.about.partition(': ')[2]} |"


def setting_lines(names: list[Name]) -> list[str]:
    """The names that only read a setting, by type."""
    kinds: dict[str, list[str]] = {}
    for name in names:
        kinds.setdefault(TYPES[name.type], []).append(f"`{name.name.removeprefix('opt.')}`")
    lines = ["`opt.NAME` reads the setting NAME of [options.md](options.md):\n"]
    return lines + [item(f"`{kind}`: {', '.join(those)}") for kind, those in kinds.items()] + [""]


def page(names: list[Name]) -> str:
    lines = [INTRODUCTION]
    sections = list(dict.fromkeys(section_of(name.name) for name in names))
    for section in sections:
        those = [name for name in names if section_of(name.name) == section]
        settings = [name for name in those if name.about.startswith(SETTING)]
        lines.append(f"## {section}\n")
        lines += setting_lines(settings) if settings else []
        lines.append("| name | type | may be | what it is |\n|---|---|---|---|")
        shards = [name for name in those if name.name.startswith(SHARD)]
        for name in those:
            if name in settings or name in shards[1:]:
                continue
            if name in shards:
                lines.append(f"| `{SHARD}*` | | read | {name.about} |")
            elif not is_lock_field(name):
                lines.append(row(name))
            elif name.name.endswith(".num_ops"):
                lines.append(lock_row(name))
        lines.append("")
    if any(is_lock_field(name) for name in names):
        lines.append(LOCKS + "\n".join(f"| `{name}` | {what} |" for name, what in LOCK_FIELDS.items()) + "\n")
    return "\n".join(lines)


def make_page(root: Path) -> str:
    """docs/mallctl.md of a project."""
    return page(read_names(expand(root)))


PAGE = Page("mallctl", "docs/mallctl.md", make_page)
