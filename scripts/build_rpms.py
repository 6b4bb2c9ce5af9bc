#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Build the RPM packages libhew0 and libhew-devel from the sources here, and let rpmlint judge them where it is.

    python3 scripts/build_rpms.py [--output build/rpms]

Needs rpmbuild, cmake and compilers; on Debian `rpm` brings the first. The tool is a wheel: pip installs it. Exits with
1 when a step fails or rpmlint finds an error.
"""

import argparse
import re
import shutil
import sys
import tarfile
from pathlib import Path

import amalgamate
import build_debs

ROOT = Path(__file__).parent.parent
PARTS = (*build_debs.PARTS, "CHANGELOG.md")


def pack(archive: Path) -> None:
    """The sources as the spec file wants them."""
    with tarfile.open(archive, "w:gz") as tar:
        for part in PARTS:
            tar.add(ROOT / part, f"hew-{amalgamate.version()}/{part}")


def build(folder: Path) -> list[Path]:
    """The packages' files. What the spec requires is not looked up: on Debian it comes from elsewhere."""
    spec = (ROOT / "packaging/rpm/hew.spec").read_text()
    if not re.search(rf"^Version: +{re.escape(amalgamate.version())}$", spec, re.MULTILINE):
        raise build_debs.DebsError(f"packaging/rpm/hew.spec is not of version {amalgamate.version()}")
    (folder / "SOURCES").mkdir(parents=True)
    pack(folder / "SOURCES" / f"hew-{amalgamate.version()}.tar.gz")
    # Times are those of the commit, and no name of this machine goes in: the same bytes each time.
    macros = {
        "_topdir": str(folder),
        "_buildhost": "localhost",
        "use_source_date_epoch_as_buildtime": "1",
        "clamp_mtime_to_source_date_epoch": "1",
    }
    defined = [word for name, value in macros.items() for word in ("--define", f"{name} {value}")]
    spec_file = ROOT / "packaging/rpm/hew.spec"
    build_debs.run(
        "rpmbuild",
        "-bb",
        "--nodeps",
        *defined,
        spec_file,
        folder=folder,
        SOURCE_DATE_EPOCH=str(build_debs.commit_time()),
    )
    return sorted((folder / "RPMS").rglob("*.rpm"))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "rpms")
    output = parser.parse_args(arguments).output.absolute()
    work = output / "work"
    try:
        shutil.rmtree(work, ignore_errors=True)
        made = build(work)
        if shutil.which("rpmlint") is not None:
            said = build_debs.run("rpmlint", "--config", ROOT / "packaging/rpm/rpmlint.toml", *made, folder=output)
            print(said.strip().splitlines()[-1])
    except (build_debs.DebsError, OSError) as error:
        print(f"build_rpms: {error}", file=sys.stderr)
        return 1
    for file in made:
        shutil.copy(file, output)
        print(f"build_rpms: {output / file.name}, {file.stat().st_size / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
