#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write the library as one file to compile and one header: hew.c and hew.h, for projects that vendor it.

    python3 scripts/amalgamate.py [--output build/amalgamation]
    cc -O2 -c hew.c

The order is that of src/LAYERS. Each header stands where it is first needed. Names that several files define for
themselves get the file's name in front; a file's own macros end with it. The same sources give the same bytes.
What is not there: the interposed dlopen(), prctl(), clone() and vfork() of src/api/shared, and new_nothrow.cpp, which is C++ (hew.c
has these operators without the catch). With -DHEW_NAMES=prefix_ the library stands beside libc's malloc.
"""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "src"
HEADERS = ROOT / "include"
TEMPLATES = ROOT / "packaging/amalgamation"
PUBLIC = ["hew/hew.h", "hew/pool_lookup.h", "hew/pool.h"]
OWN_BYTES = "os/private/bytes.c"
LAST = ["api/archive/pin.c"]  # threads.c is for weak references, which hew.c has none of
# Names that a prefix leaves out, and the files that define them; libc.c is of glibc's alone.
NOT_WITH_PREFIX = {"api/new.c": "!defined(HEW_NAMES)", "api/libc.c": "!defined(HEW_NAMES) && defined(__GLIBC__)",
                   "api/locked.c": "!defined(HEW_NAMES)"}  # fmt: skip
RENAMED = ("STANDARD", "JEMALLOC", "DATA", "REDIS", "LIBC")
# With a prefix these are not there, or stay libc's.
NEVER_RENAMED = re.compile(r"dlopen|prctl|vfork|clone|mlockall|mall(?:oc_(?:trim|info|stats)|opt|info2?)|_.*")
TOKEN = re.compile(
    r"""(?P<skip>/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|(?:->|(?<!\.)\.)\s*[A-Za-z_]\w*)"""
    r"|(?P<name>(?:\b(?:struct|union|enum)\s+)?\b[A-Za-z_]\w*)",
    re.DOTALL,
)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"][^\n]*\n', re.MULTILINE)
GUARD = re.compile(r"^#ifndef (HEW_\w+_H)\n#define \1\n(.*)^#endif[^\n]*\n?\Z", re.MULTILINE | re.DOTALL)
ALIASES = re.compile(r"((?:^HEW_ALIAS\([^\n]*\n)+)", re.MULTILINE)
# What is declared under the pragma and lies elsewhere: not hidden.
WEAK = ("#define HEW_WEAK __attribute__((weak))", '#define HEW_WEAK __attribute__((weak, visibility("default")))')
LIBC_CALL = re.compile(r"^(\w+ \*?libc_\w+\(.*\) __asm__\()", re.MULTILINE)
WEAK_THREADS = re.compile(r"^#pragma weak pthread_\w+\n", re.MULTILINE)
TAG = re.compile(r"^(?:typedef |static )?(?:const )?(?:struct|union|enum) (\w+)\s*\{", re.MULTILINE)
BESIDE_THE_NAME = re.compile(r"(?:_Atomic|\w*attribute__|HEW_ALIGNED|_Alignas)\(+[^()]*\)+|\[[^\]]*\]")
MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)


class AmalgamateError(Exception):
    """What of the sources this script does not understand."""


def read(name: str) -> str:
    """A source or header by the name that an include has, without its licence line."""
    for folder in (SOURCES, HEADERS):
        if (folder / name).is_file():
            return (folder / name).read_text(encoding="utf-8").removeprefix("/* SPDX-License-Identifier: MIT */\n")
    raise AmalgamateError(f"{name}: neither in src nor in include")


def sources() -> list[str]:
    """The C files from the lowest layer to the highest; within one by name; those of a layer before its rooms'."""
    rows = [line for line in (SOURCES / "LAYERS").read_text().splitlines() if line and not line.startswith("#")]
    names, layer = [], ""
    for row in rows:
        layer = layer if row.startswith(" ") else row
        folder = SOURCES / (f"{layer}/{row.strip()}" if row.startswith(" ") else layer)
        names += sorted(str(path.relative_to(SOURCES)) for path in folder.glob("*.c"))
    return [*names, *LAST]


