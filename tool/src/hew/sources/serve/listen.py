# SPDX-License-Identifier: MIT
"""Listens at an address, and serves an application there until a signal comes."""

import errno
import os
import socket

import uvicorn
from starlette.types import ASGIApp

from hew.model.address import Address
from hew.model.errors import HewError

CLIENTS = 64  # connections at a time; more are answered 503


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
    config = uvicorn.Config(
        application,
        lifespan="off",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        limit_concurrency=CLIENTS,
        timeout_keep_alive=10,
        timeout_graceful_shutdown=1,
        h11_max_incomplete_event_size=16384,
        http="h11",
    )
    uvicorn.Server(config).run(sockets=[listener])
