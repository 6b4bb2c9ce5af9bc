# SPDX-License-Identifier: MIT
"""Where a fleet's series come from: the store, the files that it reads, and engines that misbehave."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from hew.commands.fleeting import samples_of
from hew.model.errors import HewError
from hew.model.fleet import HOST, SERVICE, Fold, Over, Query, Span
from hew.model.metric import Labels
from hew.sources.fleet import engine as engine_module
from hew.sources.fleet.engine import EngineSource, promql
from hew.sources.fleet.files import refresh, store_of
from hew.sources.fleet.store import NAME, StoreSource
from hew.sources.history.blocks import LineFile
from hew.sources.history.recording import line_of
from test_watch_file import record

T = 1_800_000_000.0


def labels(series: str, service: str, host: str, **more: str) -> Labels:
    return tuple(sorted({"__name__": series, SERVICE: service, HOST: host, "pid": "1", **more}.items()))


@pytest.fixture
def store() -> Iterator[StoreSource]:
    """Two services; in one of them a counter begins anew."""
    one = StoreSource(None)
    rows = [
        (labels("hew_x_bytes", "a", host), T + at, value * at)
        for host, value in (("h", 1.0), ("i", 2.0))
        for at in range(60, 3601, 60)
    ]
    rows += [(labels("hew_x_bytes", "b", "h"), T + 3600, 7.0)]
    rows += [
        (labels("hew_y_total", "a", "h"), T + at, float(at if at < 1800 else at - 1800)) for at in range(0, 3601, 60)
    ]
    one.add(rows)
    yield one
    one.close()


def answer(source: StoreSource, query: Query, span: Span) -> dict[tuple[str, ...], list[float]]:
    return {line.labels: [value for _, value in line.points] for line in source.ask(query, span)}


def test_a_size_is_the_last_one_before_the_step_ends(store: StoreSource) -> None:
    whole = Span(T, T + 3600, 4)
    assert answer(store, Query("hew_x_bytes"), whole) == {("a",): [2700, 5400, 8100, 10800], ("b",): [7]}
    assert answer(store, Query("hew_x_bytes", fold=Fold.MAX), Span(T, T + 3600)) == {("a",): [7200], ("b",): [7]}
    only = Query("hew_x_bytes", fold=Fold.COUNT, by=(HOST,), match=((SERVICE, "a"),))
    assert answer(store, only, Span(T, T + 3600)) == {("h",): [1], ("i",): [1]}
    assert answer(store, Query("hew_x_bytes"), Span(T + 3600, T + 3600 + 301)) == {}, "too old"


def test_steps_shorter_than_the_time_between_samples_have_the_last_one(store: StoreSource) -> None:
    steps = answer(store, Query("hew_x_bytes", match=((HOST, "h"), (SERVICE, "a"))), Span(T + 3480, T + 3600, 8))
    assert steps == {("a",): [3480, 3480, 3480, 3540, 3540, 3540, 3540, 3600]}


def test_a_store_that_is_open_elsewhere_is_said(tmp_path: Path) -> None:
    code = "import duckdb, sys; b = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    words = [sys.executable, "-c", code, str(tmp_path / NAME)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(HewError, match="another hew fleet has it open"):
            store_of(tmp_path)
        other.kill()


def test_a_counter_that_begins_anew_begins_at_nothing(store: StoreSource) -> None:
    (value,) = answer(store, Query("hew_y_total", Over.INCREASE), Span(T, T + 3600))[("a",)]
    assert value == pytest.approx((1740 + 0 + 1800) / 3600)


def test_a_series_that_is_not_there_has_no_answer_and_an_unknown_label_is_named(store: StoreSource) -> None:
    assert store.ask(Query("hew_none"), Span(T, T + 60)) == []
    with pytest.raises(HewError, match="does not know series by cluster"):
        store.ask(Query("hew_x_bytes", match=(("cluster", "x"),)), Span(T, T + 60))
    assert answer(store, Query("hew_x_bytes", match=((SERVICE, "a' or 1=1 --"),)), Span(T, T + 3600)) == {}


def test_scrapes_and_recordings_become_samples_once(tmp_path: Path) -> None:
    (tmp_path / "host-1").mkdir()
    scrape = tmp_path / "host-1" / f"scrape-{int(T)}.txt"
    scrape.write_text(
        '# TYPE hew_allocated_bytes gauge\nhew_allocated_bytes{pid="7",service_name="a\\"b"} 5e6\nup 1\n# EOF\n'
    )
    (tmp_path / "host-2.om").write_text(
        f'hew_allocated_bytes{{pid="8",service_name="a\\"b"}} 5e6 {T * 1000:.0f}\n'
        'hew_allocated_bytes{pid="9",service_name="a\\"b"} NaN\nhew_allocated_bytes{pid="7"} +Inf\n'
    )
    (tmp_path / "host-3").mkdir()
    file = LineFile(tmp_path / "host-3" / "watched", 1 << 20, {})
    file.put(line_of(record(T)))
    file.close()
    source = store_of(tmp_path)
    assert refresh(source, tmp_path, samples_of) == []
    query, now = Query("hew_allocated_bytes", by=(SERVICE, HOST)), Span(T - 60, T + 60)
    expected = {('a"b', "host-1"): [5e6], ('a"b', "host-2"): [5e6], ("server", "host-3"): [float(1 << 20)]}
    assert answer(source, query, now) == expected
    file = LineFile(tmp_path / "host-3" / "watched", 1 << 20, {})
    file.put(line_of(record(T + 30, size=2 << 20)))
    file.close()
    source.close()
    source = store_of(tmp_path)
    assert refresh(source, tmp_path, samples_of) == []
    assert answer(source, query, now)["server", "host-3"] == [float(2 << 20)]
    counted = source._base.execute("select count(*), count(distinct (series, moment)) from samples").fetchone()
    assert counted[0] == counted[1], "what was read before is not read again"
    source.close()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\x00\x01garbage\n", "line 1 is no sample"),
        ('hew_x_bytes{service_name="a} 1\n', "line 1 "),
        ("hew_x_bytes 1e\n", "could not convert"),
        ("", "neither a scrape"),
    ],
)
def test_a_file_that_is_none_of_ours_is_left_out_whole(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "bad.txt").write_text('hew_x_bytes{service_name="a"} 1\n' * bool(text) + text)
    source = store_of(tmp_path)
    (note,) = refresh(source, tmp_path, samples_of)
    assert said.replace("line 1", "line 2") in note
    assert source.newest() is None
    source.close()


def test_a_folder_that_is_none_and_a_broken_store_are_said(tmp_path: Path) -> None:
    with pytest.raises(HewError, match="is no folder"):
        store_of(tmp_path / "none")
    (tmp_path / NAME).write_text("this was a database once, or so they say")
    with pytest.raises(HewError, match="remove it, it is made anew"):
        store_of(tmp_path)


def test_a_query_is_promql_with_values_quoted() -> None:
    query = Query("hew_x_total", Over.INCREASE, Fold.MAX, (SERVICE, HOST), ((SERVICE, 'a"\\\n'),))
    text = 'max by (service_name, instance) (increase(hew_x_total{service_name="a\\"\\\\\\n"}[90000ms]) / 90.0)'
    assert promql(query, 90.0) == text


class Server(ThreadingHTTPServer):
    """An engine in a mood."""

    daemon_threads = True
    mood = b""
    asked = ""


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.server.asked = self.rfile.read(int(self.headers["Content-Length"])).decode()
        mood = self.server.mood
        if mood == b"hang up":
            self.close_connection = True
            return
        if mood == b"trickle":
            self.send_response(200)
            self.end_headers()
            for _ in range(200):
                self.wfile.write(b" ")
                time.sleep(0.02)
            self.close_connection = True
            return
        self.send_response(302 if mood == b"elsewhere" else 500 if b"bad" in mood else 200)
        self.send_header("Location", "http://127.0.0.1:1/")
        self.send_header("Content-Length", str(len(mood)))
        self.end_headers()
        self.wfile.write(mood)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Not in a test's output."""


