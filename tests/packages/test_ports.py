# SPDX-License-Identifier: MIT
"""hew as a dependency of C and C++: Conan, Meson, FetchContent, vcpkg, Bazel. Each builds a program and runs it."""

import json
import shutil
import sys
import tarfile
from pathlib import Path

import pytest
from packaged import PROGRAM, ROOT, need, run_command

pytestmark = pytest.mark.timeout(3600)
TOOLS = Path(sys.executable).parent
PACKAGING = ROOT / "packaging"
FETCHED = """
cmake_minimum_required(VERSION 3.21)
project(consumer C)
include(FetchContent)
FetchContent_Declare(hew URL file://ARCHIVE)
FetchContent_MakeAvailable(hew)
find_package(Threads REQUIRED)
foreach(kind hew static)
  add_executable(program_${kind} program.c)
  target_link_libraries(program_${kind} PRIVATE hew::${kind} Threads::Threads)
endforeach()
"""

FOUND = """
cmake_minimum_required(VERSION 3.21)
project(consumer C)
find_package(hew CONFIG REQUIRED)
find_package(Threads REQUIRED)
add_executable(program program.c)
target_link_libraries(program PRIVATE hew::static Threads::Threads)
"""
# Debian's Bazel 4 has its rules inside and loads them by files that it would fetch: these name them.
CC = "binary import library test toolchain toolchain_suite"
JAVA = "binary import library package_configuration plugin runtime test toolchain"
BAZEL = {
    "hew/WORKSPACE": "",
    "rules_cc/WORKSPACE": "",
    "rules_cc/cc/BUILD": "",
    "rules_cc/cc/defs.bzl": "".join(f"cc_{rule} = native.cc_{rule}\n" for rule in CC.split()),
    "rules_java/WORKSPACE": "",
    "rules_java/java/BUILD": "",
    "rules_java/java/defs.bzl": "".join(f"java_{rule} = native.java_{rule}\n" for rule in JAVA.split()),
    "consumer/WORKSPACE": "".join(
        f'local_repository(name = "{name}", path = "../{name}")\n' for name in ("rules_cc", "rules_java", "hew")
    ),
    "consumer/BUILD": 'cc_binary(name = "program", srcs = ["program.c"], malloc = "@hew//:hew", deps = ["@hew"])\n',
}


def needs_tool(name: str) -> Path:
    """A command beside this Python."""
    if not (TOOLS / name).is_file():
        pytest.skip(f"{name} is not installed: make packages brings it")
    return TOOLS / name


def version() -> str:
    import amalgamate  # noqa: PLC0415

    return amalgamate.version()


@pytest.mark.parametrize("options", ["hew/*:shared=False", "hew/*:shared=True"])
def test_conan_makes_a_package_that_a_program_runs_on(options: str, tmp_path: Path) -> None:
    conan = needs_tool("conan")
    home = {"CONAN_HOME": str(tmp_path)}
    run_command(conan, "profile", "detect", folder=None, **home)
    tried = shutil.copytree(PACKAGING / "conan/test_package", tmp_path / "tried")  # it builds where it lies
    words = ("create", PACKAGING / "conan", "--version", version(), "-o", options, "--test-folder", tried)
    assert f"hew {version()}\n" in run_command(conan, *words, folder=None, **home)
    run_command(conan, "remove", "--confirm", "hew/*", folder=None, **home)
    assert "hew/" not in run_command(conan, "list", "hew/*", "--format=json", folder=None, **home).partition("{")[2]


def test_meson_takes_the_amalgamation_as_a_subproject(amalgamation: Path, tmp_path: Path) -> None:
    meson = needs_tool("meson")
    need("ninja")
    folder = tmp_path / "subprojects/hew"
    folder.mkdir(parents=True)
    for file in (amalgamation / "hew.c", amalgamation / "hew.h", *(PACKAGING / "meson").glob("meson*")):
        shutil.copy(file, folder)
    shutil.copy(PROGRAM, tmp_path)
    (tmp_path / "meson.build").write_text(
        "project('consumer', 'c')\n"
        "needs = [dependency('hew', fallback: 'hew'), dependency('threads')]\n"
        "executable('program', 'program.c', dependencies: needs)\n"
    )
    run_command(meson, "setup", "build", folder=tmp_path)
    run_command(meson, "compile", "-C", "build", folder=tmp_path)
    assert run_command(tmp_path / "build/program") == f"hew {version()}\n"


def test_cmake_fetches_the_sources_of_a_release(tmp_path: Path) -> None:
    need("cmake")
    with tarfile.open(tmp_path / "hew.tar.gz", "w:gz") as archive:
        for part in ("CMakeLists.txt", "cmake", "include", "src", "trace"):
            archive.add(ROOT / part, f"hew/{part}")
    (tmp_path / "CMakeLists.txt").write_text(FETCHED.replace("ARCHIVE", str(tmp_path / "hew.tar.gz")))
    (tmp_path / "program.c").write_text(PROGRAM.read_text().replace("<hew.h>", "<hew/hew.h>"))
    run_command("cmake", "-S", ".", "-B", "build", folder=tmp_path)
    run_command("cmake", "--build", "build", "--parallel", "2", folder=tmp_path)
    for kind in ("hew", "static"):
        assert run_command(tmp_path / f"build/program_{kind}") == f"hew {version()}\n"
    assert "libhew" not in run_command("ldd", tmp_path / "build/program_static")


def test_the_vcpkg_port_gives_a_package_that_cmake_finds(tmp_path: Path) -> None:
    need("cmake")
    port, package = PACKAGING / "vcpkg/hew", tmp_path / "package"
    script = Path(__file__).with_name("vcpkg.cmake")
    folders = (f"-DPORT_DIR={port}", f"-DPACKAGES={package}", f"-DTREES={tmp_path / 'trees'}")
    run_command("cmake", *folders, "-P", script)
    moved = package.rename(tmp_path / "installed")  # vcpkg installs it elsewhere
    (tmp_path / "CMakeLists.txt").write_text(FOUND)
    (tmp_path / "program.c").write_text(PROGRAM.read_text().replace("<hew.h>", "<hew/hew.h>"))
    run_command("cmake", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={moved}", folder=tmp_path)
    run_command("cmake", "--build", "build", folder=tmp_path)
    assert run_command(tmp_path / "build/program") == f"hew {version()}\n"


def test_bazel_links_a_program_to_the_amalgamation(amalgamation: Path, tmp_path: Path) -> None:
    need("bazel")
    for name, text in BAZEL.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for file in (amalgamation / "hew.c", amalgamation / "hew.h", *(PACKAGING / "bazel").glob("*.bazel")):
        shutil.copy(file, tmp_path / "hew")
    shutil.copy(PROGRAM, tmp_path / "consumer")
    bazel = ("bazel", "--batch", f"--output_user_root={tmp_path / 'cache'}")
    run_command(*bazel, "build", "//:program", folder=tmp_path / "consumer")
    assert run_command(tmp_path / "consumer/bazel-bin/program") == f"hew {version()}\n"


def test_every_port_is_of_the_present_version() -> None:
    vcpkg = json.loads((PACKAGING / "vcpkg/hew/vcpkg.json").read_text())
    assert vcpkg["version"] == version()
    for file in ("meson/meson.build", "bazel/MODULE.bazel"):
        assert version() in (PACKAGING / file).read_text(), file
    assert f"hew-{version()}-amalgamation" in (PACKAGING / "meson/hew.wrap").read_text()
