# SPDX-License-Identifier: MIT
"""What the scripts that write pages share: the section of a page that a script makes, and a Markdown table.

A section lies between two marks, which stay; so does what stands outside them, but for the line that says which library
was measured, where there is one (check_figures.py).
"""

import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
MEASURED = re.compile(r"^Measured: hew (?P<version>\S+) at revision `(?P<revision>[^`]+)`", re.MULTILINE)


def version_of(root: Path) -> str:
    """The library's version, of CMakeLists.txt."""
    found = re.search(r"project\(hew VERSION ([0-9.]+)", (root / "CMakeLists.txt").read_text(encoding="utf-8"))
    return found[1] if found else ""


def revision_of(root: Path) -> str:
    """The checkout's, with a mark when files differ from it."""
    words = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def measured_now(page: str) -> str:
    """The page, with this library where it says which one was measured."""
    return MEASURED.sub(f"Measured: hew {version_of(ROOT)} at revision `{revision_of(ROOT)}`", page)


@dataclass(frozen=True)
class Section:
    """The marks of one."""

    begin: str
    end: str

    def text(self, lines: Iterable[str]) -> str:
        """The section with its marks, an empty line inside of each."""
        return f"{self.begin}\n\n" + "\n".join(lines).strip("\n") + f"\n\n{self.end}"

    def put(self, page: str, lines: Iterable[str]) -> str:
        """The page with these lines as the section; ValueError when it has no place for them."""
        before, begin, rest = page.partition(self.begin)
        _, end, after = rest.partition(self.end)
        if not begin or not end:
            raise ValueError(f"no marks {self.begin} and {self.end}")
        return before + self.text(lines) + after

    def write(self, page: Path, lines: Iterable[str]) -> None:
        """The same with a file; ValueError names it."""
        try:
            page.write_text(measured_now(self.put(page.read_text(encoding="utf-8"), lines)), encoding="utf-8")
        except ValueError as error:
            raise ValueError(f"{page}: {error}") from error


def section_of(script: str, what: str) -> Section:
    """The section that a script makes: of `figures` or `tables`."""
    return Section(f"<!-- {what}: made by {script} -->", f"<!-- end of {what} -->")


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """A Markdown table, the first column to the left."""
    cells = [list(head), *(list(row) for row in rows)]
    cells.insert(1, ["---", *["---:"] * (len(cells[0]) - 1)])
    return ["| " + " | ".join(row) + " |" for row in cells]
