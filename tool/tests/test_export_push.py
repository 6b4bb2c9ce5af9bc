# SPDX-License-Identifier: MIT
"""Remote write: what is sent, what becomes of it when the engine misbehaves, and what the queue keeps."""

import math
import os
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from conftest import wait_until
from fake_engine import FakeEngine, decoded, fake_engine
from hew.analysis.metrics.series import STALE, batches, with_ends
from hew.model.errors import HewError
from hew.model.metric import Labels
from hew.sources.export import remote_write
from hew.sources.export.queue import Queue
from hew.sources.export.remote_write import Engine, Sender
from hew.views.write_request import write_request

ONE: Labels = (("__name__", "hew_x_bytes"), ("pid", "1"))
TWO: Labels = (("__name__", "hew_y_total"), ("pid", "1"), ("service_name", "a\nb\udcff"))


@pytest.fixture
def engine() -> Iterator[FakeEngine]:
    with fake_engine() as one:
        yield one


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_write, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(remote_write, "LONGEST_PAUSE", 0.05)


@contextmanager
def sending(url: str, queue: Queue, timeout: float = 5.0, token: str = "") -> Iterator[list[str]]:
    """A sender at work; what it has said."""
    said: list[str] = []
    sender = Sender(Engine(url, token, timeout), queue, said.append)
    thread = threading.Thread(target=sender.run, daemon=True)
    thread.start()
    try:
        yield said
    finally:
        sender.stop()
        thread.join()
        queue.close()


def put(queue: Queue, number: int) -> None:
    queue.put(write_request([(ONE, float(number)), (TWO, -number / 3)], 1000 + number), 2)


def numbers(engine: FakeEngine) -> list[int]:
    """What the engine has, once it is known that both series have the same."""
    rows = {dict(labels)["__name__"]: samples for labels, samples in engine.rows.items()}
    assert [at for at, _ in rows["hew_x_bytes"]] == [at for at, _ in rows["hew_y_total"]]
    return [int(value) for _, value in rows["hew_x_bytes"]]


def empty(queue: Queue) -> bool:
    return queue.state().batches == 0


def test_a_foreign_decoder_reads_what_is_sent() -> None:
    found = decoded(write_request([(ONE, 1.5), (TWO, math.inf)], 1_700_000_000_123))
    assert found == {
        ONE: [(1_700_000_000_123, 1.5)],
        (*TWO[:2], ("service_name", "a\nb\\udcff")): [(1_700_000_000_123, math.inf)],
    }


def test_a_series_that_has_gone_is_marked_as_ended() -> None:
    rows = with_ends({ONE: 1.0}, [ONE, TWO])
    ((_, value),) = decoded(write_request([(TWO, rows[TWO])], 1))[(*TWO[:2], ("service_name", "a\nb\\udcff"))]
    assert struct.pack("<d", value) == struct.pack("<d", STALE) == struct.pack("<Q", 0x7FF0000000000002)
    assert rows[ONE] == 1.0


def test_a_request_has_one_sample_of_a_series_and_no_more_series_than_engines_like() -> None:
    many: dict[Labels, float] = {(("__name__", str(one)),): 1.0 for one in range(4500)}
    assert [len(rows) for rows in batches(many)] == [2000, 2000, 500]


def test_an_engine_that_fails_hangs_closes_and_comes_back_misses_and_doubles_nothing(
    engine: FakeEngine, tmp_path: Path
) -> None:
    queue = Queue(tmp_path, 1 << 20)
    engine.moods.extend([500, "hang", "close", "take and close", 429, 302, "trickle", "take", 503, "take and close"])
    with sending(engine.url, queue, timeout=0.4) as said:
        for number in range(12):
            put(queue, number)
        wait_until(lambda: empty(queue))
    assert numbers(engine) == list(range(12))
    state = queue.state()
    assert (state.sent, sum(state.dropped.values())) == (24, 0)
    assert state.retries >= 8
    assert any("samples wait on disk" in line for line in said)
    assert said[-1] == "remote write: the engine takes samples again"


def test_the_headers_are_those_of_version_one_and_the_token_goes_along(engine: FakeEngine, tmp_path: Path) -> None:
    queue = Queue(tmp_path, 1 << 20)
    put(queue, 1)
    with sending(engine.url, queue, token="t" * 20):
        wait_until(lambda: empty(queue))
    headers, path = engine.requests[0]
    assert path == "/api/v1/write"
    assert headers["content-encoding"] == "snappy"
    assert headers["content-type"] == "application/x-protobuf"
    assert headers["x-prometheus-remote-write-version"] == "0.1.0"
    assert headers["authorization"] == f"Bearer {'t' * 20}"


def test_what_the_engine_refuses_is_dropped_and_said_once(engine: FakeEngine, tmp_path: Path) -> None:
    queue = Queue(tmp_path, 1 << 20)
    engine.moods.extend([400, 404])
    for number in range(3):
        put(queue, number)
    with sending(engine.url, queue) as said:
        wait_until(lambda: empty(queue))
    assert numbers(engine) == [2]
    assert queue.state().dropped["rejected"] == 4
    assert said == ["remote write: 2 samples dropped, the engine refuses them: status 400 so it is [31m"]


