# SPDX-License-Identifier: MIT
"""Which allocators are found, which are refused and why."""

import platform
import shutil
from pathlib import Path

import pytest

from conftest import build
from hew.model.allocator import Allocator, Request
from hew.sources import discovery
from hew.sources.discovery import (
    describe_status,
    discover,
    find_library,
    is_allocator,
    known_names,
    library_folders,
    probe,
    true_baseline,
    usable_under,
    without_allocators,
)
from hew.sources.library import built_peers

MACHINE = platform.machine()
ENVIRONMENT = {"PATH": "/usr/bin:/bin"}


def touch(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def test_multiarch_and_compiler_folders_are_searched_after_ld_library_path(tmp_path: Path) -> None:
    usual = touch(tmp_path / f"usr/lib/{MACHINE}-linux-gnu/libjemalloc.so.2").parent
    plain = usual.parent
    compiler = touch(
        tmp_path / f"usr/lib/llvm-14/lib/clang/14/lib/linux/libclang_rt.scudo_standalone-{MACHINE}.so"
    ).parent
    named = touch(tmp_path / "mine/libx.so").parent
    assert library_folders({"LD_LIBRARY_PATH": f"{named}:"}, tmp_path) == [named, usual, plain, compiler]
    assert find_library("scudo", [usual, compiler]) == compiler / f"libclang_rt.scudo_standalone-{MACHINE}.so"


def test_the_highest_version_wins_and_of_its_names_the_shortest(tmp_path: Path) -> None:
    for name in ("libmimalloc.so.1", "libmimalloc.so.2.0", "libmimalloc.so.2", "libmimalloc.so.2.0.9"):
        touch(tmp_path / name)
    assert find_library("mimalloc", [tmp_path]) == tmp_path / "libmimalloc.so.2"


def test_the_minimal_tcmalloc_is_preferred_and_its_debug_build_is_never_taken(tmp_path: Path) -> None:
    touch(tmp_path / "libtcmalloc_minimal_debug.so.4")
    touch(tmp_path / "libtcmalloc.so.4")
    assert find_library("tcmalloc", [tmp_path]) == tmp_path / "libtcmalloc.so.4"
    touch(tmp_path / "libtcmalloc_minimal.so.4")
    assert find_library("tcmalloc", [tmp_path]) == tmp_path / "libtcmalloc_minimal.so.4"


def test_a_peer_that_was_built_is_known_by_its_file_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    peer = touch(tmp_path / "libnewmalloc-1.2.so")
    monkeypatch.setattr(discovery, "built_peers", lambda: {"newmalloc-1.2": peer})
    assert "newmalloc-1.2" in known_names()
    found, unusable = discover([Request("newmalloc-1.2")], {}, [tmp_path])
    assert ([one.library for one in found], unusable) == ([None, peer], [])


def test_a_dangling_link_is_not_a_library(tmp_path: Path) -> None:
    (tmp_path / "libjemalloc.so.2").symlink_to(tmp_path / "nowhere")
    assert find_library("jemalloc", [tmp_path]) is None


def test_all_known_allocators_are_found_or_explained(tmp_path: Path) -> None:
    touch(tmp_path / "libjemalloc.so.2")
    hew = touch(tmp_path / "libhew.so")
    found, unusable = discover([], {"HEW_LIBRARY": str(hew)}, [tmp_path])
    assert [one.name for one in found] == ["glibc", "jemalloc", "hew", *built_peers()]
    assert {one.name for one in found} | {one.name for one in unusable} == set(known_names())
    assert all("not installed" in one.reason for one in unusable)


def test_asking_for_some_leaves_out_the_others_but_never_glibc(tmp_path: Path) -> None:
    mine = touch(tmp_path / "libmine.so")
    found, unusable = discover([Request("mine", mine), Request("gone", tmp_path / "gone.so")], {}, [tmp_path])
    assert found == [Allocator("glibc"), Allocator("mine", mine)]
    assert unusable[0].name == "gone"
    assert "is not a file" in unusable[0].reason


@pytest.mark.parametrize(
    "name", ["libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libclang_rt.scudo_standalone-x86_64.so"]
)
def test_allocators_are_known_by_their_file_names(name: str) -> None:
    assert is_allocator(Path("/usr/lib") / name)


def test_other_libraries_are_no_allocators() -> None:
    assert not is_allocator(Path("/usr/lib/libc.so.6"))
    assert not is_allocator(Path("/usr/lib/libhewlett.txt"))


def test_a_library_that_the_loader_takes_passes_the_probe(library: Path) -> None:
    assert probe(library, ENVIRONMENT) is None


def test_a_file_that_is_no_library_is_refused_with_the_loaders_words(tmp_path: Path) -> None:
    (tmp_path / "libtext.so").write_text("not a library")
    assert "cannot be preloaded" in (probe(tmp_path / "libtext.so", ENVIRONMENT) or "")


def test_a_library_that_crashes_every_program_is_refused(compiler: str, tmp_path: Path) -> None:
    source = "#include <stdlib.h>\n__attribute__((constructor)) static void die(void) { abort(); }\n"
    crashing = build(compiler, tmp_path / "libcrash.so", source, "-shared", "-fPIC")
    assert "killed by SIGABRT" in (probe(crashing, ENVIRONMENT) or "")


def test_a_path_that_ld_preload_cannot_carry_is_refused(library: Path, tmp_path: Path) -> None:
    spaced = tmp_path / "a folder" / "libmarker.so"
    spaced.parent.mkdir()
    shutil.copy(library, spaced)
    assert "space or a colon" in (probe(spaced, ENVIRONMENT) or "")


def test_an_allocator_that_cannot_reach_the_command_is_refused(compiler: str, library: Path, tmp_path: Path) -> None:
    static = build(compiler, tmp_path / "static", "int main(void) { return 0; }\n", "-static")
    usable, refused = usable_under([Allocator("glibc"), Allocator("marker", library)], static, ENVIRONMENT)
    assert usable == []
    assert "statically linked" in refused[0].reason


def test_a_preloaded_allocator_is_taken_out_of_the_environment_and_other_preloads_stay() -> None:
    before = {"LD_PRELOAD": "/usr/lib/libjemalloc.so.2:/usr/lib/libother.so", "HOME": "/"}
    after, notes = without_allocators(before)
    assert after == {"LD_PRELOAD": "/usr/lib/libother.so", "HOME": "/"}
    assert "libjemalloc.so.2" in notes[0]
    assert without_allocators({"HOME": "/"}) == ({"HOME": "/"}, [])


def test_a_program_linked_with_its_own_allocator_gets_glibcs_by_a_preload(compiler: str, tmp_path: Path) -> None:
    own = build(compiler, tmp_path / "libjemalloc.so.2", "int own_allocator(void) { return 0; }\n", "-shared", "-fPIC")
    flags = ["-Wl,--no-as-needed", str(own), f"-Wl,-rpath,{tmp_path}"]
    program = build(compiler, tmp_path / "program", "int main(void) { return 0; }\n", *flags)
    baseline, note = true_baseline(program, ENVIRONMENT)
    assert baseline.library is not None
    assert baseline.library.name == "libc.so.6"
    assert "libjemalloc.so.2" in (note or "")


def test_a_program_without_one_is_left_alone() -> None:
    assert true_baseline(Path("/bin/sh"), ENVIRONMENT) == (Allocator("glibc"), None)


@pytest.mark.parametrize(
    ("status", "words"), [(3, "exit status 3"), (-11, "killed by SIGSEGV"), (-90, "killed by signal 90")]
)
def test_a_status_is_put_in_words(status: int, words: str) -> None:
    assert describe_status(status) == words
