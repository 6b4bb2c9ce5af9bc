# SPDX-License-Identifier: MIT
"""Gives the addresses of a profile their functions, files and lines, file by file.

Names are those of the file's own symbols, or of a file with its debug information; lines and inlined functions are
DWARF's. A file whose build id is not the profile's is not used: wrong names are worse than none.
"""

import os
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path

from hew.model.lazy_dataclass import dataclass
from hew.model.profile import Frame, Location, Profile
from hew.model.profile import Mapping as Mapped
from hew.sources.mapped_files import DELETED
from hew.sources.readable import readable
from hew.sources.symbols.debug_files import DebugFiles
from hew.sources.symbols.elf_file import ElfFile, read_elf_file
from hew.sources.symbols.helpers import Helpers, plain
from hew.sources.symbols.perf_map import PerfMap, perf_map_of

MOST_NOTES = 4
IN_MEMORY = ("/memfd:", "/dev/zero")


@dataclass
class Finder:
    """Where to find symbols. `root` is a prefix for paths of files: a container's root, or a copy from another machine.
    `live` returns whether the process still has a mapping, and the path of its file, if it can be opened."""

    root: Path = Path("/")
    live: Callable[[Mapped], tuple[bool, Path | None]] | None = None
    folders: Sequence[Path] = ()
    lines: bool = True
    written: float | None = None  # when the profile was, as a file's time of modification
    perf_map: PerfMap | None = None
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    helpers: Helpers = field(default_factory=Helpers)
    notes: list[str] = field(default_factory=list)


def symbolise(profile: Profile, finder: Finder) -> Profile:
    """The profile with names for all that has none yet, and notes of what could not be named."""
    mappings = _Mappings(profile.mappings)
    groups: dict[int | None, list[int]] = defaultdict(list)
    placed = [
        replace(one, mapping=mappings.number(one.address)) if one.mapping is None and not one.frames else one
        for one in profile.locations
    ]
    for number, one in enumerate(placed):
        if not one.frames:
            groups[one.mapping].append(number)
    named: dict[int, tuple[Frame, ...]] = {}
    perf_map = finder.perf_map or perf_map_of(profile.pid)
    for mapping, members in _by_file(groups, profile.mappings):
        of_group = [placed[number] for number in members]
        named.update(zip(members, _named(mapping, of_group, profile.mappings, finder, perf_map), strict=True))
    locations = [replace(one, frames=named.get(number, one.frames)) for number, one in enumerate(placed)]
    said = (*finder.notes, *finder.helpers.notes)
    more = (f"{len(said) - MOST_NOTES} more files are without names",) if len(said) > MOST_NOTES + 1 else ()
    notes = (*said[: MOST_NOTES if more else None], *more)
    return replace(profile, locations=_demangled(locations, finder.helpers), notes=(*profile.notes, *notes))


class _Mappings:
    """Which mapping an address lies in."""

    def __init__(self, mappings: Sequence[Mapped]) -> None:
        self._order = sorted(range(len(mappings)), key=lambda number: mappings[number].start)
        self._starts = [mappings[number].start for number in self._order]
        self._mappings = mappings

    def number(self, address: int) -> int | None:
        """Its number, if there is one."""
        place = bisect_right(self._starts, address) - 1
        found = self._order[place] if place >= 0 else None
        return found if found is not None and address < self._mappings[found].end else None


def _by_file(
    groups: Mapping[int | None, list[int]], mappings: Sequence[Mapped]
) -> Iterable[tuple[Mapped | None, list[int]]]:
    """Locations by the file that they lie in, which may be mapped in several pieces."""
    files: dict[tuple[str, str], tuple[Mapped | None, list[int]]] = {}
    for number, members in groups.items():
        mapping = mappings[number] if number is not None else None
        key = (mapping.path, mapping.build_id) if mapping else ("", "")
        files.setdefault(key, (mapping, []))[1].extend(members)
    return files.values()


def _named(
    mapping: Mapped | None, places: Sequence[Location], mappings: Sequence[Mapped], finder: Finder, perf_map: PerfMap
) -> list[tuple[Frame, ...]]:
    is_open, live = finder.live(mapping) if mapping is not None and finder.live is not None else (True, None)
    in_memory = mapping is not None and mapping.path.startswith(IN_MEMORY)
    is_file = mapping is not None and mapping.path.startswith("/") and not (in_memory and not _has_code(mapping, live))
    if mapping is None or not is_file:
        special = mapping.path if mapping and mapping.path.startswith("[") else ""
        names = [perf_map.name_at(one.address) or special for one in places]
        if not all(names):
            finder.notes.append(_why_bare(names.count(""), len(names), mapping))
        return [(Frame(name or f"0x{one.address:x}"),) for name, one in zip(names, places, strict=True)]
    file = _Module(mapping, live, is_open, finder)
    addresses = [file.address(one, mappings) for one in places]
    lined = file.lines(sorted({one for one in addresses if one is not None})) if finder.lines else {}
    found = [file.frames(one, address, lined) for one, address in zip(places, addresses, strict=True)]
    missing = sum(1 for frames in found if frames[0].name.startswith("["))
    if missing:
        finder.notes.append(file.why(missing, len(found)))
    return found


