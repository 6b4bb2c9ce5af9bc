# SPDX-License-Identifier: MIT
"""The Debian packages: lintian has nothing to say, and a bare Debian takes them, uses them and is rid of them again."""

import platform
import shutil
from pathlib import Path

import pytest
from bare import Bare
from packaged import PROGRAM, need, run_command

pytestmark = pytest.mark.timeout(3600)
PACKAGES = ("libhew0", "libhew-dev", "hew-tools")


@pytest.fixture(scope="module")
def debs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Each package's file. The build fails when lintian has an error or a warning, or when the symbols are others."""
    need("dh", "dpkg-buildpackage", "lintian")
    import build_debs  # noqa: PLC0415

    folder = tmp_path_factory.mktemp("debs")
    assert build_debs.main(["--output", str(folder)]) == 0
    return {name: next(folder.glob(f"{name}_*.deb")) for name in PACKAGES}


def test_a_bare_debian_installs_uses_and_removes_them(debs: dict[str, Path], bare: Bare, tmp_path: Path) -> None:
    before = bare.files()
    for file in debs.values():
        shutil.copy(file, bare.root / "tmp")
    bare.run("dpkg", "-i", *(f"/tmp/{file.name}" for file in debs.values()))

    triplet = f"{platform.machine()}-linux-gnu"
    libraries, headers = bare.root / "usr/lib" / triplet, bare.root / "usr/include/hew"
    words = ("cc", f"-I{headers}", "-o", tmp_path / "shared", PROGRAM, f"-L{libraries}", "-lhew", "-pthread")
    run_command(*words)
    run_command("cc", f"-I{headers}", "-o", tmp_path / "static", PROGRAM, libraries / "libhew.a", "-pthread", "-ldl")
    for name in ("shared", "static"):
        shutil.copy(tmp_path / name, bare.root / "tmp")
        assert bare.run(f"/tmp/{name}").startswith("hew ")
    assert "libhew.so.0" in run_command("readelf", "-d", tmp_path / "shared")

    assert bare.run("hew", "--version").startswith("hew, version")
    said = bare.run("hew", "run", "--conf", "stats_print:true", "--", "python3", "-c", "pass")
    assert "-ghew" in said
    said = bare.run("/usr/bin/env", "LD_PRELOAD=libhew.so.0", "MALLOC_CONF=stats_print:true", "python3", "-c", "pass")
    assert "-ghew" in said
    bare.run("hew", "record", "-o", "/tmp/sort.trace", "--", "sort", "/etc/passwd")
    assert "hew" in bare.run("hew", "replay", "--runs", "1", "--alloc", "hew", "/tmp/sort.trace")

    bare.run("dpkg", "--purge", *PACKAGES)
    assert bare.files() - before == set()


def test_what_is_exported_is_in_the_list_of_symbols(debs: dict[str, Path], tmp_path: Path) -> None:
    run_command("dpkg-deb", "-x", debs["libhew0"], tmp_path)
    run_command("dpkg-deb", "-e", debs["libhew0"], tmp_path / "control")
    listed = {line.split("@")[0].strip() for line in (tmp_path / "control/symbols").read_text().splitlines()[1:]}
    said = run_command("nm", "-D", "--defined-only", next(tmp_path.rglob("libhew.so.0")))
    assert {line.split()[2] for line in said.splitlines()} == listed
