# SPDX-License-Identifier: MIT
"""What `hew serve` shows and does of processes that run, end, or are not on hew."""

import gzip
import os
import re
import shutil
import subprocess
import sys
import threading
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conftest import PATIENCE, environment, wait_until
from hew.commands import served_profiles, serving
from hew.commands.exporting import Exporting
from hew.commands.served_reports import Keeper, has_reports
from hew.commands.serving import Serving
from hew.model.advice import Advice, Setting
from hew.model.errors import HewError
from hew.model.profile import Kind
from hew.sources.control import connect, find_socket
from hew.sources.export.watch import Wanted, Watch
from hew.sources.live import Processes
from hew.sources.profile.read import read_bytes
from hew.sources.serve.rounds import Rounds
from waiting import waiting, waiting_on_hew, waits
from web import DATA, is_an_answer, served


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy the machine is."""
    monkeypatch.setattr(serving, "FIRST_LOOK", PATIENCE)


WORDS = waits(20_000)  # 20 MB


def on_hew(library: Path, folder: Path, conf: str = "") -> AbstractContextManager[subprocess.Popen[str]]:
    """A Python of that size on hew."""
    return waiting_on_hew(library, folder, conf, WORDS)


def site(files: tuple[Path, ...] = (), named: tuple[int, ...] = ()) -> Serving:
    """As the command makes it."""
    return Serving(Processes(), Exporting(Watch(Wanted()), False, False), Keeper(files), named)


def test_a_process_on_hew_is_shown_whole_and_its_history_grows(hew_library: Path, tmp_path: Path) -> None:
    one = site()
    with on_hew(hew_library, tmp_path) as child:
        assert any(row["pid"] == child.pid and row["asks"] for row in one.processes()["processes"])
        first = one.process(child.pid, 0.0)
        parts = {part["label"]: part["bytes"] for part in first["parts"]}
        assert parts["live objects"] > 20_000_000
        assert sum(parts.values()) == first["outside"]["resident"]
        wait_until(lambda: len(one.process(child.pid, 0.0)["history"]["at"]) >= 3)
        later = one.process(child.pid, first["history"]["at"][-1] + 0.01)  # what is new alone
        assert later["history"]["at"][0] > first["history"]["at"][-1]
        assert {len(values) for values in later["history"]["parts"].values()} == {len(later["history"]["at"])}
        row = max((row for row in later["sizes"] if row["small"]), key=lambda row: row["bytes"])
        assert row["slab_bytes"] >= row["bytes"]
        assert 0.5 < row["fill"] <= 1
        assert row["waste"] == row["slab_bytes"] - row["bytes"]
        assert later["arenas"][0]["threads"]
        columns = later["locks"]["columns"]
        assert "bins" in columns
        taken = [cell["taken"] for lock in later["locks"]["rows"] for cell in lock["cells"] if cell]
        assert max(taken) > 0
        assert any(cell["now"] is not None for lock in later["locks"]["rows"] for cell in lock["cells"] if cell)


def test_a_process_that_ends_stays_as_it_was_last_seen_and_can_no_longer_be_changed(
    hew_library: Path, tmp_path: Path
) -> None:
    one = site()
    with on_hew(hew_library, tmp_path) as child:
        seen = one.process(child.pid, 0.0)
        assert seen["ended"] == ""
        child.kill()
        child.wait()
        wait_until(lambda: one.process(child.pid, 0.0)["ended"])
        assert one.process(child.pid, 0.0)["name"] == seen["name"]
        with pytest.raises(HewError, match=r"no process|has ended"):
            one.apply(child.pid, "decay-too-long")
        wait_until(lambda: child.pid not in one._rounds.watched())
    with pytest.raises(HewError, match="no process"):
        site().process(child.pid, 0.0)


def test_a_number_that_another_process_has_by_now_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    one = site()
    one.process(os.getpid(), 0.0)
    watched = one._watched[os.getpid()]
    monkeypatch.setattr(serving, "start_time", lambda _: 1)
    one.process(os.getpid(), 0.0)
    assert one._watched[os.getpid()] is not watched
    assert one._watched[os.getpid()].born == 1


JEMALLOC = next(Path("/usr/lib").glob("*/libjemalloc.so.2"), None)
NO_JEMALLOC = pytest.mark.skipif(JEMALLOC is None, reason="no libjemalloc.so.2 on this machine (libjemalloc2)")


@pytest.mark.parametrize(
    ("preload", "allocator"), [(None, "glibc"), pytest.param(str(JEMALLOC), "jemalloc", marks=NO_JEMALLOC)]
)
def test_a_process_without_a_socket_has_what_the_kernel_knows(preload: str | None, allocator: str) -> None:
    with waiting(WORDS, {"LD_PRELOAD": preload}) as child:
        seen = site().process(child.pid, 0.0)
        assert seen["allocator"].startswith(allocator)
        assert "hew run" in seen["why"]
        assert sum(part["bytes"] for part in seen["parts"]) > 20_000_000
        assert (seen["sizes"], seen["arenas"], seen["locks"]["rows"]) == ([], [], ())
        advice = site().advice(child.pid)
        assert advice["format"] == "hew-advice/1"
        assert advice["live"] == {}


def test_an_advice_is_applied_to_a_running_process_and_nothing_else_is(hew_library: Path, tmp_path: Path) -> None:
    one = site()
    with on_hew(hew_library, tmp_path) as child:
        assert one.advice(child.pid)["looked_at"]["rules"] > 10
        with pytest.raises(HewError, match="can be applied live"):
            one.apply(child.pid, "decay-too-long")
        settings = (Setting("dirty_decay_ms", "777"), Setting("narenas", "3"), Setting("prof_prefix", "x", "OTHER"))
        made = Advice("a-rule", "t", "s", (), settings, "", "", "", "")
        one._watched[child.pid].advice = {"a-rule": made, "start": replace(made, settings=settings[1:])}
        (result,) = one.apply(child.pid, "a-rule")["results"]
        assert (result["name"], result["outcome"]) == ("dirty_decay_ms", "applied")
        with connect(child.pid) as control:
            assert control.get("arenas.dirty_decay_ms") == 777
        with pytest.raises(HewError, match="can be applied live"):
            one.apply(child.pid, "start")


def test_two_looks_and_two_files_are_compared(hew_library: Path, tmp_path: Path) -> None:
    for name in ("jemalloc-5.3.0.json", "hew-0.1.0.json"):
        (tmp_path / name).write_bytes(gzip.decompress((DATA / f"{name}.gz").read_bytes()))
    (tmp_path / "notes").write_text("no statistics")
    (tmp_path / "link").symlink_to("notes")
    files = tuple(path for path in sorted(tmp_path.iterdir()) if has_reports(path))
    assert [path.name for path in files] == ["hew-0.1.0.json", "jemalloc-5.3.0.json"]
    one = site(files)
    groups = {group["title"]: group["changes"] for group in one.compare(1, 2)["groups"]}
    assert "resident memory" not in groups  # a file does not tell
    assert groups["by the statistics"]
    with on_hew(hew_library, tmp_path) as child:
        number = one.keep(child.pid)["kept"][0]["number"]
        second = one.keep(child.pid)["kept"][0]["number"]
        assert (number, second) == (3, 4)
        (resident, *parts) = one.compare(number, second)["groups"][0]["changes"]
        assert resident["before"] == sum(part["before"] for part in parts)
    with pytest.raises(HewError, match="no kept report 9"):
        one.compare(1, 9)


def test_profiles_are_served_and_say_how_they_are_turned_on(hew_library: Path, tmp_path: Path) -> None:
    one = site()
    sampled = ",prof:true,lg_prof_sample:10"
    packed = f"{sampled},prof_format:pprof,prof_accum:true"
    with (
        on_hew(hew_library, tmp_path) as off,
        on_hew(hew_library, tmp_path, sampled) as text,
        on_hew(hew_library, tmp_path, packed) as on,
        served(one) as web,
    ):
        refused = web.ask(f"/debug/pprof/heap?pid={off.pid}")
        assert refused.status == 409
        assert b"hew run --conf prof:true -- COMMAND" in refused.body
        assert web.ask("/debug/pprof/heap").status == 400
        for pid, path in ((on.pid, "heap"), (on.pid, "allocs"), (text.pid, "heap")):
            taken = web.ask(f"/debug/pprof/{path}?pid={pid}")
            assert taken.status == 200, taken.body
            assert read_bytes(taken.body, "it").total(Kind.INUSE_SPACE) > 19_000_000
        assert web.ask(f"/debug/pprof/heap?pid={text.pid}&format=heap_v2").body.startswith(b"heap_v2/1024\n")
        assert b"prof_accum" in web.ask(f"/debug/pprof/allocs?pid={text.pid}").body
        assert b"format=pprof" in web.ask(f"/debug/pprof/heap?pid={on.pid}&format=heap_v2").body
        metrics = web.ask("/metrics").body.decode()
        assert f'pid="{on.pid}"' in metrics
        assert web.ask(f"/api/process/{on.pid}").document["profiles"]["prof"] is True


def test_a_heap_profile_is_drawn_kept_and_compared(
    hew_library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = site()
    with (
        on_hew(hew_library, tmp_path, ",prof:true,lg_prof_sample:10") as child,
        served(one) as web,
    ):
        path = f"/api/process/{child.pid}/profile"
        found = is_an_answer(web.ask(path), "flame")
        graph = found["graph"]
        assert graph["values"][0][0] == found["profile"]["bytes"] > 19_000_000
        assert [kind["title"] for kind in graph["kinds"]] == ["live bytes", "live objects"]
        assert any("Py" in name for name in graph["names"])
        assert graph["before"] is None
        kept = is_an_answer(web.post(f"{path}/keep", {}), "profile")
        assert kept["number"] == 1
        both = is_an_answer(web.ask(f"{path}?base=1"), "flame")
        assert both["kept"] == [kept]
        assert both["graph"]["before"][0][0] == kept["bytes"]
        assert is_an_answer(web.ask(f"{path}?of=1"), "flame")["profile"] == kept
        assert web.ask(f"{path}?base=7").status == 404
        for by, name in (("size", "objects of "), ("age", r" (s|min)$"), ("thread", "thread "), ("line", r"\.c:")):
            told = is_an_answer(web.ask(f"{path}?by={by}"), "flame")["graph"]
            assert any(re.search(name, one) for one in told["names"]) or by == "line"
            assert told["values"][0][0] > 19_000_000
        assert web.ask(f"{path}?by=size&base=1").status == 400
        assert b"line, size, thread, age" in web.ask(f"{path}?by=colour").body
        assert web.ask(f"{path}?base=x").status == 400
        assert web.post(f"{path}/keep", {}, Authorization="").status == 401
        for _ in range(served_profiles.MOST):
            one.keep_profile(child.pid)
        assert web.ask(f"{path}?of=1").status == 404  # only so many are kept
        child.kill()
        child.wait()
        wait_until(lambda: one.process(child.pid, 0.0)["ended"])
        assert is_an_answer(web.ask(f"{path}?of=2"), "flame")["profile"]["number"] == 2
        monkeypatch.setattr(served_profiles, "FRESH", 0)
        assert web.ask(path).status == 409
    with (
        on_hew(hew_library, tmp_path) as child,
        pytest.raises(HewError, match="takes no samples of its heap"),
    ):
        one.flame(child.pid, 0, 0, "")


def test_who_keeps_slabs_is_told_and_how_it_is_turned_on(hew_library: Path, tmp_path: Path) -> None:
    one = site()
    with (
        on_hew(hew_library, tmp_path, ",prof:true,lg_prof_sample:10,prof_slabs:true") as child,
        served(one) as web,
    ):
        path = f"/api/process/{child.pid}/pins"
        found = is_an_answer(web.ask(f"{path}?sparse=99"), "pins")
        assert found["slab_bytes"] > 0
        assert found["stacks"], "some slab has room"
        for words in ("0", "100", "x", "-1", "1e9"):
            assert web.ask(f"{path}?sparse={words}").status == 400
        assert web.ask("/api/process/1999999999/pins").status == 404
    with on_hew(hew_library, tmp_path, ",prof:true") as child, served(one) as web:
        assert b"prof_slabs:true" in web.ask(f"/api/process/{child.pid}/pins").body


def test_every_answer_is_as_described(hew_library: Path, tmp_path: Path) -> None:
    (tmp_path / "report").write_bytes(gzip.decompress((DATA / "hew-0.1.0.json.gz").read_bytes()))
    one = site((tmp_path / "report",))
    with (
        on_hew(hew_library, tmp_path) as child,
        waiting(WORDS, {"LD_PRELOAD": None}) as plain,
        served(one) as web,
    ):
        is_an_answer(web.ask("/api/processes"), "processes")
        for pid in (child.pid, plain.pid):
            is_an_answer(web.ask(f"/api/process/{pid}"), "process")
            is_an_answer(web.ask(f"/api/process/{pid}/advice"), "advice")
            is_an_answer(web.post(f"/api/process/{pid}/keep", {}), "kept")
        made = Advice("a-rule", "t", "s", (), (Setting("dirty_decay_ms", "777"),), "", "", "", "")
        one._watched[child.pid].advice = {"a-rule": made}
        is_an_answer(web.post(f"/api/process/{child.pid}/apply", {"rule": "a-rule"}), "applied")
        is_an_answer(web.ask("/api/kept"), "kept")
        is_an_answer(web.ask("/api/compare?before=1&after=2"), "comparison")
        for bad in (
            web.ask("/api/compare?before=1&after=99"),
            web.ask("/api/compare"),
            web.ask("/api/process/1999999999"),
        ):
            assert bad.status >= 400
            is_an_answer(bad, "error")


def test_who_asks_while_the_last_look_goes_on_gets_another() -> None:
    looks: list[int] = []
    begun, asked = threading.Event(), threading.Event()

    def look(pid: int) -> bool:
        looks.append(pid)
        begun.set()
        asked.wait()
        return False

    rounds = Rounds(look, every=0.01, patience=1000)
    rounds.want(1)
    begun.wait()
    rounds.want(1)
    asked.set()
    wait_until(lambda: not rounds.watched())
    assert looks == [1, 1]


def test_looks_stop_when_nobody_asks_and_one_that_hangs_holds_up_no_other() -> None:
    looks: list[int] = []
    hanging = threading.Event()

    def look(pid: int) -> bool:
        looks.append(pid)
        if pid == 1:
            hanging.wait()
        return True

    rounds = Rounds(look, every=0.01, patience=0.3)
    rounds.want(1)

    def looked_at() -> bool:
        rounds.want(2)  # again and again: 0.3 s without a look are nothing on a busy machine
        return looks.count(2) > 3

    wait_until(looked_at)
    assert looks.count(1) == 1
    wait_until(lambda: 2 not in rounds.watched())
    wait_until(lambda: "looks 2" not in {one.name for one in threading.enumerate()})
    hanging.set()


def test_a_look_does_not_wait_for_a_list_that_takes_long() -> None:
    processes = Processes()
    known = processes.allocator(os.getpid())
    found: list[str] = []
    with processes._lock:
        asking = threading.Thread(target=lambda: found.append(processes.moment(os.getpid()).allocator))
        asking.start()
        asking.join(60)
        assert found == [known]


@pytest.mark.skipif(shutil.which("redis-server") is None, reason="no redis-server on this machine")
def test_redis_from_hew_run_is_there_to_be_seen(tmp_path: Path) -> None:
    server = ["redis-server", "--port", "0", "--save", "", "--unixsocket", str(tmp_path / "redis")]
    words = [sys.executable, "-m", "hew", "run", "--", *server]
    clean = environment({"LD_PRELOAD": None, "MALLOC_CONF": None, "HEW_CONF": None})
    with subprocess.Popen(words, env=clean, stdout=subprocess.DEVNULL) as child:
        try:
            wait_until(lambda: (tmp_path / "redis").exists() and find_socket(child.pid))
            seen: Any = site().process(child.pid, 0.0)
            assert seen["name"] == "redis-server"
            assert seen["arenas"]
        finally:
            child.kill()
