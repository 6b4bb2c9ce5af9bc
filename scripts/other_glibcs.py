#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Brings Debian's libc6 of other releases into build/glibcs/VERSION, for tool/tests/test_glibc_heap.py.

Needs apt-get and dpkg with Debian's keys; takes lists and package into folders of its own, and installs nothing.
"""

import shutil
import subprocess
import sys
from pathlib import Path

RELEASES = {"2.31": "bullseye", "2.41": "trixie", "2.43": "forky"}
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
TARGET = Path(__file__).parents[1] / "build" / "glibcs"


def archive() -> str:
    """Where this machine has its packages from."""
    words = ["apt-get", "indextargets", "--format", "$(CODENAME) $(REPO_URI)", "Created-By: Packages", "Origin: Debian"]
    told = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    rows = (row.split() for row in told.splitlines())
    return next(uri for codename, uri in rows if "-" not in codename)  # neither updates nor security


def bring(version: str, release: str) -> None:
    """One of them."""
    work, target = TARGET / f"{version}.work", TARGET / version
    for folder in ("lists/partial", "cache/archives/partial"):
        (work / folder).mkdir(parents=True, exist_ok=True)
    sources = work / "sources.list"
    sources.write_text(f"deb [signed-by={KEYS}] {archive()} {release} main\n")
    places = {
        "Dir::Etc::sourcelist": sources,
        "Dir::Etc::sourceparts": "-",
        "Dir::State::lists": work / "lists",
        "Dir::Cache": work / "cache",
        "Dir::State::status": "/dev/null",
        "APT::Architecture": "amd64",
    }
    options = [word for name, value in places.items() for word in ("-o", f"{name}={value}")]
    subprocess.run(["apt-get", *options, "-q", "update"], check=True)
    subprocess.run(["apt-get", *options, "-q", "download", "libc6"], check=True, cwd=work)
    [package] = work.glob("libc6_*.deb")
    subprocess.run(["dpkg", "-x", package, target], check=True)
    shutil.rmtree(work)


def main() -> int:
    """All that are not there yet."""
    if shutil.which("apt-get") is None or not Path(KEYS).exists():
        print("other_glibcs: needs a Debian with apt-get and debian-archive-keyring", file=sys.stderr)
        return 1
    for version, release in RELEASES.items():
        if not (TARGET / version).is_dir():
            bring(version, release)
    return 0


if __name__ == "__main__":
    sys.exit(main())
