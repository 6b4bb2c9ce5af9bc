# SPDX-License-Identifier: MIT
"""Where the debug information of a stripped file may lie: by build id, in folders of distributions and of debuginfod's
clients; or by the name that the file says. Nothing is fetched."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from hew.sources.symbols.elf_file import ElfFile, read_elf_file

DEBUG = Path("/usr/lib/debug")
CACHE = "debuginfod_client"


class DebugFiles:
    """The folders, those that the user names first."""

    def __init__(self, named: Sequence[Path], environment: Mapping[str, str]) -> None:
        self._folders = (*named, DEBUG)
        self._caches = (*named, *_caches(environment))

    def find(self, build_id: str, code: ElfFile | None, folder: Path) -> ElfFile | None:
        """The file with the debug information for a build id, which must have that id itself; `folder` is where the
        code lies."""
        for path in self._candidates(build_id, code, folder):
            found = read_elf_file(path) if path.is_file() else None
            if found is not None and (not build_id or found.build_id == build_id):
                return found
        return None

    def _candidates(self, build_id: str, code: ElfFile | None, folder: Path) -> Iterator[Path]:
        if re.fullmatch(r"[0-9a-f]{6,128}", build_id):
            name = Path(".build-id", build_id[:2], f"{build_id[2:]}.debug")
            yield from (one / name for one in self._folders)
            yield from (one / name.relative_to(".build-id") for one in self._folders)
            yield from (one / build_id / "debuginfo" for one in self._caches)
        if code is not None and code.link and code.build_id:  # without an id nothing says that the two belong together
            yield folder / code.link
            yield folder / ".debug" / code.link
            yield from (Path(f"{one}{folder}") / code.link for one in self._folders)


def _caches(environment: Mapping[str, str]) -> Iterator[Path]:
    """Where elfutils' client keeps what it has fetched."""
    if environment.get("DEBUGINFOD_CACHE_PATH"):
        yield Path(environment["DEBUGINFOD_CACHE_PATH"])
        return
    home = environment.get("HOME") or os.path.expanduser("~")  # noqa: PTH111
    yield Path(environment.get("XDG_CACHE_HOME") or Path(home, ".cache")) / CACHE
    yield Path(home, f".{CACHE}_cache")
