#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compare the interface of libhew.so with that of the last release, by abidiff of the package abigail-tools.

    python3 scripts/compare_abi.py [--base REVISION]

Builds the library of both commits with debug information, and compares what is exported and the types that the public
headers declare. New functions are no difference. Exits with 1 when a program that was built with the base might not
work with this commit's library. Without --base the base is the newest tag vX.Y.Z before this commit; where there is
none, nothing is compared.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
PARTS = ("CMakeLists.txt", "cmake", "include", "src", "trace")
BUILD = ("-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_C_FLAGS=-g", "-DHEW_TESTS=OFF", "-DHEW_BENCH=OFF")


class AbiError(Exception):
    """What kept the comparison from being made."""


def run(*words: str | Path, folder: Path = ROOT) -> str:
    """What a command says, on both of its outputs."""
    done = subprocess.run(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise AbiError(f"{' '.join(map(str, words))} failed:\n{done.stdout[-4000:]}")
    return done.stdout


def last_release() -> str:
    """The newest tag of a version before this commit; nothing: there is none."""
    words = ("git", "describe", "--tags", "--abbrev=0", "--match", "v[0-9]*", "HEAD^")
    done = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return done.stdout.strip()


def build(revision: str, folder: Path) -> Path:
    """The library of a commit; its sources lie in the folder too."""
    folder.mkdir(parents=True)
    archive = folder / "sources.tar"
    run("git", "archive", f"--output={archive}", revision, *PARTS)
    run("tar", "-xf", archive, folder=folder)
    run("cmake", "-S", folder, "-B", folder / "build", *BUILD)
    run("cmake", "--build", folder / "build", "--target", "hew", "--parallel", str(os.cpu_count() or 1))
    return folder / "build/libhew.so.0"


def compare(base: str, folder: Path) -> tuple[bool, str]:
    """Whether programs built with the base work with this commit, and what abidiff says."""
    old, new = build(base, folder / "old"), build("HEAD", folder / "new")
    headers = ("--headers-dir1", folder / "old/include", "--headers-dir2", folder / "new/include")
    words = ("abidiff", "--no-added-syms", "--drop-private-types", *headers, old, new)
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode & 3:
        raise AbiError(f"abidiff failed:\n{done.stdout[-4000:]}")
    return done.returncode == 0, done.stdout


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--base", help="a commit; default: the last release")
    options = parser.parse_args(arguments)
    base = options.base or last_release()
    if not base:
        print("compare_abi: no release before this commit: nothing to compare with")
        return 0
    if shutil.which("abidiff") is None:
        print("compare_abi: abidiff is missing: apt-get install abigail-tools", file=sys.stderr)
        return 1
    try:
        with tempfile.TemporaryDirectory() as folder:
            same, said = compare(base, Path(folder))
    except AbiError as error:
        print(f"compare_abi: {error}", file=sys.stderr)
        return 1
    print(said, end="")
    print(f"compare_abi: {'compatible with' if same else 'DIFFERS from'} {base}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
