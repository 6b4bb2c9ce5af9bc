# SPDX-License-Identifier: MIT
"""hew inside another project and installed: what is built, what is installed under which names, and how it goes again.

Builds the library once, as a part of another project.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(1800)  # it builds the library
ROOT = Path(__file__).parents[2]
PARTS = ("CMakeLists.txt", "CMakePresets.json", "cmake", "include", "src", "trace", "tests", "bench")
TREE = re.compile(r"^(?:unit|model|fuzz|death|bench|user|preload)_\w+", re.MULTILINE)
CONSUMER = """
cmake_minimum_required(VERSION 3.21)
project(consumer C)
set(HEW_DIRECTORY "" CACHE PATH "hew's sources; empty: find_package")
if(HEW_DIRECTORY)
  add_subdirectory(${HEW_DIRECTORY} hew)
else()
  find_package(hew REQUIRED)
endif()
add_executable(consumer consumer.c)
target_link_libraries(consumer PRIVATE hew::hew)
"""
PROGRAM = """
#include <hew/hew.h>
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    void *object = malloc(100);
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096];
    while (fgets(line, sizeof(line), maps) != NULL)
        fputs(line, stdout);
    fclose(maps);
    free(object);
    return 0;
}
"""


def run(*words: str | Path, **changes: str) -> str:
    """What a command prints."""
    done = subprocess.run(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, env={**os.environ, **changes}
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def targets(build: Path) -> set[str]:
    """Tests and benchmarks that this build would make."""
    known = run("cmake", "--build", build, "--target", "help")
    return set(TREE.findall(re.sub(r"^\.\.\. ", "", known, flags=re.MULTILINE)))


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """hew's sources as a release has them: no checkout."""
    folder = tmp_path_factory.mktemp("sources")
    for part in PARTS:
        place = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
        place(ROOT / part, folder / part)
    return folder


@pytest.fixture(scope="module")
def build(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another project with hew in it, built."""
    project = tmp_path_factory.mktemp("project")
    (project / "CMakeLists.txt").write_text(CONSUMER)
    (project / "consumer.c").write_text(PROGRAM)
    quick = ("-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_C_FLAGS_DEBUG=-O0", "-DCMAKE_CXX_FLAGS_DEBUG=-O0")
    run("cmake", "-S", project, "-B", project / "build", f"-DHEW_DIRECTORY={sources}", *quick)
    run("cmake", "--build", project / "build", "--parallel", "2")
    return project / "build"


def test_a_checkout_has_tests_and_other_sources_have_none(sources: Path) -> None:
    def configured(name: str, *options: str) -> set[str]:
        run("cmake", "-S", sources, "-B", sources / "build" / name, *options)
        return targets(sources / "build" / name)

    assert configured("released") == set()
    assert "bench_crowd" in configured("asked", "-DHEW_BENCH=ON")
    (sources / ".git").touch()
    try:
        assert "bench_crowd" in configured("checkout")
        run("cmake", "--preset", "install", "-S", sources)
        assert targets(sources / "build" / "install") == set()
    finally:
        (sources / ".git").unlink()


def test_another_project_can_hold_hew_and_runs_on_it(build: Path) -> None:
    assert targets(build) == set()
    assert "libhew.so" in run(build / "consumer")


def test_it_is_installed_under_a_versioned_name_found_by_cmake_and_goes_again(
    build: Path, sources: Path, tmp_path: Path
) -> None:
    prefix = tmp_path / "prefix"
    for _ in range(2):  # the second time over what is there
        run("cmake", "--install", build, "--prefix", prefix)
    libraries = next(prefix.glob("lib*"))
    version = re.search(r"project\(hew VERSION ([0-9.]+)", (sources / "CMakeLists.txt").read_text())
    assert version is not None
    real, major = f"libhew.so.{version[1]}", f"libhew.so.{version[1].split('.')[0]}"
    assert (libraries / real).is_file()
    assert not (libraries / real).is_symlink()
    assert {(libraries / name).readlink().name for name in (major, "libhew.so")} == {real}
    assert f"[{major}]" in run("readelf", "-d", libraries / real)

    other = tmp_path / "other"
    other.mkdir()
    (other / "CMakeLists.txt").write_text(CONSUMER)
    (other / "consumer.c").write_text(PROGRAM)
    run("cmake", "-S", other, "-B", other / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", other / "build")
    assert major in run("readelf", "-d", other / "build" / "consumer")
    assert str(libraries / real) in run(other / "build" / "consumer")

    (prefix / "include" / "kept.h").touch()
    manifest = f"-DMANIFEST={build / 'install_manifest.txt'}"
    assert "removed" in run("cmake", manifest, "-P", sources / "cmake" / "uninstall.cmake")
    left = [path for path in prefix.rglob("*") if not path.is_dir() or path.is_symlink()]
    assert left == [prefix / "include" / "kept.h"]
