#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Build the Rust crates hewmalloc-sys and hewmalloc as a registry would get them, sources of the library inside.

    python3 scripts/build_crates.py [--output build/crates] [--no-verify]

Writes hewmalloc-sys-VERSION.crate and hewmalloc-VERSION.crate; cargo builds both from these files, unless --no-verify
says otherwise. The folder `workspace` beside them holds what they were made from. Needs cargo and a C compiler.
"""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

import amalgamate

ROOT = Path(__file__).parent.parent
CRATES = ("hewmalloc-sys", "hewmalloc")
WORKSPACE = '[workspace]\nresolver = "2"\nmembers = ["hewmalloc-sys", "hewmalloc"]\n'


class CratesError(Exception):
    """What is wrong with the crates."""


def lay_out(workspace: Path) -> None:
    """A workspace with both crates, the library's source in the first."""
    shutil.rmtree(workspace, ignore_errors=True)
    for crate in CRATES:
        shutil.copytree(ROOT / "packaging/rust" / crate, workspace / crate, ignore=shutil.ignore_patterns("target"))
        shutil.copy(ROOT / "LICENSE", workspace / crate)
        if f'\nversion = "{amalgamate.version()}"\n' not in (workspace / crate / "Cargo.toml").read_text():
            raise CratesError(f"packaging/rust/{crate}/Cargo.toml is not of version {amalgamate.version()}")
    (workspace / "Cargo.toml").write_text(WORKSPACE)
    if amalgamate.main(["--output", str(workspace / "hewmalloc-sys/c")]) != 0:
        raise CratesError("there is no hew.c")


def package(workspace: Path, verify: bool) -> list[Path]:
    """The crates' files, after cargo has built them if it is to."""
    words = ["cargo", "package", "--workspace", "--allow-dirty", *([] if verify else ["--no-verify"])]
    done = subprocess.run(
        words, cwd=workspace, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode != 0:
        raise CratesError(f"{' '.join(words)} failed:\n{done.stdout}")
    made = [workspace / "target/package" / f"{crate}-{amalgamate.version()}.crate" for crate in CRATES]
    missing = [file.name for file in made if not file.is_file()]
    if missing:
        raise CratesError(f"cargo made no {', '.join(missing)}:\n{done.stdout}")
    return made


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "crates")
    parser.add_argument("--no-verify", action="store_true")
    options = parser.parse_args(arguments)
    output = options.output.absolute()
    try:
        lay_out(output / "workspace")
        made = package(output / "workspace", not options.no_verify)
    except (CratesError, OSError) as error:
        print(f"build_crates: {error}", file=sys.stderr)
        return 1
    for file in made:
        shutil.copy(file, output)
        print(f"build_crates: {output / file.name}, {file.stat().st_size / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
