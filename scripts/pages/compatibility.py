# SPDX-License-Identifier: MIT
"""docs/compatibility.md: every function of jemalloc, and the settings and mallctl names that differ in hew.

docs/options.md and docs/mallctl.md list those that work.  Made from the tables that the code is made from: src/api/names.def, src/base/options.def and, through the C
preprocessor because it includes other tables, src/control/mallctl/ctl_names.def.  A name whose leaf is called
hew_ctl_absent answers ENOENT for good, one whose leaf is called ..._absent until it is there.
"""

import re
from pathlib import Path

from pages import mallctl
from pages.mallctl import ABSENT, Name
from pages.options import CONSTANT, Option, read_choices, read_options
from pages.page import Page, item

NAME = re.compile(r'^HEW_NAME\((\w+), (\w+), "([^"]*)"\)$', re.MULTILINE)
GROUPS = {
    "STANDARD": "Standard functions",
    "JEMALLOC": "jemalloc's functions",
    "DATA": "Variables that a program may define",
    "REDIS": "For Redis",
    "HEW": "hew's own, `hew/*.h`",
    "LIBC": "glibc's (not with a prefix)",
    "CXX": "C++'s operators (not with a prefix)",
}
NOTES = {
    "hpa_shard": "always 0: hew has one page allocator",
    "hpa_sec": "always 0: hew has one page allocator",
    "gdump": "coarser: see the table of differences",
    "arenas_create_ext": "hooks give no memory for hew's own data",
    "safety_check_abort": "see the table of differences",
}
INTRODUCTION = """\
# Compatibility with jemalloc

<!-- Made by scripts/gen_pages.py from src/api/names.def, src/base/options.def and
src/control/mallctl/ctl_names.def; change those files, then run the script. -->

hew replaces jemalloc 5.3.1. A program compiled for jemalloc needs no rebuild: preload hew, link it,
or install it as `libjemalloc.so.2` (`-DHEW_AS_JEMALLOC=ON`). `-DHEW_PREFIX=je_` gives every name a
prefix, so that hew can stand beside another malloc; with `-DHEW_LG_QUANTUM=3` it is what Redis and
Valkey build with.

- Settings: [options.md](options.md) lists all, also those that are accepted without effect.
- mallctl: [mallctl.md](mallctl.md) lists all names. Those that differ are below.

## Differences

- Sizes above 14 KiB are rounded up to whole pages, as in 5.3.1; to 16 or 64 KiB where the system's
  pages are that large. `nallocx`, `sallocx` and `malloc_usable_size` agree. `arenas.page`, the unit of
  `pactive` and the like, is 4,096 everywhere.
- There are 63 small size classes, eight a doubling from 128 bytes on. Every second one is used once
  its larger neighbour has eight slabs, and one for each thread. So `nallocx` of a size may fall
  while a program runs, and never rises.
- `xallocx` never turns a large object into a small one, and never changes a small one.
- For an arena or cache that does not exist, `mallocx` and `rallocx` return NULL; jemalloc crashes.
  `dallocx` frees the object anyway.
- A wrong pointer, size or alignment in a free ends the process with a message, in every build
  ([misuse.md](misuse.md)). A hook of `experimental.hooks.safety_check_abort` gets the message; if
  it returns, the call does nothing.
- MIB numbers differ between versions, as in jemalloc.
- `mallctl("version")` and `JEMALLOC_VERSION` are 5.3.1's; `hew_version()` is hew's.
- With a prefix, settings have it too: `JE_MALLOC_CONF`, `JE_HEW_CONF`, `/etc/je_malloc.conf`,
  `je_malloc_conf`.
- `je_get_defrag_hint()`, which Redis adds to its jemalloc, is always there.

## jemalloc's own tests

These tests fail in hew, on purpose:

| what a test looks at | in hew | why |
|---|---|---|
| `arenas.nbins`, sizes of bins, `nallocx` | 63 bins, eight a doubling; every other one serves no size until much memory is in use, and may then become smaller | less internal fragmentation |
| `arenas.bin.<i>.slab_size`, `nregs` | slabs from 16 KiB | a slab begins at a granule of the address map |
| `bin_shards`, `arenas.bin.<i>.nshards` | accepted, 1 | caches flush to a bin in batches |
| `dirty_decay_ms`, `muzzy_decay_ms`, `dss`, `retain_grow_limit`, `extent_hooks` of an automatic arena | set for the four arenas that share its pages | idle pages serve each of them (decision 0090) |
| `experimental.hooks.install`, `remove`, `thread_event` | ENOENT | the fast path calls no hook |
| `metadata_use_hooks` of `experimental.arenas_create_ext` | ignored | hew's own data lies between guards |
| `prof_gdump` | checked when an allocation is sampled | the page heap does not know profiles |
| `stats.arenas.<i>.pdirty` after the last object of a bin was freed | 0: the bin keeps one empty slab | the next object needs no pages |
| a hook of `safety_check_abort` that returns | the process ends for a double free found in a cache of large objects or a pool set, and for `realloc` of a freed object | the object is listed twice already |
| the text of messages | `<hew>: function(address): what: detail` | it names the call |
| HPA, its shards, SEC | settings are accepted, counts are 0 | one page heap |

With `prof_gdump:true` and `lg_prof_sample:19`, eight objects of 16 KiB above the peak give no
profile; jemalloc writes 21.
"""


