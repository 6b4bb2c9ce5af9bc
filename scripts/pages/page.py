# SPDX-License-Identifier: MIT
"""What a page that is made from the tables of the code has: its name, its file, and how its text comes about."""

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

COLUMNS = 100


def item(text: str) -> str:
    """A line of a list, wrapped."""
    return textwrap.fill(f"- {text}", COLUMNS, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def nothing_else(_root: Path) -> list[str]:
    """A page whose tables need no further look."""
    return []


@dataclass(frozen=True)
class Page:
    """`make` gives the whole text from a project's directory, and `breaches` what is wrong with the code beside it."""

    name: str
    file: str
    make: Callable[[Path], str]
    breaches: Callable[[Path], list[str]] = nothing_else
    measured: bool = False  # made by running programs, so that it is neither checked nor made with the others
