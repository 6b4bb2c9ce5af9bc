# SPDX-License-Identifier: MIT
"""The RPM packages: built, installed into a folder with a database of its own, used, removed."""

import shutil
from pathlib import Path

import pytest
from packaged import PROGRAM, need, run_command

pytestmark = pytest.mark.timeout(3600)


def test_they_are_installed_used_and_removed(tmp_path: Path) -> None:
    need("rpmbuild", "rpm", "cmake", "cc")
    import build_rpms  # noqa: PLC0415

    assert build_rpms.main(["--output", str(tmp_path / "made")]) == 0
    root = tmp_path / "root"
    rpm = ("rpm", "--root", root, "--dbpath", "/var/lib/rpm", "--nodeps")
    root.mkdir()
    run_command("rpm", "--root", root, "--dbpath", "/var/lib/rpm", "--initdb")
    files = [file for file in (tmp_path / "made").glob("*.rpm") if "debug" not in file.name]
    assert sorted(file.name.split("-0.")[0] for file in files) == ["libhew-devel", "libhew0"]
    run_command(*rpm, "--noscripts", "-i", *files)

    libraries = next((root / "usr").glob("lib*/libhew.so.0")).parent
    words = ("cc", f"-I{root / 'usr/include/hew'}", f"-L{libraries}", f"-Wl,-rpath,{libraries}")
    run_command(*words, "-o", tmp_path / "program", PROGRAM, "-lhew", "-pthread")
    assert run_command(tmp_path / "program").startswith("hew ")
    assert (libraries / "libhew.so.0").is_symlink()
    assert shutil.which("pkg-config") is None or "-lhew" in run_command(
        "pkg-config", "--libs", "hew", PKG_CONFIG_PATH=str(libraries / "pkgconfig"), folder=None
    )

    run_command(*rpm, "--noscripts", "-e", "libhew0", "libhew-devel")
    assert not [path for path in (root / "usr").rglob("*") if "hew" in path.name]
