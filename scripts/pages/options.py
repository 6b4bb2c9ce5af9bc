# SPDX-License-Identifier: MIT
"""docs/options.md, from src/base/options.def and src/base/option_choices.def."""

import re
from dataclasses import dataclass
from pathlib import Path

from pages.page import Page, item

ROW = re.compile(r"^(HEW_OPTION|HEW_LOG2_OPTION|HEW_OLD_OPTION)\((.*?)\)$", re.MULTILINE | re.DOTALL)
SECTION = re.compile(r"^/\* (.+) \*/$", re.MULTILINE)
FIELD = re.compile(r'\s*("(?:\\.|[^"\\])*"|\{[^}]*\}|[^,]+?)\s*(?:,|$)', re.DOTALL)
CHOICES = re.compile(r"^HEW_CHOICES\((\w+)\)\n(.*?)^HEW_CHOICES_END", re.MULTILINE | re.DOTALL)
CONSTANT = re.compile(r"^#define (HEW_OPTION_\w+) (\d+)$", re.MULTILINE)
CHOICE = re.compile(r'HEW_CHOICE\((\w+), "(\w+)"\)')
UNBOUNDED = {"SSIZE_MAX", "INT64_MAX", "UINT64_MAX", "SIZE_MAX", "UINT_MAX"}
WORDS = {"HEW_OPTION_CLASS_MAX": "the largest size class"}
TYPES = {
    "COUNT": "number",
    "PERCENT": "percent",
    "LOG2": "number",
    "FIXED": "decimal",
    "TEXT": "text",
    "LETTERS": "letters",
}
STATES = {"WORKS": "works", "ACCEPTED": "accepted"}
INTRODUCTION = """\
# Settings

<!-- Made by scripts/gen_pages.py from src/base/options.def; change that file, then run the script. -->

hew reads jemalloc's settings: `MALLOC_CONF=name:value,name:value`. It reads these sources, in this
order; a later one wins:

1. the text built into the library, and the program's variable `malloc_conf`
2. the target of the symbolic link `/etc/malloc.conf`
3. the environment's `MALLOC_CONF`
4. the environment's `HEW_CONF`, which only hew reads: use it for hew's own settings in a process
   that also has a jemalloc
5. the program's variable `malloc_conf_2_conf_harder`

In a process with more rights than its user (setuid, setgid, file capabilities) neither variable of
the environment is read, and `control`, `prof` and `conf_file` have no effect, whatever sets them:
the places of their files depend on the user. A bad setting is reported in one line on stderr and
ignored; with `abort_conf:true` the program ends. `confirm_conf:true` prints what was taken.

Numbers are whole and have no unit; `0x10` and `020` are 16. A percentage may have its sign: `10%`.
"""


@dataclass(frozen=True)
class Option:
    """One row of options.def, in words."""

    section: str
    name: str
    values: str
    default: str
    tier: str
    state: str
    what: str
    remark: str


def split_fields(text: str) -> list[str]:
    """The arguments of one macro call, without the quotes of strings."""
    return [field.strip('"') for field in FIELD.findall(text)]


def read_choices(text: str) -> dict[str, dict[str, str]]:
    """For each CHOICE option, its constants and their words."""
    return {match[1]: dict(CHOICE.findall(match[2])) for match in CHOICES.finditer(text)}


def decimal(thousandths: str) -> str:
    """1250 as 1.25."""
    return f"{int(thousandths) / 1000:g}"


def number_values(kind: str, low: str, high: str, rule: str) -> str:
    """The range of a number and what happens outside it."""
    show = decimal if kind == "FIXED" else str
    upper = "or more" if high in UNBOUNDED else f"to {WORDS.get(high) or show(high)}"
    clipped = {"CLIP": ", clipped", "CLIP_HIGH": ", clipped above"}.get(rule, "")
    return f"{TYPES.get(kind, 'number')} {show(low)} {upper}{clipped}"


# What options of these kinds take, whatever their rows say; `most` is in bytes.
TAKEN = {
    "BOOL": "true, false",
    "POOLS": "SIZE-COUNT joined by \\|, each size once, up to {most} bytes",
    "CLASSES": "default, or SIZE joined by \\|, ascending, up to {most} bytes",
    "FILE": "a path without a comma, up to {most} bytes",
}


