# SPDX-License-Identifier: MIT
"""The small changes that `mutants.py` makes: each is one line of a C file, written in another way.

Not changed, and counted as left out: checks (HEW_ASSERT, _Static_assert, and the files *valid.c, which only they
call), for the release library has none; and what is no statement: comments, the preprocessor, types, tables.
"""

import re
from dataclasses import dataclass

SKIP = re.compile(r"^\s*(#|/?\*|//)|^\s*static const")
CHECK = re.compile(r"^\s*(HEW_ASSERT|_Static_assert)\b")
CHECKS_ONLY = re.compile(r"valid\.c$")
COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*", "%": "/", "<<": ">>", ">>": "<<"}
ARITHMETIC |= {"&&": "||", "||": "&&", "&": "|", "|": "&"}
SWAPS = [
    ("comparison", re.compile(r" (<|<=|>|>=|==|!=) "), COMPARISONS),
    ("arithmetic", re.compile(r" (\+|-|\*|/|%|<<|>>|&&|\|\||&|\|) "), ARITHMETIC),
    ("arithmetic", re.compile(r" (\+=|-=) "), {"+=": "-=", "-=": "+="}),
]
CONDITION = re.compile(r"^(\s*(?:\} else )?if \()(.*)(\) \{)$")
STATEMENT = re.compile(r"^\s+[A-Za-z_*(][^{}]*;$")
NUMBER = re.compile(r"(?<![\w.])(\d+)(?![\w.])")
KEPT = re.compile(
    r"^\s*(return|break|continue|goto|struct|enum|const|static|unsigned|size_t|bool|u?int\w*_t|void|char|for)\b"
)


@dataclass(frozen=True)
class Mutant:
    """One change of one line, counted from 0."""

    file: str
    line: int
    kind: str
    text: str


def statements(lines: list[str]) -> list[str]:
    """The lines without comments and without what is never changed; their number stays."""
    found = []
    in_check = False
    for line in lines:
        text = line.split("/*", 1)[0].rstrip()
        in_check = in_check or CHECK.match(text) is not None
        found.append("" if in_check or SKIP.search(text) or not line.startswith(" ") else text)
        in_check = in_check and not text.endswith(";")
    return found


def checks_in(file: str, lines: list[str]) -> int:
    """How many lines are left out because they are checks."""
    if CHECKS_ONLY.search(file):
        return len(lines)
    return sum(1 for line in lines if CHECK.match(line))


def changes_of(line: str) -> list[tuple[str, str]]:
    """Kind and text of each change of a line, but for leaving it out."""
    found = []
    for kind, pattern, swap in SWAPS:
        for match in pattern.finditer(line):
            found.append((kind, line[: match.start(1)] + swap[match[1]] + line[match.end(1) :]))
    for match in NUMBER.finditer(line):
        for value in (int(match[1]) + 1, int(match[1]) - 1):
            if value >= 0:
                found.append(("constant", line[: match.start()] + str(value) + line[match.end() :]))
    condition = CONDITION.match(line)
    if condition:
        found.append(("condition", f"{condition[1]}!({condition[2]}){condition[3]}"))
    return found


def mutants_of(file: str, lines: list[str]) -> list[Mutant]:
    """Every change that we know for the lines of a file."""
    if CHECKS_ONLY.search(file):
        return []
    found = []
    whole = statements(lines)
    for number, line in enumerate(whole):
        found += [Mutant(file, number, kind, text) for kind, text in changes_of(line)]
        before = lines[number - 1].split("/*", 1)[0].strip() if number > 0 else ""
        if STATEMENT.match(line) and not KEPT.match(line) and before.endswith((";", "{", "}")):
            found.append(Mutant(file, number, "statement", ";"))
    return found


def changed(lines: list[str], mutant: Mutant) -> str:
    """The file with the change."""
    return "\n".join([*lines[: mutant.line], mutant.text, *lines[mutant.line + 1 :]]) + "\n"
