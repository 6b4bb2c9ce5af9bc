# SPDX-License-Identifier: MIT
"""Listens at an address, and serves an application there until a signal comes."""

import asyncio
import errno
import os
import socket

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from hew.model.address import Address
from hew.model.errors import HewError

CLIENTS = 64  # connections at a time; more are answered 503
PATIENCE = 10.0  # seconds in which a client that is connected must have asked for something


class Patient(H11Protocol):
    """A connection that does not hold its place by sending half a request, or a byte now and then."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Looks after it from now on."""
        super().connection_made(transport)
        self._seen: object = None
        self.loop.call_later(PATIENCE, self._judge)

    def _judge(self) -> None:
        working = self.cycle is not None and not self.cycle.response_complete
        if not working and self.cycle is self._seen:
            self.transport.close()
        elif not self.transport.is_closing():
            self._seen = self.cycle
            self.loop.call_later(PATIENCE, self._judge)


def listen(address: Address) -> tuple[socket.socket, Address]:
    """A socket that listens, and where: the port is known now, also when any was asked for. Raises HewError."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((address.host, address.port))
        found.listen(CLIENTS)
    except OSError as error:
        found.close()
        if error.errno == errno.EADDRINUSE:
            raise HewError(f"port {address.port} is in use: --listen {address.host}:0 takes a free one") from error
        reason = error.strerror if isinstance(error, socket.gaierror) else os.strerror(error.errno or 0)
        raise HewError(f"{address.host}:{address.port} cannot be listened at: {reason}") from error
    return found, Address(address.host, found.getsockname()[1])


def serve(application: ASGIApp, listener: socket.socket) -> None:
    """Until a signal, which then takes its usual course."""
    server_of(application).run(sockets=[listener])


def server_of(application: ASGIApp) -> uvicorn.Server:
    """The server, which does not run yet."""
    config = uvicorn.Config(
        application,
        lifespan="off",
        ws="none",
        log_config=None,
        log_level="critical",  # malformed requests are not logged
        access_log=False,
        server_header=False,
        limit_concurrency=CLIENTS,
        timeout_keep_alive=10,
        timeout_graceful_shutdown=1,
        h11_max_incomplete_event_size=16384,
        http=Patient,
    )
    return uvicorn.Server(config)