def _has_code(mapping: Mapped, live: Path | None) -> bool:
    """Whether it is a file of code and no mere memory: code that was made at run time lies in such files, too."""
    return bool(mapping.build_id) or (live is not None and read_elf_file(live) is not None)


def _why_bare(missing: int, count: int, mapping: Mapped | None) -> str:
    """The line for people about addresses without a file."""
    which = f"{missing} of {count} places"
    if mapping is None:
        return f"{which} lie in no file that was mapped when the profile was written: it was closed before (dlclose)"
    if mapping.path:
        name = readable(mapping.path.removesuffix(DELETED))
        return f"{which} in {name} have no name: only the running process has that file (hew profile PID)"
    return (
        f"{which} in code made while the program ran have no name: no perf map has them (node --perf-basic-prof, "
        "python -X perf)"
    )


def _why_gone(mapping: Mapped, is_open: bool, finder: Finder) -> str:
    """Why there is no file to read."""
    if not is_open:
        return "it was closed before the profile (dlclose), and its file is gone"
    if mapping.path.endswith(DELETED):
        return "it was deleted; " + (
            "root can still read it" if finder.live else "hew profile PID reads it while it runs"
        )
    return "there is no such program or library here"


class _Module:
    """A mapped file, and the file with its debug information."""

    def __init__(self, mapping: Mapped, live: Path | None, is_open: bool, finder: Finder) -> None:
        plain_path = Path(mapping.path.removesuffix(DELETED))
        self.name = readable(plain_path.name)
        self.refused = ""
        path = live or Path(f"{finder.root}/{plain_path}")
        code = read_elf_file(path)
        if code is None:
            self.refused = _why_gone(mapping, is_open, finder)
        elif mapping.build_id and code.build_id != mapping.build_id:
            code, self.refused = None, "the file here has another build id"
        elif not mapping.build_id and not live and mapping.path.endswith(DELETED):
            code, self.refused = None, "it was replaced while the process ran"
        elif not mapping.build_id and finder.written and path.stat().st_mtime > finder.written:
            finder.notes.append(f"{self.name} is newer than the profile: its names may be wrong")
        self.code = code
        self.build_id = mapping.build_id or (code.build_id if code else "")
        wanted = code is None or code.stripped or not code.has_lines
        folders = DebugFiles(finder.folders, finder.environment)
        folder = path.parent if live is None else plain_path.parent
        self.debug = folders.find(self.build_id, code, folder) if wanted else None
        self.helpers = finder.helpers

    def address(self, place: Location, mappings: Sequence[Mapped]) -> int | None:
        """Where the file itself counts the place."""
        if place.mapping is None:
            return None
        mapping = mappings[place.mapping]
        inside = place.address - mapping.start
        if self.code is not None:
            return self.code.address_of(inside + mapping.offset)
        # The file with debug information alone does not have the offsets of the other; code is one piece in nearly all.
        segment = next((one for one in self.debug.segments if one.executable), None) if self.debug else None
        return segment.address - segment.address % 4096 + inside if segment else None

    def lines(self, addresses: Sequence[int]) -> Mapping[int, tuple[Frame, ...]]:
        """What DWARF says of addresses."""
        with_lines = next((one for one in (self.debug, self.code) if one is not None and one.has_lines), None)
        return self.helpers.lines(with_lines.path, addresses) if with_lines and addresses else {}

    def frames(self, place: Location, address: int | None, lined: Mapping[int, tuple[Frame, ...]]) -> tuple[Frame, ...]:
        """The frames of a place, named at least by the file and the address in it."""
        if address is None:
            return (Frame(f"[{self.name} 0x{place.address:x}]"),)
        if lined.get(address):
            return lined[address]
        files: tuple[ElfFile | None, ...] = (self.debug, self.code)
        name = next((found for one in files if one and (found := one.function_at(address))), "")
        return (Frame(plain(name) or f"[{self.name}+0x{address:x}]"),)

    def why(self, missing: int, count: int) -> str:
        """The line for people about what has no name."""
        which = f"{missing} of {count} places in {self.name} have no name"
        of_id = f" (build id {self.build_id})" if self.build_id else ""
        if self.refused and self.debug is None:
            return f"{which}: {self.refused}{of_id}"
        return f"{which}: it is stripped, and no debug file for it is here{of_id}"


def _demangled(locations: Sequence[Location], helpers: Helpers) -> tuple[Location, ...]:
    names = helpers.readable_names([frame.name for one in locations for frame in one.frames])

    def renamed(frame: Frame) -> Frame:
        return replace(frame, name=names[frame.name]) if frame.name in names else frame

    return tuple(replace(one, frames=tuple(map(renamed, one.frames))) for one in locations)
