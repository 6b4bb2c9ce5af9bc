#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Hold what people read to the rules of plain English: no impersonal actors, the field's words, short sentences.

    python3 scripts/check_prose.py

Reads the Markdown pages, the public headers, and the tool's sources and pages, where help and messages stand. Code in
pages is left out: blocks, and spans between backticks. A sentence of a page has at most 40 words; tables have none. The
library's sources, whose identifiers keep some old words, are read for impersonal actors alone.
"""

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import check_links

ROOT = Path(__file__).parent.parent
MOST_WORDS = 40
ACTOR = "name the actor: the purger, a thread, malloc"
ACTORS = r"whoever|some(?:body|one)|nobody|any(?:body|one)|every(?:body|one)"
WORDS = {
    ACTORS: ACTOR,
    r"gives? back|gave back|given back": "return, free",
    r"mended|mends?": "fixed, corrects",
    r"once more": "again",
    r"borrow(?:ed|s)?|lent|lend(?:s|ing)?": "share, loan",
    r"shelf|shelves": "large-extent cache",
    r"grains?": "granule",
    r"ghosts?": "eviction history",
    r"strangers?": "remote objects",
    r"played (?:fleet|hosts?)": "simulated",
}
RULES = [(re.compile(rf"\b(?:{words})\b", re.IGNORECASE), instead) for words, instead in WORDS.items()]
NO_ACTORS = [one for one in RULES if one[1] == ACTOR]
NAMES_OLD_WORDS = {"docs/glossary.md"}  # it says what the old words mean
SOURCES = ("include/**/*.h", "tool/src/hew/**/*.py", "tool/src/hew/**/*.json", "tool/src/hew/views/**/*.js",
           "tool/src/hew/views/**/*.html")  # fmt: skip
LIBRARY = ("src/**/*.[ch]", "trace/**/*.[ch]", "cmake/*", "CMakeLists.txt", "Makefile", "scripts/nightly.mk")
BLANKED = (check_links.FENCE, check_links.INDENTED, check_links.SPAN)
TABLE = re.compile(r"^\|.*$", re.MULTILINE)
PARAGRAPH = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.)\s)|^#.*$", re.MULTILINE)


def without_code(text: str) -> str:
    """The page with a word in place of each piece of code; lines stay where they are."""
    for pattern in BLANKED:
        text = pattern.sub(lambda found: "code" + "\n" * found[0].count("\n"), text)
    return text


def wrong_words(text: str, rules: Sequence[tuple[re.Pattern[str], str]] = RULES) -> Iterator[str]:
    """A line for each word that has a better one."""
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, instead in rules:
            for found in pattern.findall(line):
                yield f"{number}: {found!r}: {instead}"


def long_sentences(text: str) -> Iterator[str]:
    """A line for each sentence of a page that has too many words."""
    prose = re.sub(r"\]\([^)]*\)", "]", TABLE.sub("\n", text))
    for paragraph in PARAGRAPH.split(prose):
        for sentence in re.split(r"(?<=[.!?:;])[*_]*\s+", paragraph):
            count = len(re.findall(r"\b(?!code\b)\w[\w'’/.-]*", sentence))
            if count > MOST_WORDS:
                yield f"a sentence of {count} words: {' '.join(sentence.split())[:60]}..."


def breaches(root: Path) -> Iterator[str]:
    """Everything that breaks a rule."""
    for page in check_links.pages(root):
        text = without_code(page.read_text(encoding="utf-8"))
        name = page.relative_to(root).as_posix()
        found = [*([] if name in NAMES_OLD_WORDS else wrong_words(text)), *long_sentences(text)]
        yield from (f"{name}:{line}" for line in found)
    for patterns, rules in ((SOURCES, RULES), (LIBRARY, NO_ACTORS)):
        for file in sorted(file for pattern in patterns for file in root.glob(pattern)):
            if "vendor" not in file.parts:
                text = file.read_text(encoding="utf-8")
                yield from (f"{file.relative_to(root)}:{line}" for line in wrong_words(text, rules))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--root", type=Path, default=ROOT)
    root = parser.parse_args(arguments).root
    found = list(breaches(root))
    for line in found:
        print(f"check_prose: {line}")
    print(f"check_prose: {len(check_links.pages(root))} pages, {len(found)} places against the rules")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