def values_of(kind: str, low: str, high: str, rule: str, words: list[str]) -> str:
    """What an option takes."""
    if kind in TAKEN:
        return TAKEN[kind].format(most=int(high) - 1 if kind != "BOOL" else 0)
    if kind == "CHOICE":
        return ", ".join(words) + ("" if rule == "EXACT" else " (a beginning will do)")
    if kind == "RANGES":
        return f"default, or LOW-HIGH:NUMBER joined by \\|; {number_values(kind, low, high, rule)}"
    if kind in {"TEXT", "LETTERS"}:
        return f"{TYPES[kind]}, up to {int(high) - 1} bytes"
    return number_values(kind, low, high, rule) + (", or default" if kind == "COUNT" else "")


def default_of(kind: str, initial: str, choices: dict[str, str]) -> str:
    """The default in words."""
    if kind == "CHOICE":
        return choices[initial]
    if kind == "FIXED":
        return decimal(initial.strip("{}"))
    if kind in {"RANGES", "COUNT"} and initial.strip("{}") == "0":
        return "default"
    return initial or "empty"


def read_options(text: str, choices: dict[str, dict[str, str]]) -> tuple[list[Option], list[tuple[str, str]]]:
    """The rows of options.def, and the old names with what became of them."""
    options, old = [], []
    sections = [(match.start(), match[1]) for match in SECTION.finditer(text)]
    for match in ROW.finditer(text):
        macro, fields = match[1], split_fields(match[2])
        if macro == "HEW_OLD_OPTION":
            old.append((fields[0], fields[1]))
            continue
        if macro == "HEW_LOG2_OPTION":
            fields[1:2] = ["LOG2", f"as {fields[1]}"]
        if len(fields) != 10:
            raise ValueError(f"options.def: {fields[0]}: {len(fields)} columns, 10 expected")
        name, kind, initial, low, high, rule, tier, state, what, remark = fields
        if state == "ACCEPTED" and not remark:
            raise ValueError(f"options.def: {name} is ACCEPTED: the remark must say why it has no meaning here")
        section = [title for start, title in sections if start < match.start()][-1]
        words = list(choices.get(name, {}).values())
        values, default = values_of(kind, low, high, rule, words), default_of(kind, initial, choices.get(name, {}))
        options.append(Option(section, name, values, default, tier.lower(), STATES[state], what, remark))
    return options, old


def without_effect(options: list[Option]) -> list[str]:
    """The settings that are accepted without effect, a line for each reason."""
    names: dict[str, list[str]] = {}
    for option in options:
        if option.state != "works":
            names.setdefault(option.remark, []).append(f"`{option.name}`")
    return [item(f"{', '.join(those)}: {reason}") for reason, those in names.items()]


def page(options: list[Option], old: list[tuple[str, str]]) -> str:
    """The whole of docs/options.md."""
    lines = [INTRODUCTION]
    section = None
    for option in options:
        if option.state != "works":
            continue
        if option.section != section:
            lines += [*([] if section is None else [""]), f"## {option.section}\n"]
            lines.append("| setting | what it does | takes | default | use |\n|---|---|---|---|---|")
            section = option.section
        what = option.what + (f" ({option.remark})" if option.remark else "")
        row = [f"`{option.name}`", what, option.values, option.default, option.tier]
        lines.append("| " + " | ".join(row) + " |")
    lines.append("\n## Accepted without effect\n\nThese settings of jemalloc have no meaning in hew.\n")
    lines += without_effect(options)
    lines.append("\n## Old names\n\nNames of earlier jemallocs. They give a warning.\n")
    lines += [f"- `{name}`: {became}" for name, became in old]
    return "\n".join(lines) + "\n"


def make_page(root: Path) -> str:
    """docs/options.md of a project."""
    base = root / "src" / "base"
    choices = read_choices((base / "option_choices.def").read_text())
    rows = (base / "options.def").read_text()
    for name, value in CONSTANT.findall((base / "options.h").read_text()):
        rows = rows.replace(name, value)
    return page(*read_options(rows, choices))


PAGE = Page("options", "docs/options.md", make_page)
