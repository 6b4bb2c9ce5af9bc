# SPDX-License-Identifier: MIT
"""The traces of one recording: of a command's processes, or all that lie in a folder."""

from pathlib import Path

from hew.model.errors import HewError
from hew.model.lazy_dataclass import dataclass
from hew.sources.trace.blocks import INFO, MAGIC, OPERATIONS, decoded, info, read_blocks, read_header
from hew.sources.trace.recorder import others_of

SHOWN = 5  # processes that an error names


@dataclass(frozen=True)
class Member:
    """One process."""

    path: Path
    pid: int
    program: str
    operations: int

    @property
    def title(self) -> str:
        """For people."""
        return f"{self.program or 'a program'} {self.pid}"


def is_trace(path: Path) -> bool:
    """Whether the file begins as a trace of hew record does."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def family(place: Path) -> list[Member]:
    """A trace with those beside it in its folder for others; or those of a folder, that with most operations first.
    Empty: there is none."""
    if place.is_dir():
        folders = [place, *(one for one in place.iterdir() if one.name.endswith(".others") and one.is_dir())]
        return _by_operations(folders)
    if not is_trace(place):
        return []
    others = others_of(place)
    return [_member(place), *(_by_operations([others]) if others.is_dir() else ())]


def chosen(members: list[Member], wanted: str) -> Member:
    """The process of that number, else the largest one of a program of that name."""
    for one in members:
        if wanted == str(one.pid):
            return one
    for one in sorted(members, key=lambda one: -one.operations):
        if wanted == one.program:
            return one
    names = ", ".join(one.title for one in members[:SHOWN])
    more = f" and {len(members) - SHOWN:,} more" if len(members) > SHOWN else ""
    raise HewError(f"no process {wanted} was recorded: there are {names}{more}")


def _by_operations(folders: list[Path]) -> list[Member]:
    found = [_member(path) for folder in folders for path in sorted(folder.iterdir()) if is_trace(path)]
    return sorted(found, key=lambda one: -one.operations)


def _member(path: Path) -> Member:
    with path.open("rb") as file:
        header = read_header(file, path)
        operations, program = 0, ""
        for block, payload in read_blocks(file, header, unread=(OPERATIONS,)):
            if block.kind == OPERATIONS:
                operations += block.operations
            elif block.kind == INFO and not program:
                program = Path(info(decoded(block, payload)).get("program", "")).name
    return Member(path, header.pid, program, operations)
