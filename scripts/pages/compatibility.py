# SPDX-License-Identifier: MIT
"""docs/compatibility.md: every function, setting and mallctl name of jemalloc, with its state in hew.

Made from the tables that the code is made from: src/api/names.def, src/base/options.def and, through the C
preprocessor because it includes other tables, src/control/mallctl/ctl_names.def.  A name whose leaf is called
hew_ctl_absent answers ENOENT for good, one whose leaf is called ..._absent until it is there.
"""

import re
from pathlib import Path

from pages import mallctl
from pages.mallctl import ABSENT, TYPES, Name
from pages.options import CONSTANT, Option, read_choices, read_options
from pages.page import Page

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
ACCESS = {"READ": "r", "WRITE": "w", "BOTH": "rw", "NONE": "action"}
NOTES = {
    "hpa_shard": "always 0: hew has one page allocator",
    "hpa_sec": "always 0: hew has one page allocator",
    "gdump": "coarser: see the table of differences",
    "arenas_create_ext": "hooks give no memory for hew's own data",
    "safety_check_abort": "see the table of differences",
}
INTRODUCTION = """\
# What of jemalloc works here

<!-- Made by scripts/gen_pages.py from src/api/names.def, src/base/options.def and
src/control/mallctl/ctl_names.def; change those files, then run the script. -->

The version to match is jemalloc 5.3.1. A program compiled for jemalloc runs with hew in its place without a rebuild:
preloaded, linked, or installed as `libjemalloc.so.2` (`-DHEW_AS_JEMALLOC=ON`); with `-DHEW_PREFIX=je_` hew stands
beside another malloc, and with `-DHEW_LG_QUANTUM=3` as well it is what Redis and Valkey are built with.

## Where hew differs, or versions of jemalloc do

- Sizes above 14 KiB are rounded up to whole pages, as in 5.3.1; `nallocx`, `sallocx` and `malloc_usable_size` agree.
- The small size classes are eight a doubling from 128 bytes on, 63 in all: between two of jemalloc's there is one
  more, which is used from when the larger of the two has eight slabs, and one for each thread. So `nallocx` of a size
  may fall while a program runs, never rise, and `malloc_usable_size` tells older objects of the size from later ones.
- `xallocx` never makes a small object of a large one, nor changes a small one.
- A flag that names an arena or a cache that does not exist makes `mallocx` and `rallocx` return NULL; in jemalloc the
  process breaks. `dallocx` into such a cache frees the object straight to its owner.
- A wrong pointer, size or alignment given to a function that frees ends the process with a message, in every build. A
  hook of `experimental.hooks.safety_check_abort` hears the message; if it returns, the call does nothing.
- A MIB is made of the places of a name's parts in the tree; these numbers differ between versions of either library.
- The version that `mallctl("version")` and `JEMALLOC_VERSION` tell is 5.3.1's; `hew_version()` tells hew's.
- With a prefix the names of the settings have it too: `JE_MALLOC_CONF`, `JE_HEW_CONF`, `/etc/je_malloc.conf`,
  `je_malloc_conf`.
- `je_get_defrag_hint()`, which Redis adds to its own jemalloc, is always there.

## For those who run jemalloc's own tests

These differences are there on purpose. A test that fails for one of them can be ticked off.

| what a test looks at | in hew | why |
|---|---|---|
| `arenas.nbins`, sizes of bins, `nallocx` | 63 bins, eight a doubling | less internal fragmentation |
| `arenas.bin.<i>.slab_size`, `nregs` | slabs from 16 KiB | a slab begins at a granule of the address map |
| `bin_shards`, `arenas.bin.<i>.nshards` | accepted, 1 | caches flush to a bin in batches |
| `experimental.hooks.install`, `remove`, `thread_event` | ENOENT | the fast path has no place for them |
| `metadata_use_hooks` of `experimental.arenas_create_ext` | read and ignored: as if false | hew's own data lies between guards, in its own mapping |
| `prof_gdump` | new peaks of mapped memory, seen when an allocation is sampled | the page heap knows nothing of profiles |
| `stats.arenas.<i>.pdirty` after the last object of a bin was freed | 0: the bin keeps one empty slab, which is active | the next object of the size needs no pages |
| a hook of `safety_check_abort` that returns | the process ends all the same for a double free that is found in a cache of large objects or of a pool set, and for `realloc` of a freed object | the object is listed twice already |
| the text of messages | `<hew>: function(address): what: detail` | it names the call |
| HPA, its shards, SEC | settings are accepted, counts are 0 | one page heap |

With `prof_gdump:true` and the default `lg_prof_sample:19`, eight objects of 16 KiB beyond the peak give no profile;
jemalloc writes 21.
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
        return f"answers; the setting: {option.state}"
    notes = [note for part, note in NOTES.items() if part in row.name]
    return f"works; {notes[0]}" if notes else "works"


def access_of(row: Name) -> str:
    """What may be done with it."""
    access, _, needs = row.access.partition("_")
    return ACCESS[access] + (" with `prof:true`" if needs else "")


def function_lines(names: list[tuple[str, str, str]]) -> list[str]:
    """The functions and variables, group by group."""
    lines = ["## Functions and variables\n"]
    for group, title in GROUPS.items():
        lines.append(f"### {title}\n\n| name | remark |\n|---|---|")
        lines += [f"| `{name}` | {remark} |" for name, of, remark in names if of == group]
        lines.append("")
    return lines


def option_lines(options: list[Option], old: list[tuple[str, str]]) -> list[str]:
    """The settings; docs/options.md has what they do."""
    lines = ["## Settings\n\nWhat they do and take: `docs/options.md`.\n\n| setting | state | remark |\n|---|---|---|"]
    lines += [f"| `{option.name}` | {option.state} | {option.remark} |" for option in options]
    lines += [f"| `{name}` | an old name, accepted with a warning | {became} |" for name, became in old]
    return [*lines, ""]


def control_lines(rows: list[Name], options: list[Option]) -> list[str]:
    """The names of mallctl, subtree by subtree."""
    by_name = {option.name: option for option in options}
    states = [state_of(row, by_name) for row in rows]
    works = sum("ENOENT" not in state for state in states)
    where = "What they are: `docs/mallctl.md`. `<i>` and `<j>` are indices."
    lines = [f"## Names of mallctl\n\n{works} of {len(rows)} answer. {where}\n"]
    subtree = None
    for row, state in zip(rows, states, strict=True):
        part = row.name.split(".")[0] if "." in row.name else "The root"
        if part != subtree:
            lines += [*([""] if subtree is not None else []), f"### {part}\n"]
            lines.append("| name | type | access | state |\n|---|---|---|---|")
            subtree = part
        lines.append(f"| `{row.name}` | {TYPES[row.type]} | {access_of(row)} | {state} |")
    return [*lines, ""]


def page(root: Path) -> str:
    """The whole of docs/compatibility.md."""
    base = root / "src" / "base"
    rows = (base / "options.def").read_text()
    for name, value in CONSTANT.findall((base / "options.h").read_text()):
        rows = rows.replace(name, value)
    options, old = read_options(rows, read_choices((base / "option_choices.def").read_text()))
    lines = [INTRODUCTION]
    lines += function_lines(read_names((root / "src" / "api" / "names.def").read_text()))
    lines += option_lines(options, old)
    controls = [name for name in mallctl.read_names(mallctl.expand(root)) if name.type != "INDEX"]
    lines += control_lines(controls, options)
    return "\n".join(lines).rstrip("\n") + "\n"


PAGE = Page("compatibility", "docs/compatibility.md", page)
