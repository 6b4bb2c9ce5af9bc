# SPDX-License-Identifier: MIT
"""Code that is hard to find afterwards, in real processes: below another root, deleted, in memory, closed."""

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from conftest import PROGRAMS, HewRunner, environment, is_as_described, wait_until
from hew.model.known_allocators import HEW
from hew.sources.control import find_socket
from hew.sources.process_facts import read_process

HELD = 64 * 40960
PLUGIN = """
#include <stdlib.h>
__attribute__((noinline)) void keep_for_plugin(void **objects)
{
    for (int i = 0; i < 64; i++)
        objects[i] = malloc(40960);
    __asm__ volatile("" ::: "memory");
}
"""
NOT_ROOT = "only root may call chroot() and open /proc/PID/map_files"
Keeping = Callable[..., AbstractContextManager[int]]


@pytest.fixture(scope="module")
def program(compiler: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("keeps") / "keeps"
    subprocess.run([compiler, "-O1", "-fno-builtin", str(PROGRAMS / "keeps.c"), "-o", str(path), "-ldl"], check=True)
    return path


@pytest.fixture
def plugin(compiler: str, tmp_path: Path) -> Path:
    source, path = tmp_path / "plugin.c", tmp_path / "libplugin.so"
    source.write_text(PLUGIN)
    flags = ["-O1", "-fno-builtin", "-shared", "-fPIC", "-Wl,--build-id"]
    subprocess.run([compiler, *flags, str(source), "-o", str(path)], check=True)
    return path


@pytest.fixture
def keeping(program: Path, hew_library: Path, tmp_path: Path) -> Keeping:
    @contextmanager
    def start(way: str, place: Path, conf: str = "prof_format:pprof") -> Iterator[int]:
        conf = f"control:{tmp_path}/socket.%p,prof:true,lg_prof_sample:0,{conf}"
        with subprocess.Popen(
            [str(program), way, str(place)],
            env=environment({"LD_PRELOAD": str(hew_library), "MALLOC_CONF": conf}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as child:
            try:
                wait_until(lambda: find_socket(child.pid) is not None, "no control socket has come up")
                assert child.stdin is not None
                assert child.stdout is not None
                child.stdin.write(b"\n")
                child.stdin.flush()
                assert child.stdout.readline() == b"ready\n"
                yield child.pid
            finally:
                child.kill()

    return start


@pytest.fixture
def jail(tmp_path: Path) -> Path:
    if os.geteuid() != 0:
        pytest.skip(NOT_ROOT)
    folder = tmp_path / "jail"
    folder.mkdir()
    return folder


def held_by(document: Any, name: str) -> int:
    return sum(one["flat"]["inuse_space"] for one in document["functions"] if one["name"] == name)


@pytest.mark.parametrize("form", ["pprof", "heap_v2"])
def test_a_process_below_another_root_has_names(keeping: Keeping, hew: HewRunner, jail: Path, form: str) -> None:
    with keeping("chroot", jail, f"prof_format:{form}") as pid:
        done = hew("profile", str(pid), "--json")
    assert done.returncode == 0, done.stderr
    assert held_by(is_as_described(done.stdout, "profile"), "keep_own") == HELD


def test_the_malloc_of_a_process_below_another_root_is_known(keeping: Keeping, jail: Path) -> None:
    with keeping("chroot", jail) as pid:
        facts = read_process(pid)
    assert facts.provider is not None
    assert (facts.provider.code.kind, facts.provider.preloaded) == (HEW, True)
    assert [one.unknown for one in facts.settings if one.variable == "MALLOC_CONF"] == [()]


@pytest.mark.parametrize("way", ["deleted", "memory"])
@pytest.mark.parametrize("form", ["pprof", "heap_v2"])
def test_a_library_without_a_path_is_read_by_way_of_the_process(
    keeping: Keeping, hew: HewRunner, plugin: Path, way: str, form: str
) -> None:
    if os.geteuid() != 0:
        pytest.skip(NOT_ROOT)
    with keeping(way, plugin, f"prof_format:{form}") as pid:
        done = hew("profile", str(pid), "--json")
    assert done.returncode == 0, done.stderr
    assert held_by(is_as_described(done.stdout, "profile"), "keep_for_plugin") == HELD


@pytest.mark.parametrize("form", ["pprof", "heap_v2"])
def test_a_library_that_was_closed_is_named_by_its_file(
    keeping: Keeping, hew: HewRunner, plugin: Path, form: str
) -> None:
    with keeping("closed", plugin, f"prof_format:{form}") as pid:
        done = hew("profile", str(pid), "--json")
    assert done.returncode == 0, done.stderr
    assert held_by(is_as_described(done.stdout, "profile"), "keep_for_plugin") == HELD


def test_what_was_closed_and_is_gone_is_said(keeping: Keeping, hew: HewRunner, plugin: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    with keeping("gone", plugin) as pid:
        done = hew("profile", str(pid))
        hew("profile", str(pid), "--html", str(page))
    said = "in libplugin.so have no name: it was closed before the profile (dlclose), and its file is gone (build id "
    assert said in done.stderr
    assert "[libplugin.so" in done.stdout
    assert said in page.read_text()
