# SPDX-License-Identifier: MIT
"""`hew export`: one scrape of real processes and of those that misbehave, dumps, and the web server under attack."""

import os
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.openmetrics import parser as openmetrics_parser
from prometheus_client.parser import text_string_to_metric_families

from conftest import PATIENCE, HewRunner, wait_until
from fake_engine import fake_engine, until_hung_up
from hew.analysis.metrics.families import families
from hew.commands.exporting import Exporting, push
from hew.model.address import Guard, checked_token, read_address
from hew.model.errors import HewError
from hew.model.metric import Family, Look, Observed
from hew.sources.export import ask, server, watch
from hew.sources.export.ask import ask_all
from hew.sources.export.dumps import Dumps
from hew.sources.export.queue import Queue
from hew.sources.export.remote_write import Engine
from hew.sources.export.server import MetricsServer
from hew.sources.export.watch import Wanted, Watch
from hew.sources.statistics.stream import read_statistics
from hew.views.openmetrics import OPENMETRICS, PLAIN, openmetrics, plain, preferred
from waiting import waiting_on_hew

strictly: Any = openmetrics_parser.text_string_to_metric_families
loosely: Any = text_string_to_metric_families
DATA = Path(__file__).parent / "data"
SERVICE = 'a "b"\\c'


def sleeper(library: Path, folder: Path) -> AbstractContextManager[subprocess.Popen[str]]:
    """A Python on hew, of a service."""
    return waiting_on_hew(library, folder, OTEL_SERVICE_NAME=SERVICE)


def series_of(text: str) -> Counter[str]:
    """How many series each process has, once the strict parser has taken all of it."""
    return Counter(
        sample.labels["pid"] for family in strictly(text) for sample in family.samples if "pid" in sample.labels
    )


def test_a_scrape_passes_a_strict_parser_and_has_about_forty_series_a_process(
    hew: HewRunner, hew_library: Path, tmp_path: Path
) -> None:
    with sleeper(hew_library, tmp_path) as one, sleeper(hew_library, tmp_path) as two:
        done = hew("export", "--once")
        assert done.returncode == 0, done.stderr
        assert done.stdout.endswith("# EOF\n")
        counts = series_of(done.stdout)
        assert 35 <= counts[str(one.pid)] <= 50
        assert counts[str(two.pid)] == counts[str(one.pid)]
        by_name = {family.name: family for family in strictly(done.stdout)}
        (info,) = (one_ for one_ in by_name["hew_process"].samples if one_.labels["pid"] == str(one.pid))
        assert (info.labels["service_name"], info.labels["allocator"]) == (SERVICE, "hew")
        (allocated,) = (at for at in by_name["hew_allocated_bytes"].samples if at.labels["pid"] == str(one.pid))
        assert 2_000_000 < allocated.value < 200_000_000
        detailed = hew("export", "--once", "--per-arena", "--per-bin").stdout
        assert series_of(detailed)[str(one.pid)] > counts[str(one.pid)] + 100
        assert 'size_class="1024"' in detailed


class Impostor:
    """A process of ours as far as its socket goes: answers what it is told to."""

    def __init__(self, folder: Path, answer: bytes | None) -> None:
        self.path = str(folder / f"impostor{id(self)}")
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(4)
        self.answer = answer
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            connection, _ = self.listener.accept()
            connection.recv(100)
            if self.answer is None:
                list(until_hung_up(connection))
                continue
            with suppress(OSError):
                connection.sendall(self.answer)
            connection.close()


ANSWERS = [
    (b"", "hung-up"),
    (b"ok json 100\nnot all", "hung-up"),
    (b"no such thing\n", "garbage"),
    (b"x" * 1000, "garbage"),
    (b"ok json 999999999999\n{", "too-large"),
    (b"error busy 2\nno\n", "refused"),
    (None, "timeout"),
]


@pytest.mark.parametrize(("answer", "reason"), ANSWERS)
def test_a_process_that_misbehaves_is_given_up_with_a_reason(tmp_path: Path, answer: bytes, reason: str) -> None:
    place = {os.getpid(): Impostor(tmp_path, answer).path}
    assert [one.reason for one in ask_all(place, "J", 0.3 if answer is None else 30.0)] == [reason]


def test_a_hanging_process_keeps_nobody_else_from_being_seen(
    hew_library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with sleeper(hew_library, tmp_path) as good, sleeper(hew_library, tmp_path) as ended:
        hanging = Impostor(tmp_path, None)
        looker = Watch(Wanted(seconds=2.0))
        looker.look()
        known = looker._known[good.pid]
        looker._known = {good.pid: known, os.getpid(): watch._Known(0, hanging.path), ended.pid: known}
        monkeypatch.setattr(looker, "_find", lambda: None)
        monkeypatch.setattr(watch, "start_time", lambda pid: 0 if pid == os.getpid() else known.born)
        ended.kill()
        ended.wait()
        before = looker.look()
        assert [one.pid for one in before.observed] == [good.pid]
        assert before.errors["timeout"] == 1
        assert sum(before.errors.values()) == 1  # who has ended is no error


def test_a_socket_of_another_process_is_not_asked(hew_library: Path, tmp_path: Path) -> None:
    with sleeper(hew_library, tmp_path) as one:
        place = {one.pid: Impostor(tmp_path, b"ok json 2\n{}\n").path}
        assert [answer.reason for answer in ask_all(place, "J", 1e6)] == ["denied"]  # and no process is waited for


def test_answers_that_are_too_much_together_are_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ask, "MOST_TOGETHER", 1000)
    place = {os.getpid(): Impostor(tmp_path, b"ok json 9000\n" + b"x" * 9001).path}
    assert [one.reason for one in ask_all(place, "J", 30.0)] == ["too-large"]


