# SPDX-License-Identifier: MIT
"""A Debian that has next to nothing, in a folder; commands run inside it by chroot, as root."""

import os
import shutil
import subprocess
from pathlib import Path

from packaged import run_command

SUITE = "bookworm"
MIRROR = os.environ.get("HEW_DEBIAN_MIRROR", "")
"""Where debootstrap takes packages from; without it, from its own default."""
KEPT = os.environ.get("HEW_BARE", "")
"""A folder with such a system that is there already, and stays: a run of the tests takes minutes less."""


class Bare:
    """A Debian system in a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def run(self, *words: str, **changes: str) -> str:
        """What a command inside prints; it must end with 0."""
        return run_command("chroot", self.root, *words, folder=None, PATH="/usr/sbin:/usr/bin:/sbin:/bin", **changes)

    def files(self) -> set[str]:
        """Every file's name, less what package managers and programs write as they go."""
        said = self.run("find", "/", "-xdev", "-not", "-path", "/proc/*", "-not", "-path", "/var/*", "-not", "-path",
                        "/tmp/*", "-not", "-path", "/etc/ld.so.cache", "-not", "-name", "*.pyc")  # fmt: skip
        return set(said.splitlines())


def make_bare(root: Path) -> Bare:
    """A new one with Python, or that of HEW_BARE, a folder. /proc is mounted until `leave` is called."""
    if KEPT:
        return Bare(Path(KEPT))
    words = ["debootstrap", "--variant=minbase", "--include=python3", SUITE, str(root)]
    run_command(*words, *([MIRROR] if MIRROR else []))
    subprocess.run(["mount", "-t", "proc", "proc", str(root / "proc")], check=False)
    return Bare(root)


def leave(bare: Bare) -> None:
    """Removes it, unless it is kept."""
    if KEPT:
        return
    subprocess.run(["umount", str(bare.root / "proc")], check=False, stderr=subprocess.DEVNULL)
    shutil.rmtree(bare.root, ignore_errors=True)
