# SPDX-License-Identifier: MIT
"""What a release consists of: the same bytes twice, checksums that hold, sources that are whole.

The compiled parts take minutes: tests/packages/test_dist.py.
"""

import json
import subprocess
import tarfile
from pathlib import Path

import amalgamate
import make_dist
import pytest

CHEAP = "tarball,amalgamation,sbom"


def made(folder: Path) -> Path:
    assert make_dist.main(["--output", str(folder), "--only", CHEAP]) == 0
    return folder


def test_it_gives_the_same_bytes_twice_with_checksums_that_hold(tmp_path: Path) -> None:
    if not (make_dist.ROOT / ".git").exists():
        pytest.skip("this is no checkout of git")
    first, second = made(tmp_path / "first"), made(tmp_path / "second")
    assert (first / "SHA256SUMS").read_text() == (second / "SHA256SUMS").read_text()
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=first, check=True)
    with tarfile.open(first / f"{make_dist.NAME}.tar.gz") as archive:
        assert f"{make_dist.NAME}/CMakeLists.txt" in archive.getnames()
    with tarfile.open(first / f"{make_dist.NAME}-amalgamation.tar.gz") as archive:
        assert {"LICENSE", "hew.c", "hew.h", "meson.build"} <= {Path(name).name for name in archive.getnames()}


def test_the_list_of_parts_names_what_the_tool_needs(tmp_path: Path) -> None:
    make_dist.sbom(tmp_path)
    found = json.loads(next(tmp_path.glob("*.cdx.json")).read_text())
    required = {one["name"] for one in found["components"] if one["scope"] == "required"}
    assert {"click", "rich", "starlette"} <= required
    assert found["metadata"]["component"]["version"] == amalgamate.version()