def read_names(text: str) -> list[tuple[str, str, str]]:
    """Name, group and remark of each row of names.def."""
    return [(match[1], match[2], match[3]) for match in NAME.finditer(text)]


def state_of(row: Name, options: dict[str, Option]) -> str:
    """What becomes of a call."""
    if row.leaf == ABSENT:
        return "ENOENT: see mallctl.md"
    if row.leaf.endswith("_absent"):
        return "not yet: ENOENT"
    option = options.get(row.name.removeprefix("opt.")) if row.name.startswith("opt.") else None
    if option is not None and option.state != "works":
        return "the setting is accepted without effect"
    notes = [note for part, note in NOTES.items() if part in row.name]
    return notes[0] if notes else "works"


def function_lines(names: list[tuple[str, str, str]]) -> list[str]:
    """The functions and variables, group by group: first those that need no remark."""
    lines = ["## Functions and variables\n"]
    for group, title in GROUPS.items():
        plain = [f"`{name}`" for name, of, remark in names if of == group and not remark]
        remarked = [(name, remark) for name, of, remark in names if of == group and remark]
        lines.append(f"### {title}\n")
        lines += [item(", ".join(plain))] if plain else []
        lines += [item(f"`{name}`: {f'`{remark}`' if group == 'CXX' else remark}") for name, remark in remarked]
        lines.append("")
    return lines


def control_lines(rows: list[Name], options: list[Option]) -> list[str]:
    """The names of mallctl that do more or less than in jemalloc, by what becomes of them."""
    by_name = {option.name: option for option in options}
    states = [state_of(row, by_name) for row in rows]
    works = sum("ENOENT" not in state for state in states)
    lines = [f"## Names of mallctl\n\n{works} of {len(rows)} answer. These differ:\n"]
    names: dict[str, list[str]] = {}
    for row, state in zip(rows, states, strict=True):
        if state != "works":
            names.setdefault(state, []).append(f"`{row.name}`")
    return [*lines, *(item(f"{state}: {', '.join(those)}") for state, those in names.items()), ""]


def page(root: Path) -> str:
    """The whole of docs/compatibility.md."""
    base = root / "src" / "base"
    rows = (base / "options.def").read_text()
    for name, value in CONSTANT.findall((base / "options.h").read_text()):
        rows = rows.replace(name, value)
    options, _ = read_options(rows, read_choices((base / "option_choices.def").read_text()))
    lines = [INTRODUCTION]
    lines += function_lines(read_names((root / "src" / "api" / "names.def").read_text()))
    controls = [name for name in mallctl.read_names(mallctl.expand(root)) if name.type != "INDEX"]
    lines += control_lines(controls, options)
    return "\n".join(lines).rstrip("\n") + "\n"


PAGE = Page("compatibility", "docs/compatibility.md", page)
