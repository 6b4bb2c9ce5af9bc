# SPDX-License-Identifier: MIT
"""An engine that takes remote writes, and misbehaves as it is told; decodes with libraries that are not ours."""

import contextlib
import socket
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

import cramjam
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

Labels = tuple[tuple[str, str], ...]


def _message_type() -> Any:
    """WriteRequest as the specification of remote write 1.0 has it."""
    file = descriptor_pb2.FileDescriptorProto(name="remote.proto", package="prometheus", syntax="proto3")
    kinds = descriptor_pb2.FieldDescriptorProto
    shapes = {
        "Label": [("name", kinds.TYPE_STRING, ""), ("value", kinds.TYPE_STRING, "")],
        "Sample": [("value", kinds.TYPE_DOUBLE, ""), ("timestamp", kinds.TYPE_INT64, "")],
        "TimeSeries": [("labels", kinds.TYPE_MESSAGE, "Label"), ("samples", kinds.TYPE_MESSAGE, "Sample")],
        "WriteRequest": [("timeseries", kinds.TYPE_MESSAGE, "TimeSeries")],
    }
    for name, fields in shapes.items():
        shape = file.message_type.add(name=name)
        for number, (field, kind, of) in enumerate(fields, 1):
            label = kinds.LABEL_REPEATED if of else kinds.LABEL_OPTIONAL
            one = shape.field.add(name=field, number=number, type=kind, label=label)
            if of:
                one.type_name = f".prometheus.{of}"
    pool: Any = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("prometheus.WriteRequest"))


WRITE_REQUEST = _message_type()


def decoded(body: bytes) -> dict[Labels, list[tuple[int, float]]]:
    """The samples of a request by the labels of their series."""
    request = WRITE_REQUEST()
    request.ParseFromString(bytes(cramjam.snappy.decompress_raw(body)))
    return {
        tuple((label.name, label.value) for label in one.labels): [(at.timestamp, at.value) for at in one.samples]
        for one in request.timeseries
    }


class FakeEngine(ThreadingHTTPServer):
    """Does what `moods` says, one a request, and then takes everything. As real engines do it refuses what is older
    than the newest sample of its series, and takes the newest one twice if it is the same."""

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        self.moods: deque[str | int] = deque()
        self.rows: dict[Labels, list[tuple[int, float]]] = {}
        self.requests: list[tuple[dict[str, str], str]] = []
        self.lock = threading.Lock()
        self.connections: list[socket.socket] = []
        super().__init__(("127.0.0.1", port), _Handler)

    @property
    def url(self) -> str:
        """Where it takes samples."""
        return f"http://127.0.0.1:{self.server_address[1]}/api/v1/write"

    def take(self, body: bytes) -> int:
        """Keep the samples; the status."""
        with self.lock:
            for labels, samples in decoded(body).items():
                kept = self.rows.setdefault(labels, [])
                for sample in samples:
                    if kept and kept[-1] != sample and kept[-1][0] >= sample[0]:
                        return 400
                    if not kept or kept[-1] != sample:
                        kept.append(sample)
        return 204

    def process_request(self, request: Any, client_address: Any) -> None:
        """Remembered, so that connections end with the engine."""
        self.connections.append(request)
        super().process_request(request, client_address)

    def hang_up(self) -> None:
        """End all connections, as the end of a process does."""
        for one in self.connections:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients hang up."""


def until_hung_up(connection: socket.socket, every: float | None = None) -> Iterator[None]:
    """Ends when the other side has given up; each `every` seconds until then the caller has a turn."""
    connection.settimeout(every)
    with contextlib.suppress(ConnectionError):
        while True:
            try:
                if not connection.recv(4096):
                    return
            except TimeoutError:
                yield


class _Handler(BaseHTTPRequestHandler):
    server: FakeEngine
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """One request in the mood of the moment."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.requests.append(({name.lower(): value for name, value in self.headers.items()}, self.path))
        mood = self.server.moods.popleft() if self.server.moods else "take"
        if mood == "hang":
            list(until_hung_up(self.connection))
        elif mood == "take and close":
            self.server.take(body)
        elif mood == "trickle":
            self.wfile.write(b"HTTP/1.1 204 ")
            for _ in until_hung_up(self.connection, every=0.1):
                self.wfile.write(b"x")
        elif mood != "close":
            self._answer(self.server.take(body) if mood == "take" else int(mood))
            return
        self.close_connection = True

    def _answer(self, status: int) -> None:
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "http://127.0.0.1:1/elsewhere")
        text = b"" if status == 204 else b"so it is\x1b[31m"
        if status != 204:
            self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Not in a test's output."""


class FakeStore(FakeEngine):
    """Takes profiles, whatever is in them."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        super().__init__()

    @property
    def url(self) -> str:
        """What the user gives."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def take(self, body: bytes) -> int:
        """Keep it."""
        self.bodies.append(body)
        return 200


@contextmanager
def fake_engine(port: int = 0) -> Iterator[FakeEngine]:
    """An engine that runs; gone at the end."""
    with running(FakeEngine(port)) as engine:
        yield engine


Kind = TypeVar("Kind", bound=FakeEngine)


@contextmanager
def running(made: Kind) -> Iterator[Kind]:
    """It runs; gone at the end."""
    with made as engine:
        thread = threading.Thread(target=engine.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield engine
        finally:
            engine.shutdown()
            engine.hang_up()
            thread.join()