def test_only_the_largest_processes_are_shown_and_the_rest_is_counted(hew_library: Path, tmp_path: Path) -> None:
    with sleeper(hew_library, tmp_path), sleeper(hew_library, tmp_path):
        look = Watch(Wanted(most=1)).look()
        assert len(look.observed) == 1
        assert look.left_out >= 1
        assert not Watch(Wanted(older_than=1e6)).look().observed


def test_dumps_are_shown_by_their_last_whole_report_and_broken_ones_are_counted(hew: HewRunner, tmp_path: Path) -> None:
    report = next(path for path in sorted(DATA.rglob("*")) if path.is_file() and _reads(path)).read_bytes()
    (tmp_path / "redis.1.json").write_bytes(report)
    (tmp_path / 'odd"name\nof.dump').write_bytes(report)
    (tmp_path / "cut").write_bytes(report[: len(report) // 3])
    (tmp_path / "garbage").write_bytes(b"\xff\x00" * 1000)
    (tmp_path / "link").symlink_to(tmp_path / "redis.1.json")
    os.mkfifo(tmp_path / "pipe")
    done = hew("export", "--once", "--dumps", str(tmp_path))
    assert done.returncode == 0, done.stderr
    by_name = {family.name: family for family in strictly(done.stdout)}
    dumps = {one.labels["dump"]: one.labels for one in by_name["hew_process"].samples if "dump" in one.labels}
    assert set(dumps) == {"redis.1.json", 'odd"name\nof.dump'}
    assert dumps["redis.1.json"]["service_name"] == "redis"
    errors = {one.labels["reason"]: one.value for one in by_name["hew_export_errors"].samples}
    assert errors["garbage"] == 2
    assert 'dump="odd\\"name\\nof.dump"' in done.stdout


def _reads(path: Path) -> bool:
    try:
        return any(one.whole and one.totals.allocated for one in read_statistics(str(path)).snapshots)
    except (HewError, OSError):
        return False


def test_a_dump_that_has_not_changed_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "one").write_text("nothing")
    dumps, errors = Dumps(tmp_path), Counter[str]()
    dumps.read(errors)
    monkeypatch.setattr("hew.sources.export.dumps.read_statistics", None)
    dumps.read(errors)
    assert errors["garbage"] == 2


def example() -> Look:
    report = next(path for path in sorted(DATA.rglob("*")) if path.is_file() and _reads(path))
    snapshot = read_statistics(str(report)).snapshots[-1]
    return Look(1.0, 0.1, (Observed("s", snapshot, 7, "p"),), {"timeout": 0})


def test_the_older_format_is_read_by_its_parser_and_says_the_same() -> None:
    found = families(example(), "1", per_arena=True, per_bin=True)
    old = {(one.name, *one.labels.items()): one.value for family in loosely(plain(found)) for one in family.samples}
    new = {
        (one.name, *one.labels.items()): one.value for family in strictly(openmetrics(found)) for one in family.samples
    }
    assert old == new
    assert len(new) > 100


ACCEPTS = [
    ("", PLAIN),
    ("*/*", PLAIN),
    ("application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", OPENMETRICS),
    ("application/openmetrics-text; version=1.0.0; q=0.2, text/plain", PLAIN),
    ("application/openmetrics-text;version=0.0.1", PLAIN),
    ("application/openmetrics-text;q=nonsense", PLAIN),
]


@pytest.mark.parametrize(("accept", "kind"), ACCEPTS)
def test_the_format_is_the_one_that_the_client_likes_best(accept: str, kind: str) -> None:
    assert preferred(accept) == kind


@contextmanager
def serving(
    listen: str = "127.0.0.1:0", token: str = "", patience: float = 5.0, **more: object
) -> Iterator[MetricsServer]:
    guard = Guard(read_address(listen), token, **more)  # type: ignore[arg-type]
    with MetricsServer(guard, lambda accept: (preferred(accept), b"# EOF\n"), patience) as one:
        thread = threading.Thread(target=one.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield one
        finally:
            one.shutdown()
            thread.join()


def ask_page(one: MetricsServer, path: str = "/metrics", **headers: str) -> tuple[int, bytes]:
    connection = HTTPConnection("127.0.0.1", one.listens.port, timeout=PATIENCE)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    return answer.status, answer.read()


def test_a_name_that_is_not_ours_is_not_served() -> None:
    with serving(hosts=("box.example",)) as one:
        port = one.listens.port
        for host in ("localhost", f"127.0.0.1:{port}", f"[::1]:{port}", f"BOX.example:{port}"):
            assert ask_page(one, Host=host)[0] == 200, host
        for host in ("evil.example", f"evil.example:{port}", "127.0.0.1.evil.example", "", "localhost@evil"):
            assert ask_page(one, Host=host)[0] == 421, host


def test_paths_lead_nowhere_else() -> None:
    with serving() as one:
        assert ask_page(one, "/metrics?x=1")[0] == 200
        assert ask_page(one, "/")[0] == 200
        for path in (
            "/metrics/",
            "/metrics/../etc/passwd",
            "/%6detrics",
            "/../../etc/passwd",
            "http://x/metrics",
        ):
            status, body = ask_page(one, path, Host="localhost")
            assert (status, body) == (404, b"only /metrics is here\n"), path


def test_beyond_loopback_a_token_is_needed() -> None:
    with pytest.raises(HewError, match=r"0\.0\.0\.0 can be reached from other machines: give --token-file"):
        Guard(read_address("0.0.0.0:9464"))
    with serving("0.0.0.0:0", "a-token-of-some-length") as one:
        assert ask_page(one)[0] == 401
        for wrong in ("Bearer", "Bearer wrong", "Basic a-token-of-some-length", "a-token-of-some-length"):
            assert ask_page(one, Authorization=wrong)[0] == 401, wrong
        assert ask_page(one, Authorization="Bearer a-token-of-some-length")[0] == 200


@pytest.mark.parametrize("text", ["", "short", "with a space in it somewhere", "ünicode-that-no-header-can-carry"])
def test_a_token_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(HewError, match="no token"):
        checked_token(text, "file")


def test_slow_clients_are_cut_off_and_hold_no_place_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "CLIENTS", 2)
    with serving(patience=3.0) as one, ExitStack() as stack:
        slow = [stack.enter_context(socket.create_connection(("127.0.0.1", one.listens.port), 5)) for _ in range(2)]
        for client in slow:
            client.sendall(b"GET /metrics HTTP/1.1\r\n")
        wait_until(lambda: one._places._value == 0)
        with pytest.raises((OSError, HTTPException)):
            ask_page(one)  # no place: hung up on
        for client in slow:
            client.settimeout(30)
            assert client.recv(100) == b""  # cut off, and not by its own patience
        wait_until(lambda: one._places._value == 2)
        assert ask_page(one)[0] == 200


@pytest.mark.parametrize(
    "words", [(), ("--once", "--listen", "127.0.0.1:0"), ("--listen", "nonsense"), ("--listen", ":1")]
)
def test_wrong_use_is_one_line(hew: HewRunner, words: tuple[str, ...]) -> None:
    done = hew("export", *words)
    assert done.returncode in {1, 2}
    assert "Traceback" not in done.stderr


def test_looks_that_take_longer_than_the_period_follow_each_other(tmp_path: Path) -> None:
    class Slow(Exporting):
        looks = 0

        def now(self, fresh: float = 0.0) -> tuple[Look, tuple[Family, ...]]:
            self.looks += 1
            if self.looks > 3:
                raise KeyboardInterrupt
            time.sleep(0.01)
            look = Look(float(self.looks), 0.01, (), {})
            return look, families(look, "1")

    slow, queue = Slow(Watch(Wanted()), False, False), Queue(tmp_path, 1 << 20)
    with pytest.raises(KeyboardInterrupt):
        push(slow, Engine("http://127.0.0.1:9/w"), queue, {}, every=0.001)
    assert len(list(tmp_path.glob("*.batch"))) == 3


def test_an_exporter_killed_while_the_engine_is_down_sends_all_it_had_when_both_are_back(tmp_path: Path) -> None:
    with fake_engine() as engine:
        port = engine.server_address[1]
    words = [sys.executable, "-m", "hew", "export", "--remote-write", f"http://127.0.0.1:{port}/w", "--every", "0.1"]
    words += ["--queue", str(tmp_path / "queue"), "--label", "job=j", "--label", "instance=i"]

    def waiting() -> int:
        return len(list((tmp_path / "queue").glob("*.batch")))

    with subprocess.Popen(words, stderr=subprocess.DEVNULL) as first:
        wait_until(lambda: waiting() >= 5)
        first.kill()
    kept = waiting()
    with fake_engine(int(port)) as engine, subprocess.Popen(words, stderr=subprocess.DEVNULL) as second:
        own = (("__name__", "hew_export_processes"), ("instance", "i"), ("job", "j"))
        wait_until(lambda: len(engine.rows.get(own, [])) >= kept + 3)
        second.terminate()
        assert second.wait(60) == 143
        stamps = [at for at, _ in engine.rows[own]]
        assert stamps == sorted(set(stamps))
        assert len(stamps) >= kept + 3