def without_comments(text: str) -> str:
    """The text with blanks where comments and the insides of literals were."""
    text = re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.DOTALL)
    return re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)


def own_names(text: str) -> set[str]:
    """What a C file defines at its outermost level for itself: functions, variables, types; `tag x`: a struct's."""
    text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*\n", "\n", without_comments(text), flags=re.MULTILINE)
    depth, flat = 0, []
    for character in text:  # the insides of braces are no names of the file
        depth -= character == "}"
        if depth == 0:
            flat.append(character)
        depth += character == "{"
    outside = "".join(flat)
    names = {f"tag {word}" for word in TAG.findall(outside)}
    names |= set(re.findall(r"^([a-z_]\w*)\(", outside, re.MULTILINE))
    names |= set(re.findall(r"^typedef\b[^;]*?\b\(?\*?(\w+)\)?(?:\([^;]*\))?;", outside, re.MULTILINE))
    for values in re.findall(r"^(?:static )?enum\s*\w*\s*\{([^}]*)\}", text, re.MULTILINE):
        names |= set(re.findall(r"(\w+)\s*(?:=[^,]*)?(?:,|\Z)", values))
    for line in re.findall(r"^static\b(.*[=;].*)$", outside, re.MULTILINE):
        declared = BESIDE_THE_NAME.sub(" ", re.split("[=;]", line)[0])
        if "(" not in declared:
            names |= set(re.findall(r"(\w+)\s*\Z", declared))
    return {name for name in names if not name.startswith(("_", "hew_", "tag hew_", "HEW_"))}


def renamed(text: str, names: dict[str, str]) -> str:
    """The text with other names; members behind a dot or an arrow, literals and comments stay."""

    def one(match: re.Match[str]) -> str:
        name = match["name"]
        if name is None:
            return match[0]
        kind, _, word = name.rpartition(" ")
        return f"{kind} {names.get(f'tag {word}', word)}" if kind else names.get(name, name)

    return TOKEN.sub(one, text)


class Writer:
    """Puts files one after the other, each header once."""

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self.system: set[str] = set()
        names = "|".join(exported((*RENAMED, "CXX")))
        self.declared = re.compile(rf"^(?=[a-z])(?!static|return)([\w *]+\b(?:{names})\([^;{{]*\);)$", re.MULTILINE)

    def header(self, name: str) -> str:
        """A header at its first use, with what it includes; nothing later. Tables (.def) each time."""
        if name in self.seen:
            return ""
        text = read(name)
        if not name.endswith(".def"):
            self.seen.add(name)
            match = GUARD.search(text)
            if match is not None:
                text = text[: match.start()] + match[2]
        return f"\n/* -- {name} -- */\n{self.included(text)}"

    def included(self, text: str) -> str:
        """The text with headers of ours in place of their includes, and without the system's."""

        def one(match: re.Match[str]) -> str:
            if match[1] == "<":
                self.system.add(match[2])
                return ""
            return "" if match[2] in PUBLIC else self.header(match[2])

        text = re.sub(r"pthread_(create|atfork) != NULL", "true", WEAK_THREADS.sub("", text))
        text = LIBC_CALL.sub(r"HEW_EXPORT \1", text).replace(*WEAK).replace("_ATTR(malloc)", "_ATTR(__malloc__)")
        return INCLUDE.sub(one, self.declared.sub(r"HEW_EXPORT \1", text))

    def source(self, name: str, names: dict[str, str]) -> str:
        """A C file, its own names renamed, its macros ended."""
        text = ALIASES.sub(r"#if !defined(HEW_NAMES)\n\1#endif\n", renamed(read(name), names))
        macros = sorted(set(MACRO.findall(without_comments(text))))
        ends = "".join(f"#undef {macro}\n" for macro in macros)
        body = f"\n/* == {name} == */\n{self.included(text)}{ends}"
        condition = NOT_WITH_PREFIX.get(name)
        return f"#if {condition}\n{body}#endif\n" if condition else body


