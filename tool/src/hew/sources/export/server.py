# SPDX-License-Identifier: MIT
"""The exporter's web server: one page, a few clients at a time, each with a limit for the whole of its request.

Two paths are known, by exact comparison; nothing of a request leads to a file. One request a connection.
"""

import contextlib
import socket
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from hew.model.address import Address, Guard

CLIENTS = 16  # at a time; further ones are hung up on
PATIENCE = 10.0  # seconds for a client to say what it wants, and again to take it
METRICS = "/metrics"
FRONT = "hew export: the metrics are at /metrics\n"

Page = Callable[[str], tuple[str, bytes]]  # from an Accept header to a type of content and the content


class MetricsServer(ThreadingHTTPServer):
    """Serves one page. `page` makes it, and may be called by several threads."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, guard: Guard, page: Page, patience: float = PATIENCE) -> None:
        self.guard, self.page, self.patience = guard, page, patience
        self._places = threading.BoundedSemaphore(CLIENTS)
        if ":" in guard.address.host:
            self.address_family = socket.AF_INET6
        super().__init__((guard.address.host, guard.address.port), _Handler)

    @property
    def listens(self) -> Address:
        """Where: the port is known now, also when any was asked for."""
        return Address(self.guard.address.host, self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        """In a thread of its own, when there is a place."""
        if self._places.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Leaves its place at the end."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that hang up are none of our business."""

    def server_bind(self) -> None:
        """Without asking DNS for our own name, as the base class does."""
        socket.socket.bind(self.socket, self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]


class _Handler(BaseHTTPRequestHandler):
    server: MetricsServer
    protocol_version = "HTTP/1.0"  # a connection ends with its answer: no client holds a place by resting
    server_version, sys_version = "hew", ""

    def setup(self) -> None:
        self.request.settimeout(self.server.patience)
        super().setup()
        self._limit()

    def _limit(self) -> None:
        """Also cut off clients that send or read only a byte now and then."""
        self._watchdog = threading.Timer(self.server.patience, self._cut)
        self._watchdog.daemon = True
        self._watchdog.start()

    def _cut(self) -> None:
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def finish(self) -> None:
        self._watchdog.cancel()
        super().finish()

    def do_GET(self) -> None:
        """Answer with the page, or say why not."""
        self._watchdog.cancel()  # what we do meanwhile has limits of its own
        kind, body, status = self._answered()
        self._limit()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-store")
        if status == 401:
            self.send_header("WWW-Authenticate", "Bearer")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_HEAD = do_GET  # noqa: N815

    def _answered(self) -> tuple[str, bytes, int]:
        text = "text/plain; charset=utf-8"
        headers = {name.lower(): value for name, value in self.headers.items()}
        refused = self.server.guard.refusal(headers)
        if refused is not None:
            return text, f"{refused[1]}\n".encode(), refused[0]
        path = self.path.partition("?")[0]
        if path == "/":
            return text, FRONT.encode(), 200
        if path != METRICS:
            return text, b"only /metrics is here\n", 404
        return *self.server.page(headers.get("accept", "")), 200

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """A scrape every few seconds is no news."""
