# SPDX-License-Identifier: MIT
"""`hew ctl` against real processes on hew, and against servers that misbehave."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import ValidationError

from conftest import HewRunner, environment, is_as_described, wait_until
from hew.analysis.doctor import examine
from hew.model.control import Outcome, RefusedError, read_conf, value_of
from hew.model.errors import HewError
from hew.sources.control import (
    Control,
    apply_conf,
    connect,
    find_socket,
    remove_stale_sockets,
    sockets,
    stale_sockets,
)
from hew.sources.inside import with_inside
from hew.sources.process_facts import read_process
from hew.sources.processes import stat_fields
from hew.sources.statistics.place import read_place
from hew.views.statistics_document import statistics_json
from waiting import waiting, waiting_on_hew, waits


@pytest.fixture
def process(hew_library: Path, tmp_path: Path) -> Iterator[int]:
    """A Python on hew with a control socket, which lives as long as the test."""
    with waiting_on_hew(hew_library, tmp_path, ",prof:true,prof_active:false") as child:
        yield child.pid


def wait_for_socket(pid: int) -> None:
    wait_until(lambda: find_socket(pid) is not None, "no control socket has come up")


def test_values_are_typed(process: int) -> None:
    with connect(process) as control:
        assert control.get("config.stats") is True
        assert control.get("arenas.page") == 4096
        assert control.get("arenas.muzzy_decay_ms") == 0
        assert control.get("opt.dss") == "secondary"
        control.set("arenas.muzzy_decay_ms", "-1")
        assert control.get("arenas.muzzy_decay_ms") == -1
        control.do("arena.4096.purge")
        assert {one.name for one in control.names()} >= {"stats.allocated", "arenas.dirty_decay_ms"}


def test_what_the_process_refuses_is_said(process: int) -> None:
    with connect(process) as control:
        for kind, name in (("unknown", "no.such.name"), ("not-permitted", "thread.arena")):
            with pytest.raises(RefusedError) as refused:
                control.get(name)
            assert refused.value.kind == kind
        with pytest.raises(HewError, match="control characters"):
            control.set("arena.0.name", "one\nset epoch 1")
        assert control.get("arenas.page") == 4096


def test_statistics_and_profiles_are_fetched(process: int) -> None:
    with connect(process) as control:
        form, profile = control.heap()
    assert form == "heap_v2"
    assert profile.startswith(b"heap_v2/")
    (snapshot,) = read_place(str(process)).snapshots
    assert snapshot.allocator == "hew"
    is_as_described(statistics_json(read_place(str(process))), "stats")
    assert (snapshot.totals.allocated or 0) > 2_000_000


def test_a_descriptor_that_is_closed_meanwhile_hides_no_socket(tmp_path: Path) -> None:
    (tmp_path / "3").symlink_to("socket:[71]")
    (tmp_path / "4").touch()  # readlink fails, as it does for one that is gone
    (tmp_path / "5").symlink_to("socket:[72]")
    assert sorted(sockets(str(tmp_path))) == [71, 72]
    assert sockets(str(tmp_path / "no-such")) == []


def test_a_process_is_found_while_others_connect_to_it(process: int) -> None:
    stop = threading.Event()

    def connects() -> None:
        while not stop.is_set():
            with connect(process) as control:
                control.get("arenas.page")

    other = threading.Thread(target=connects)
    other.start()
    try:
        assert all(find_socket(process) for _ in range(300))
    finally:
        stop.set()
        other.join()


def test_settings_that_can_change_do(process: int) -> None:
    with connect(process) as control:
        results = apply_conf(control, "dirty_decay_ms:1234,narenas:3,dirty_decay:7,prof_active:true,dss:never")
        outcomes = {one.name: one.outcome for one in results}
        assert outcomes == {
            "dirty_decay_ms": Outcome.APPLIED,
            "narenas": Outcome.RESTART,
            "dirty_decay": Outcome.UNKNOWN,
            "prof_active": Outcome.APPLIED,
            "dss": Outcome.REFUSED,
        }
        assert "dirty_decay_ms" in next(one.remark for one in results if one.name == "dirty_decay")
        assert control.get("arenas.dirty_decay_ms") == 1234
        assert control.get("arena.0.dirty_decay_ms") == 1234
        assert control.get("prof.active") is True


def test_the_command(process: int, hew: HewRunner, tmp_path: Path) -> None:
    pid = str(process)
    assert hew("ctl", pid, "config.stats").stdout == "true\n"
    assert hew("ctl", pid, "arenas.dirty_decay_ms", "77").stdout == "77\n"
    assert json.loads(hew("ctl", "--json", pid, "arenas.dirty_decay_ms").stdout) == {
        "name": "arenas.dirty_decay_ms",
        "value": 77,
    }
    assert hew("ctl", pid, "arena.4096.purge").returncode == 0
    listed = hew("ctl", pid, "--list").stdout
    assert "arenas.dirty_decay_ms" in listed
    conf = hew("ctl", pid, "--conf", "dirty_decay_ms:5,narenas:2")
    assert conf.returncode == 1
    assert "dirty_decay_ms:5  applied (" in conf.stdout
    assert "narenas:2  not set, needs a restart" in conf.stdout
    target = tmp_path / "now.heap"
    assert hew("ctl", pid, "--heap", str(target)).returncode == 0
    assert target.read_bytes().startswith(b"heap_v2/")


def test_what_it_prints_as_json_is_described(process: int, hew: HewRunner, tmp_path: Path) -> None:
    def told(*words: str) -> Any:
        return is_as_described(hew("ctl", "--json", str(process), *words).stdout, "ctl")

    assert told("version")["value"].startswith("5.3")
    assert told("prof.active")["value"] is False
    assert told("arena.4096.purge") == {"name": "arena.4096.purge", "value": None}
    assert "arenas.dirty_decay_ms" in {one["name"] for one in told("--list")}
    outcomes = told("--conf", "dirty_decay_ms:5,narenas:2,no_such:1,prof_active:maybe")
    assert [one["outcome"] for one in outcomes] == ["applied", "restart", "unknown", "refused"]
    heap = tmp_path / "now.heap"
    assert told("--heap", str(heap)) == {"file": str(heap), "format": "heap_v2", "bytes": heap.stat().st_size}
    with pytest.raises(ValidationError):  # it is no description of everything
        is_as_described('{"name": "version", "value": [1]}', "ctl")


def test_a_purge_of_everything_says_how_much_it_returned(process: int, hew: HewRunner) -> None:
    pid = str(process)
    first = hew("ctl", "--json", pid, "--purge")
    assert first.returncode == 0
    told = is_as_described(first.stdout, "ctl")
    with connect(process) as control:
        assert control.get("experimental.purged") == told["returned"]
    assert told["returned"] > 0
    assert 0 < told["resident_after"] <= told["resident_before"]
    again = hew("ctl", pid, "--purge")
    assert again.returncode == 0
    assert " returned; resident " in again.stdout
    assert hew("ctl", pid, "--purge", "version").returncode == 2
    assert hew("ctl", "4194305", "--purge").returncode == 1


def test_the_doctor_asks(process: int, hew: HewRunner) -> None:
    with connect(process) as control:
        control.set("arenas.dirty_decay_ms", "55")
    document = is_as_described(hew("doctor", "--json", str(process)).stdout, "doctor")
    assert document["inside"]["settings"]["prof_active"] is False
    assert document["inside"]["now"]["dirty_decay_ms"] == 55
    assert document["inside"]["threads"] >= 1
    told = [one["what"] for one in document["findings"] if one["topic"] == "inside"]
    assert "taken as asked for: prof:true, prof_active:false" in told
    os.kill(process, signal.SIGSTOP)
    try:
        wait_until(lambda: stat_fields(process)[0] == "T")
        told = [one.what for one in examine(with_inside(read_process(process)))]
    finally:
        os.kill(process, signal.SIGCONT)
    assert "its control socket did not answer" in told


def test_errors_say_what_to_do(hew: HewRunner) -> None:
    assert "there is no process 4194305" in hew("ctl", "4194305", "version").stderr
    other = hew("ctl", str(os.getpid()), "version")
    assert other.returncode == 1
    assert "hew run" in other.stderr
    assert hew("ctl", "1").returncode == 2
    for command in (("ctl", "abc", "version"), ("top", "-0"), ("advise", "--process", "0", "x")):
        assert "Error" in hew(*command).stderr
    assert "'abc' is no process id" in hew("top", "abc").stderr


def test_hew_run_gives_a_socket(hew_library: Path, tmp_path: Path) -> None:
    changes = {"XDG_RUNTIME_DIR": str(tmp_path), "HEW_LIBRARY": str(hew_library)}
    with waiting([sys.executable, "-m", "hew", "run", "--", *waits()], changes) as child:
        wait_for_socket(child.pid)
        assert find_socket(child.pid) == f"{tmp_path}/hew/{child.pid}"
        with connect(child.pid) as control:
            assert control.get("opt.background_thread") is True


def test_what_killed_processes_left_is_taken_away_and_nothing_else(
    hew_library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "hew"
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert stale_sockets() == []
    children = [
        subprocess.Popen(
            waits(),
            env=environment({"LD_PRELOAD": str(hew_library), "MALLOC_CONF": "control:auto"}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for _ in range(2)
    ]
    for child in children:
        assert child.stdout is not None
        child.stdout.readline()
        wait_for_socket(child.pid)
    (folder / "4194305").touch()
    with socket.socket(socket.AF_UNIX) as elsewhere:  # of another namespace: no such process here, and it listens
        elsewhere.bind(str(folder / "4194306"))
        elsewhere.listen()
        children[0].kill()
        children[0].wait()
        with pytest.raises(HewError, match="there is no process"):
            connect(children[0].pid)
        assert remove_stale_sockets() == 1
        assert {path.name for path in folder.iterdir()} == {str(children[1].pid), "4194305", "4194306"}
        folder.chmod(0o755)
        assert stale_sockets() == []
    children[1].kill()
    for child in children:
        child.communicate()


def test_a_long_path_can_be_reached(hew_library: Path, tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 200)
    folder.mkdir()
    with tempfile.TemporaryDirectory(dir="/tmp") as place:
        short = Path(place, "s")
        short.symlink_to(folder)
        with waiting_on_hew(hew_library, short) as child, connect(child.pid) as control:
            assert control.get("arenas.page") == 4096


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"", "has ended, or hung up"),
        (b"ok size 12\n40", "in the middle"),
        (b"ok size 999999999999\n", "not an answer"),
        (b"hello\n", "not an answer"),
        (b"x" * 1000, "not an answer"),
    ],
)
def test_a_server_that_misbehaves(answer: bytes, message: str) -> None:
    ours, theirs = socket.socketpair()

    def serve() -> None:
        theirs.recv(100)
        theirs.sendall(answer)
        theirs.close()

    thread = threading.Thread(target=serve)
    thread.start()
    with Control(ours, 1) as control, pytest.raises(HewError, match=message):
        control.get("arenas.page")
    thread.join()


def test_texts_of_settings_are_read() -> None:
    assert read_conf("a:1, b_c:x|y,") == [("a", "1"), ("b_c", "x|y")]
    with pytest.raises(HewError, match="NAME:VALUE"):
        read_conf("a=1")


def test_values_of_each_type() -> None:
    assert [value_of(*pair) for pair in (("bool", "false"), ("u64", "7"), ("text", "7"), ("void", ""))] == [
        False,
        7,
        "7",
        None,
    ]
