# SPDX-License-Identifier: MIT
"""Which version of an allocator a library is: what its package, its crate or its checkout says."""

import subprocess
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from hew.model.allocator import Allocator
from hew.sources.library import find_checkout

PEERS = "bench/peers/peers.toml"
LIMIT = 20


def versions_of(allocators: Sequence[Allocator], libc: str) -> dict[str, str]:
    """A line for each allocator of which something is known."""
    found = {one.name: libc if one.library is None else _version(one, _crates()) for one in allocators}
    return {name: said for name, said in found.items() if said}


def _version(one: Allocator, crates: Mapping[str, str]) -> str:
    if one.name in crates:
        return crates[one.name]
    checkout = find_checkout()
    library = one.library.resolve() if one.library else None
    if library and checkout and library.is_relative_to(checkout.resolve()):
        return _said("git", "-C", str(checkout), "describe", "--always", "--dirty", "--abbrev=12")
    return _package_version(library) if library else ""


def _package_version(library: Path) -> str:
    """The Debian package of a library; by its name where /lib is a link and dpkg knows the other path of the two."""
    said = _said("dpkg-query", "--search", str(library)) or _said("dpkg-query", "--search", f"*/lib/*/{library.name}")
    package = said.partition(": ")[0]
    if not package or "diversion" in package:
        return ""
    return _said("dpkg-query", "--show", "--showformat=${Package} ${Version}", package)


def _crates() -> dict[str, str]:
    """The rows of the table of peers that are built from crates, or unpacked from wheels."""
    checkout = find_checkout()
    if checkout is None or not (checkout / PEERS).is_file():
        return {}
    rows = tomllib.loads((checkout / PEERS).read_text(encoding="utf-8"))
    return {name: f"{row.get('crate') or row['wheel']} {row['version']}" for name, row in rows.items()}


def _said(*words: str) -> str:
    """The first line that a program writes; nothing when it is not here or fails."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip().partition("\n")[0]