def collisions(files: list[str]) -> dict[str, dict[str, str]]:
    """For each file its names that another file has as well, with the new ones."""
    own = {name: own_names(read(name)) for name in files}
    count = Counter(name for names in own.values() for name in names)
    table: dict[str, dict[str, str]] = {}
    for file, names in own.items():
        stem = Path(file).stem
        table[file] = {}
        for name in names:
            if count[name] > 1:
                table[file][name] = f"{stem}_{name.removeprefix('tag ')}"
    return table


def exported(groups: tuple[str, ...]) -> Iterator[str]:
    """Names of src/api/names.def of these groups."""
    for name, group in re.findall(r"^HEW_NAME\((\w+), ([A-Z]+),", read("api/names.def"), re.MULTILINE):
        if group in groups:
            yield name


def filled(template: str, **values: str) -> str:
    """A template of packaging/amalgamation with the values in place of @key@."""
    text = (TEMPLATES / template).read_text(encoding="utf-8")
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    return text


def own_bytes(writer: Writer) -> str:
    """libc's functions of memory and text under names of hew's; the assembler takes them wherever libc's are called."""
    text = read(OWN_BYTES)
    names = re.findall(r"^[a-z_]+ (?:\*)?(\w+)\(.*\);$", text, re.MULTILINE)
    text = renamed(text, {name: f"hew_own_{name.lstrip('_')}" for name in names})
    text = re.sub(r"^([a-z_]+ \*?hew_own_\w+\(.*\));$", r"__attribute__((used)) \1;", text, flags=re.MULTILINE)
    text = re.sub(r"^([a-z_]+ \*?)$(?=\nhew_own_)", r"HEW_NO_BUILTIN \1", text, flags=re.MULTILINE)
    lines = "".join(f'\n    ".set {name}, hew_own_{name.lstrip("_")}\\n"' for name in names)
    return filled("bytes.c.in", name=OWN_BYTES, body=writer.included(text), asm=lines)


def version() -> str:
    match = re.search(r"project\(hew VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())
    if match is None:
        raise AmalgamateError("CMakeLists.txt names no version")
    return match[1]


def public_header() -> str:
    """The public C headers as one."""
    parts = ["/* SPDX-License-Identifier: MIT */\n", "#ifndef HEW_AMALGAMATED_H\n#define HEW_AMALGAMATED_H\n"]
    parts += [re.sub(r'^#include "[^\n]*\n', "", read(name), flags=re.MULTILINE) for name in PUBLIC]
    return "".join([*parts, "\n#endif\n"])


def library() -> str:
    """hew.c."""
    files, writer = sources(), Writer()
    jemalloc = writer.header("jemalloc/jemalloc.h")  # its names are seen from outside
    names = collisions(files)
    bodies = [writer.source(name, names[name]) for name in files]
    bodies += [filled("nothrow.c.in"), own_bytes(writer)]
    includes = "".join(f"#include <{name}>\n" for name in sorted(writer.system))
    prefixed = [name for name in exported(RENAMED) if not NEVER_RENAMED.fullmatch(name)]
    defines = "".join(f"#define {name} HEW_NAMES_PASTE(HEW_NAMES, {name.removeprefix('je_')})\n" for name in prefixed)
    head = filled("head.c.in", version=version(), includes=includes, names=defines, jemalloc=jemalloc)
    return re.sub(r"\n{3,}", "\n\n", "".join([head, *bodies, "\n#pragma GCC visibility pop\n"]))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "amalgamation")
    output = parser.parse_args(arguments).output
    try:
        texts = {"hew.c": library(), "hew.h": public_header()}
    except AmalgamateError as error:
        print(f"amalgamate: {error}", file=sys.stderr)
        return 1
    output.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (output / name).write_text(text, encoding="utf-8")
    print(f"amalgamate: {output}/hew.c, {texts['hew.c'].count(chr(10))} lines, and hew.h")
    return 0


if __name__ == "__main__":
    sys.exit(main())
