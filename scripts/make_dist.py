#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make what a release consists of: tarballs, wheel, crates, Debian and RPM packages, an SBOM and checksums of all.

    .venv/bin/python scripts/make_dist.py [--output build/dist] [--only tarball,amalgamation,crates,...]

What is packed is the commit that is checked out. The same commit, compilers and registries give the same bytes: times
are those of the commit. Exits with 1 when a part cannot be made.
"""

import argparse
import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import uuid
from collections.abc import Callable
from pathlib import Path

import amalgamate
import build_crates
import build_debs
import build_rpms
import build_wheel

ROOT = Path(__file__).parent.parent
PORTS = ROOT / "packaging/bazel"
NAME = f"hew-{amalgamate.version()}"


class DistError(Exception):
    """Which part could not be made, and why."""


def packed(data: bytes) -> bytes:
    """gzip without a name or a time."""
    return gzip.compress(data, mtime=0)


def tarball(output: Path) -> None:
    """The sources of the commit."""
    words = ["git", "archive", "--format=tar", f"--prefix={NAME}/", "HEAD"]
    done = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise DistError("tarball: this is no checkout of git")
    (output / f"{NAME}.tar.gz").write_bytes(packed(done.stdout))


def amalgamation(output: Path) -> None:
    """hew.c, hew.h, the licence, and what Meson and Bazel need to take the folder as it is."""
    with tempfile.TemporaryDirectory() as folder:
        succeed(amalgamate.main, ["--output", folder])
        for file in (ROOT / "LICENSE", *(ROOT / "packaging/meson").glob("meson*"), *PORTS.glob("*.bazel")):
            shutil.copy(file, folder)
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w", format=tarfile.GNU_FORMAT) as tar:
            for file in sorted(Path(folder).iterdir()):
                row = tarfile.TarInfo(f"{NAME}-amalgamation/{file.name}")
                row.size, row.mtime = file.stat().st_size, build_debs.commit_time()
                tar.addfile(row, io.BytesIO(file.read_bytes()))
    (output / f"{NAME}-amalgamation.tar.gz").write_bytes(packed(archive.getvalue()))


def crates(output: Path) -> None:
    """Both Rust crates, which cargo has built."""
    with tempfile.TemporaryDirectory() as folder:
        succeed(build_crates.main, ["--output", folder])
        copy(Path(folder), "*.crate", output)


def wheel(output: Path) -> None:
    """The Python wheels: this machine's, tried in an environment of its own, and aarch64's if its compiler is here."""
    with tempfile.TemporaryDirectory() as folder:
        succeed(build_wheel.main, ["--output", folder])
        if shutil.which("aarch64-linux-gnu-g++") is not None:
            succeed(build_wheel.main, ["--output", folder, "--machine", "aarch64"])
        else:
            print("make_dist: no wheel for aarch64: aarch64-linux-gnu-g++ is missing (g++-aarch64-linux-gnu)")
        copy(Path(folder), "*.whl", output)


def debs(output: Path) -> None:
    """The Debian packages, which lintian has judged."""
    with tempfile.TemporaryDirectory() as folder:
        succeed(build_debs.main, ["--output", folder])
        copy(Path(folder), "*.deb", output)


def rpms(output: Path) -> None:
    """The RPM packages, which rpmlint has judged where it is."""
    if shutil.which("rpmbuild") is None:
        print("make_dist: no RPM packages: rpmbuild is missing (rpm)")
        return
    with tempfile.TemporaryDirectory() as folder:
        succeed(build_rpms.main, ["--output", folder])
        copy(Path(folder), "*.rpm", output)


def sbom(output: Path) -> None:
    """What is inside, as CycloneDX: the library needs nothing, the tool some Python packages."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    parts = [part(name, "required") for name in project["dependencies"]]
    for extra in ("fleet", "heaptrack", "inspect", "search", "top"):
        parts += [part(name, "optional") for name in project["optional-dependencies"][extra]]
    version = amalgamate.version()
    found = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_DNS, f'hew {version} {build_debs.commit_time()}')}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library", "bom-ref": "hew", "name": "hew", "version": version,
                "licenses": [{"license": {"id": "MIT"}}],
            }
        },
        "components": sorted({one["name"]: one for one in parts}.values(), key=lambda one: one["name"]),
    }  # fmt: skip
    (output / f"{NAME}.cdx.json").write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def part(requirement: str, scope: str) -> dict[str, str]:
    """A Python package of the tool, with the versions that it takes."""
    name, _, version = requirement.partition("~=")
    return {"type": "library", "name": name, "version": f"~={version}", "scope": scope, "purl": f"pkg:pypi/{name}"}


PARTS: dict[str, Callable[[Path], None]] = {
    "tarball": tarball,
    "amalgamation": amalgamation,
    "crates": crates,
    "wheel": wheel,
    "debs": debs,
    "rpms": rpms,
    "sbom": sbom,
}


def succeed(script: Callable[[list[str]], int], arguments: list[str]) -> None:
    """Runs another script, which has said what is wrong when it fails."""
    if script(arguments) != 0:
        raise DistError(f"{script.__module__} failed")


def copy(folder: Path, pattern: str, output: Path) -> None:
    """Takes over what a script has made."""
    for file in folder.glob(pattern):
        shutil.copyfile(file, output / file.name)


def sums(output: Path) -> str:
    """A line for each file, as sha256sum -c reads them."""
    files = [file for file in sorted(output.iterdir()) if file.name != "SHA256SUMS"]
    return "".join(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "dist")
    parser.add_argument("--only", default=",".join(PARTS))
    options = parser.parse_args(arguments)
    output = options.output.absolute()
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    try:
        os.environ["SOURCE_DATE_EPOCH"] = str(build_debs.commit_time())
        for name in options.only.split(","):
            PARTS[name](output)
    except (DistError, build_debs.DebsError) as error:
        print(f"make_dist: {error}", file=sys.stderr)
        return 1
    (output / "SHA256SUMS").write_text(sums(output))
    print(f"make_dist: {output}: {len(list(output.iterdir()))} files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
