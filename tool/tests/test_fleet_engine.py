# SPDX-License-Identifier: MIT
"""What `hew fleet` asks of an engine, and engines that misbehave."""

import json
import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from conftest import PATIENCE
from fake_engine import until_hung_up
from hew.model.errors import HewError
from hew.model.fleet import HOST, SERVICE, Fold, Over, Query, Span
from hew.sources.fleet import engine as engine_module
from hew.sources.fleet.engine import EngineSource, promql

T = 1_800_000_000.0


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
            for _ in until_hung_up(self.connection, every=0.02):
                self.wfile.write(b" ")
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
    timeout = 0.5 if mood == b"trickle" else PATIENCE
    with engine(mood) as (_, url), pytest.raises(HewError, match=said) as raised:
        EngineSource(url, timeout=timeout).ask(Query("hew_x"), Span(T, T + 60))
    assert "\n" not in str(raised.value)
    assert "\x1b" not in str(raised.value)


def test_rows_that_are_none_and_values_that_are_no_numbers_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    good = {"metric": {SERVICE: "a"}, "value": [T, "1.5"]}
    rows = [good, {"metric": {SERVICE: "b"}, "value": [T, "NaN"]}, {"metric": 7, "value": []}, 5, {}]
    rows += [{"metric": {SERVICE: "c"}, "value": [at, "1"]} for at in (1e300, -1.0, math.nan, 10**400)]
    with engine(success(*rows)) as (server, url):
        source = EngineSource(url, match=(("cluster", "x"),))
        assert [(one.labels, one.mean) for one in source.ask(Query("hew_x"), Span(T, T + 60))] == [(("a",), 1.5)]
        assert "cluster" in server.asked
        monkeypatch.setattr(engine_module, "MOST_ANSWER", 10)
        with pytest.raises(HewError, match="ask of fewer"):
            source.ask(Query("hew_x"), Span(T, T + 60))


@pytest.mark.parametrize(
    "url",
    [
        "localhost:9090",
        "ftp://x",
        "http://",
        "http://h:port",
        "http://u:p@h",
        "http://a..b",
        "http://[::1",
        "http://h/ü",
    ],
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(HewError, match="engine"):
        EngineSource(url)


def test_an_engine_that_is_down_is_said() -> None:
    with engine(b"") as (_, url):
        pass
    with pytest.raises(HewError, match=r"does not answer: .*refused"):
        EngineSource(url).newest()


@pytest.mark.parametrize("newest", ["1e18", "-5"])
def test_a_newest_sample_of_no_time_is_said(newest: str) -> None:
    with engine(success({"metric": {}, "value": [T, newest]})) as (_, url), pytest.raises(HewError, match="is none"):
        EngineSource(url).newest()


@pytest.mark.parametrize("timeout", [math.nan, 1e300])
def test_no_time_to_wait_for_is_said(timeout: float) -> None:
    with engine(success()) as (_, url), pytest.raises(HewError, match="cannot be asked"):
        EngineSource(url, timeout=timeout).newest()


def test_a_label_that_is_no_text_is_said() -> None:
    query = Query("hew_x", match=((SERVICE, "\udcff"),))
    with engine(success()) as (_, url), pytest.raises(HewError, match=r"cannot be asked: .*surrogates"):
        EngineSource(url).ask(query, Span(T, T + 60))
