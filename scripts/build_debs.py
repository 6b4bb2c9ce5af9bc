#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Build the Debian packages libhew0, libhew-dev and hew-tools, and let lintian judge them.

    python3 scripts/build_debs.py [--output build/debs]

Needs debhelper, cmake and pip, which fetches the Python packages that hew-tools has inside. The list of symbols is made
from tests/golden/exports.txt, the changelog from CHANGELOG.md's newest version. Exits with 1 when a step fails.
"""

import argparse
import os
import shutil
import subprocess
import sys
from email.utils import formatdate
from pathlib import Path

import amalgamate
import check_symbols

ROOT = Path(__file__).parent.parent
PARTS = ("CMakeLists.txt", "CMakePresets.json", "LICENSE", "cmake", "include", "src", "trace", "tool", "packaging")
NEEDS_OF_TOOL = ROOT / "pyproject.toml"
LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.egg-info", "tests", "target")


class DebsError(Exception):
    """What is wrong with the packages."""


def run(*words: str | Path, folder: Path, **changes: str) -> str:
    """What a command says, on both of its outputs."""
    done = subprocess.run(
        words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        env={**os.environ, **changes},
    )  # fmt: skip
    if done.returncode != 0:
        raise DebsError(f"{' '.join(map(str, words))} failed:\n{done.stdout[-6000:]}")
    return done.stdout


def symbols() -> str:
    """debian/libhew0.symbols: every exported name, with the version that had it first."""
    recorded = check_symbols.recorded_symbols((ROOT / "tests/golden/exports.txt").read_text(encoding="utf-8"))
    rows = [f" {name}@Base {since}\n" for name, (kind, since) in sorted(recorded.items()) if kind != "SONAME"]
    return "libhew.so.0 libhew0 #MINVER#\n" + "".join(rows)


def changelog(date: int) -> str:
    """debian/changelog with one entry, as of the commit's time."""
    version = amalgamate.version()
    return (
        f"hew ({version}-1) unstable; urgency=medium\n\n  * Version {version}: CHANGELOG.md says what is new.\n\n"
        f" -- The hew maintainers <hew@example.invalid>  {formatdate(date)}\n"
    )


def commit_time() -> int:
    """Seconds since 1970 of the commit that is built, or of SOURCE_DATE_EPOCH."""
    if "SOURCE_DATE_EPOCH" in os.environ:
        return int(os.environ["SOURCE_DATE_EPOCH"])
    return int(run("git", "log", "-1", "--format=%ct", folder=ROOT))


def leave_programs_out(folder: Path) -> None:
    """Deletes the programs of Python packages, and their lines in RECORD: they name the interpreter that ran pip."""
    shutil.rmtree(folder / "bin", ignore_errors=True)
    for record in folder.glob("*.dist-info/RECORD"):
        lines = record.read_text(encoding="utf-8").splitlines(keepends=True)
        record.write_text("".join(line for line in lines if not line.startswith("../../bin/")), encoding="utf-8")


def lay_out(sources: Path) -> None:
    """The sources with debian/ in them, and what the tool needs in debian/python."""
    shutil.rmtree(sources, ignore_errors=True)
    sources.mkdir(parents=True)
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, sources / part, ignore=LEFT_OUT)
        else:
            shutil.copy(ROOT / part, sources)
    shutil.copytree(ROOT / "packaging/debian", sources / "debian")
    (sources / "debian/libhew0.symbols").write_text(symbols())
    (sources / "debian/changelog").write_text(changelog(commit_time()))
    import tomllib  # noqa: PLC0415

    needs = tomllib.loads(NEEDS_OF_TOOL.read_text())["project"]["dependencies"]
    words = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--only-binary=:all:"]
    run(*words, "--target", sources / "debian/python", *needs, folder=ROOT)
    leave_programs_out(sources / "debian/python")
    known = sources / f"debian/python/hewmalloc-{amalgamate.version()}.dist-info"  # for hew --version
    known.mkdir()
    metadata = f"Metadata-Version: 2.1\nName: hewmalloc\nVersion: {amalgamate.version()}\n"
    (known / "METADATA").write_text(metadata)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "debs")
    output = parser.parse_args(arguments).output.absolute()
    try:
        sources = output / "sources" / f"hew-{amalgamate.version()}"
        lay_out(sources)
        run("dpkg-buildpackage", "--build=binary", "--no-sign", folder=sources)
        made = sorted(sources.parent.glob("*.deb"))
        # The first entry of a changelog closes no bug: there is no request for the package.
        judge = ("lintian", "--fail-on", "error,warning", "--suppress-tags", "initial-upload-closes-no-bugs")
        run(*judge, *made, folder=output)
    except (DebsError, OSError) as error:
        print(f"build_debs: {error}", file=sys.stderr)
        return 1
    for file in made:
        shutil.copy(file, output)
        print(f"build_debs: {output / file.name}, {file.stat().st_size / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