@contextmanager
def engine(mood: bytes) -> Iterator[tuple[Server, str]]:
    with Server(("127.0.0.1", 0), _Handler) as server:
        server.mood = mood
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server, f"http://127.0.0.1:{server.server_address[1]}/prefix/"
        server.shutdown()
        thread.join()


def success(*rows: object) -> bytes:
    return json.dumps({"status": "success", "data": {"result": rows}}).encode()


@pytest.mark.parametrize(
    ("mood", "said"),
    [
        (b"hang up", "does not answer"),
        (b"trickle", "no answer within 0.5 s"),
        (b"elsewhere", "not as Prometheus does .status 302.: elsewhere"),
        (b"<html>\x1b[31m</html>", r"not as Prometheus does .status 200.: <html> \[31m</html>"),
        (b"[" * 100_000, "not as Prometheus does"),
        (b'{"status":"error","error":"bad\\nquery"}', "refuses a query .status 500.: bad query"),
        (b'{"status":"success","data":null}', "not as Prometheus does"),
    ],
)
def test_an_engine_that_misbehaves_is_said_in_one_line(mood: bytes, said: str) -> None:
    with engine(mood) as (_, url), pytest.raises(HewError, match=said) as raised:
        EngineSource(url, timeout=0.5).ask(Query("hew_x"), Span(T, T + 60))
    assert "\n" not in str(raised.value)
    assert "\x1b" not in str(raised.value)


def test_rows_that_are_none_and_values_that_are_no_numbers_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    good = {"metric": {SERVICE: "a"}, "value": [T, "1.5"]}
    rows = [good, {"metric": {SERVICE: "b"}, "value": [T, "NaN"]}, {"metric": 7, "value": []}, 5, {}]
    with engine(success(*rows)) as (server, url):
        source = EngineSource(url, match=(("cluster", "x"),))
        assert [(one.labels, one.mean) for one in source.ask(Query("hew_x"), Span(T, T + 60))] == [(("a",), 1.5)]
        assert "cluster" in server.asked
        monkeypatch.setattr(engine_module, "MOST_ANSWER", 10)
        with pytest.raises(HewError, match="ask of fewer"):
            source.ask(Query("hew_x"), Span(T, T + 60))


@pytest.mark.parametrize("url", ["localhost:9090", "ftp://x", "http://", "http://h:port", "http://u:p@h"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(HewError, match="--engine"):
        EngineSource(url)


def test_an_engine_that_is_down_is_said() -> None:
    with engine(b"") as (_, url):
        pass
    with pytest.raises(HewError, match=r"does not answer: .*refused"):
        EngineSource(url).newest()
