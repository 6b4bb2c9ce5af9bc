# SPDX-License-Identifier: MIT
"""The allocators that programs are measured under: glibc's, the library at hand, and every peer that is there."""

from __future__ import annotations

import shutil
from pathlib import Path

from model import Allocator

ROOT = Path(__file__).resolve().parents[2]
BUILT = ROOT / "build/peers"
"""Where `make peers` puts them, named lib<name>-<version>.so."""

INSTALLED = {
    "jemalloc-5.3.0": "libjemalloc.so.2",
    "mimalloc-2.0.9": "libmimalloc.so.2",
    "tcmalloc-2.10": "libtcmalloc_minimal.so.4",
}
"""Debian 12's packages libjemalloc2, libmimalloc2.0 and libtcmalloc-minimal4."""


def installed(name: str) -> Path | None:
    found = sorted(Path("/usr/lib").glob(f"*-linux-gnu/{name}"))
    return found[0].resolve() if found else None


def peers() -> dict[str, Path]:
    """Name -> library, of all that are there."""
    built = {path.stem.removeprefix("lib"): path for path in sorted(BUILT.glob("lib*.so"))}
    found = {name: installed(file) for name, file in INSTALLED.items()}
    return {**{name: path for name, path in found.items() if path is not None}, **built}


def copied(label: str, library: Path, root: Path) -> Allocator:
    """A copy that every user may read, where a rebuild does not change it between two runs."""
    folder = root / "libraries"
    folder.mkdir(exist_ok=True)
    folder.chmod(0o755)
    copy = folder / library.name
    shutil.copyfile(library, copy)
    copy.chmod(0o755)
    return Allocator(label, str(copy))