def test_an_exporter_that_was_killed_goes_on_where_it_was(engine: FakeEngine, tmp_path: Path) -> None:
    queue = Queue(tmp_path, 1 << 20)
    for number in range(4):
        put(queue, number)
    batch = queue.oldest(0)
    assert batch is not None
    assert engine.take(batch.body) == 204  # killed between the engine's answer and our note of it
    (tmp_path / "0000000000000009.half").write_bytes(b"killed while this was written")
    queue.close()
    queue = Queue(tmp_path, 1 << 20)
    put(queue, 4)
    with sending(engine.url, queue):
        wait_until(lambda: empty(queue))
    assert numbers(engine) == [0, 1, 2, 3, 4]
    assert queue.state().dropped["rejected"] == 0
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]


def test_a_full_queue_drops_the_oldest_and_counts_them(tmp_path: Path) -> None:
    queue = Queue(tmp_path, 4096)
    for _ in range(10):
        queue.put(b"x" * 1000, 7)
    state = queue.state()
    assert (state.batches, state.dropped["queue-full"]) == (4, 42)
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 4096
    first = queue.oldest(0)
    assert first is not None
    assert first.number == 7
    queue.close()


def test_the_batch_that_is_being_sent_is_not_dropped(tmp_path: Path) -> None:
    queue = Queue(tmp_path, 2100)
    queue.put(b"x" * 1000, 1)
    batch = queue.oldest(0)
    queue.put(b"y" * 1000, 1)
    queue.put(b"z" * 1000, 1)
    assert batch is not None
    queue.acknowledge(batch)
    last = queue.oldest(0)
    assert last is not None
    assert last.body == b"z" * 1000
    assert (queue.state().sent, queue.state().dropped["queue-full"]) == (1, 1)
    queue.close()


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data[:-1] + b"?", bytes.upper])
def test_a_damaged_file_is_left_out_and_counted(tmp_path: Path, damage: object) -> None:
    queue = Queue(tmp_path, 1 << 20)
    queue.put(b"broken", 1)
    queue.put(b"whole", 1)
    path = min(tmp_path.glob("*.batch"))
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    batch = queue.oldest(0)
    assert batch is not None
    assert batch.body == b"whole"
    assert queue.state().dropped["broken-file"] == 1
    queue.close()


def test_one_exporter_at_a_time_has_a_queue(tmp_path: Path) -> None:
    queue = Queue(tmp_path, 1 << 20)
    with pytest.raises(HewError, match="another hew export has this queue"):
        Queue(tmp_path, 1 << 20)
    queue.close()
    Queue(tmp_path, 1 << 20).close()


def test_a_full_disk_loses_a_look_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = Queue(tmp_path, 1 << 20)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", full)
        queue.put(b"lost", 5)
    queue.put(b"kept", 1)
    batch = queue.oldest(0)
    assert batch is not None
    assert (batch.body, queue.state().dropped["disk"]) == (b"kept", 5)
    assert len(list(tmp_path.glob("*.batch"))) == 1
    queue.close()


def test_a_folder_that_cannot_be_written_for_a_while_ends_nothing(
    engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = Queue(tmp_path, 1 << 20)
    put(queue, 0)
    failures = iter([OSError(30, "Read-only file system")] * 2)
    leave = queue._leave

    def failing(number: int, keep: bool) -> None:
        for error in failures:
            raise error
        leave(number, keep)

    monkeypatch.setattr(queue, "_leave", failing)
    with sending(engine.url, queue) as said:
        wait_until(lambda: empty(queue))
    assert numbers(engine) == [0]
    assert "Read-only file system" in said[0]


def test_what_was_acknowledged_lately_is_sent_again_when_that_was_asked_for(tmp_path: Path) -> None:
    queue = Queue(tmp_path, 1 << 20, replay=100.0)
    with fake_engine() as forgetful:
        for number in range(3):
            put(queue, number)
        port = int(forgetful.server_address[1])
        with sending(forgetful.url, queue):
            wait_until(lambda: empty(queue))
    queue = Queue(tmp_path, 1 << 20, replay=100.0)
    put(queue, 3)
    with sending(f"http://127.0.0.1:{port}/api/v1/write", queue):
        wait_until(lambda: queue.state().replayed == 3)  # no other process is there: it may have been killed
        with fake_engine(port) as engine:  # it has nothing of what it acknowledged
            wait_until(lambda: empty(queue))
    assert numbers(engine) == [0, 1, 2, 3]
    queue = Queue(tmp_path, 1 << 20, replay=100.0)
    old = time.time() - 1000
    for path in tmp_path.glob("*.sent"):
        os.utime(path, (old, old))
    queue.replay()
    assert empty(queue)
    assert not list(tmp_path.glob("*.sent"))
    queue.close()


@pytest.mark.parametrize("url", ["ftp://host/x", "http:///x", "http://user:secret@host/x", "nonsense"])
def test_an_address_that_cannot_be_meant_is_refused(url: str) -> None:
    with pytest.raises(HewError, match="--remote-write"):
        Engine(url)
