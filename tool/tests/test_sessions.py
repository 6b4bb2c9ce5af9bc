# SPDX-License-Identifier: MIT
"""Every command as its user sees it: recorded sessions, played again on a terminal.

HEW_RECORD=1 writes what is shown now into sessions that differ; a new session needs its `$ ` lines only.
"""

import gzip
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conftest import environment
from hew.cli import COMMANDS
from hew.sources.fleet.store import NAME, StoreSource
from terminal import ANY, TYPED, plain, sessions_of, shows, typed
from waiting import waiting

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "bench" / "fleet")]

from load import to_store  # noqa: E402
from play import Fleet  # noqa: E402

END = 1_800_000_000.0
HERE = Path(__file__).parent
SESSIONS = sorted((HERE / "sessions").glob("*.session"))
STATISTICS = HERE / "data" / "statistics"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the user is: two reports, the recorded figures of a fleet, and `hew` to be found by its name."""
    here = tmp_path_factory.mktemp("session")
    for name, recorded in (("report", "jemalloc-5.3.0.json"), ("wasteful", "provoked-5.3.1-thread-caches.json")):
        (here / name).write_bytes(gzip.decompress((STATISTICS / f"{recorded}.gz").read_bytes()))
    (here / "figures").mkdir()
    store = StoreSource(here / "figures" / NAME)
    to_store(Fleet(16, 300.0, END), store)
    store.close()
    (here / "bin").mkdir()
    (here / "bin" / "hew").write_text(f'#!/bin/sh\nexec {sys.executable} -m hew "$@"\n')
    (here / "bin" / "hew").chmod(0o755)
    return here


@pytest.fixture(scope="module")
def variables(folder: Path, programs: Callable[[str], list[str]]) -> Iterator[dict[str, str]]:
    """The user's environment: PID is a program on hew that waits, OLD one on glibc, WORK a short one."""
    (folder / "work").symlink_to(programs("hold")[0])
    here = environment({
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "TERM": "xterm", "SHELL": "/bin/bash", "HOME": str(folder),
        "LANG": "C.UTF-8", "COLUMNS": None, "LD_PRELOAD": None, "MALLOC_CONF": None, "HEW_CONF": None,
        "HEW_LIBRARY": None,
        "WORK": "./work 2 500 300 3 1", "END": str(int(END)),
    })  # fmt: skip
    settings = "prof:true,lg_prof_sample:0"  # every object: what is sampled by chance, no recording can tell
    words = [sys.executable, "-m", "hew", "run", "--conf", settings, "--", *programs("hold 2 500 300 3 4000000")]
    with subprocess.Popen(words, env=here, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        with waiting(programs("hold 2 500 300 3 4000000"), {}) as old:
            yield here | {"PID": str(program.pid), "OLD": str(old.pid)}
        program.kill()


@pytest.mark.parametrize("session", [pytest.param(one, id=one.stem) for one in SESSIONS])
def test_a_session_goes_as_it_was_recorded(
    session: Path, folder: Path, variables: dict[str, str], hew_library: Path
) -> None:
    now: list[str] = []
    differing: list[str] = []
    for command, recorded in sessions_of(session.read_text()):
        lines = typed(command, folder, variables).splitlines()
        now += [TYPED + command, *lines]
        if not shows(recorded, lines):
            differing += [TYPED + command, "recorded:", *map(plain, recorded), "now:", *map(plain, lines)]
    if differing and os.environ.get("HEW_RECORD"):
        session.write_text("\n".join(now) + "\n")
    assert not differing, "\n".join(differing)


def test_every_command_has_a_session() -> None:
    """hew NAME … in one of them."""
    seen = {
        word
        for one in SESSIONS
        for command, _ in sessions_of(one.read_text())
        for before, word in zip(command.split(), command.split()[1:], strict=False)
        if before == "hew"
    }
    assert set(COMMANDS) - seen == set(), "record it: see the head of this file"


def test_a_line_that_differs_in_more_than_figures_is_seen() -> None:
    recorded = ["resident   11.7 MiB   20%", ANY, "• 2 arenas of 8 ────── ▁▂▃"]
    assert shows(recorded, ["resident 1,234 KiB  3%", "more", "• 17 arenas of 8 ── ▇"])
    assert not shows(recorded, ["resident 1,234 KiB  3%", "more", "• 17 bins of 8 ── ▇"])
    assert not shows(recorded, ["active   1,234 KiB  3%", "• 17 arenas of 8 ── ▇"])
    assert not shows(recorded, ["resident 1,234 KiB  3%", "• 17 arenas of 8 ── ▇", "one more"])
    assert not shows(["a"], [])
