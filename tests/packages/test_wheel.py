# SPDX-License-Identifier: MIT
"""The Python wheel: a bare Debian installs, uses and removes it; its library serves musl; the one for aarch64 runs."""

import shutil
import sys
import zipfile
from pathlib import Path

import pytest
from bare import Bare
from packaged import PROGRAM, ROOT, need, run_command

pytestmark = pytest.mark.timeout(3600)
PLACE = "/opt/hew"
HEADERS = ROOT / "include/hew"


def built(folder: Path, *options: str) -> Path:
    """The wheel, after auditwheel has looked at it."""
    import build_wheel  # noqa: PLC0415

    assert build_wheel.main(["--output", str(folder), *options]) == 0
    return build_wheel.only_wheel(folder)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("wheel"))


def library(wheel: Path, folder: Path) -> Path:
    """libhew.so out of a wheel, under the name that a program linked to it asks for."""
    with zipfile.ZipFile(wheel) as archive:
        return Path(archive.extract("hew/lib/libhew.so", folder)).rename(folder / "libhew.so.0")


def test_a_bare_debian_installs_uses_and_removes_it(wheel: Path, bare: Bare) -> None:
    before, wheels = bare.files(), bare.root / "tmp/wheels"
    wheels.mkdir(exist_ok=True)
    shutil.copy(wheel, wheels)
    # The bare system has no pip: it comes as a wheel, which Python runs as it is.
    run_command(sys.executable, "-m", "pip", "download", "-q", "-d", wheels, "--only-binary=:all:", "pip", wheel)
    pip = next(wheels.glob("pip-*.whl")).name
    words = ("install", "-q", "--no-index", "--find-links", "/tmp/wheels", "--target", PLACE, "hewmalloc")
    bare.run("python3", f"/tmp/wheels/{pip}/pip", *words)

    under_hew = ("run", "--conf", "stats_print:true", "--", "python3", "-c", "print('ran')")
    said = bare.run(f"{PLACE}/bin/hew", *under_hew, PYTHONPATH=PLACE)
    assert "-ghew" in said
    assert "ran" in said
    shutil.rmtree(bare.root / PLACE[1:])
    assert bare.files() - before == set()


def test_its_library_serves_programs_of_musl(wheel: Path, tmp_path: Path) -> None:
    assert "musllinux" in wheel.name
    need("musl-gcc")
    found = library(wheel, tmp_path)
    run_command("musl-gcc", f"-I{HEADERS}", "-o", tmp_path / "program", PROGRAM, found, f"-Wl,-rpath,{tmp_path}")
    assert run_command(tmp_path / "program").startswith("hew ")


def test_the_wheel_for_aarch64_runs(tmp_path: Path) -> None:
    need("aarch64-linux-gnu-gcc", "aarch64-linux-gnu-g++", "qemu-aarch64")
    found = library(built(tmp_path / "made", "--machine", "aarch64"), tmp_path)
    program = tmp_path / "program"
    run_command("aarch64-linux-gnu-gcc", f"-I{HEADERS}", "-o", program, PROGRAM, found, f"-Wl,-rpath,{tmp_path}")
    said = run_command("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", program)
    assert said.startswith("hew ")
