# SPDX-License-Identifier: MIT
"""Where a web server of ours listens, and which requests it serves: by the Host they name, by their token."""

import hmac
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass

from hew.model.errors import HewError

LEAST_TOKEN = 16  # characters: too many to guess


@dataclass(frozen=True)
class Address:
    """HOST:PORT; a host of version 6 stands in brackets in the text, and without them here."""

    host: str
    port: int

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def url(self) -> str:
        """As a browser wants it."""
        return f"http://[{self.host}]:{self.port}" if ":" in self.host else f"http://{self.host}:{self.port}"


def read_address(text: str) -> Address:
    """HOST:PORT as an address. Raises HewError for what is none."""
    host, _, port = text.rpartition(":")
    host = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not host or not port.isdecimal() or int(port) > 65535:
        raise HewError(f"{text!r} is not HOST:PORT, such as 127.0.0.1:9464")
    return Address(host, int(port))


@dataclass(frozen=True)
class Guard:
    """Decides which requests are served. Without a token, those whose Host is one of our own names. A foreign page may
    point its own name at this machine (DNS rebinding), but its requests carry that name."""

    address: Address
    token: str = ""
    hosts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.token and not self.address.loopback:
            raise HewError(
                f"{self.address.host} can be reached from other machines: give --token-file FILE. Clients send "
                "its content (Authorization: Bearer ...); 127.0.0.1 needs none"
            )

    def refusal(self, headers: Mapping[str, str]) -> tuple[int, str] | None:
        """Status and sentence for a request that is not served. The names of headers are in lower case."""
        if self.token and not carries(headers, self.token):
            return 401, "a token is needed: Authorization: Bearer ..."
        return self.misnamed(headers)

    def misnamed(self, headers: Mapping[str, str]) -> tuple[int, str] | None:
        """The same, of the name alone: for what needs no token."""
        if self.address.loopback and not self._is_ours(headers.get("host", "")):
            return 421, "this server does not go by that name: --allow-host NAME if it should"
        return None

    def _is_ours(self, text: str) -> bool:
        host, colon, port = text.lower().rpartition(":")
        if not colon or not port.isdecimal():
            host = text.lower()
        host = host.strip("[]")
        known = ("localhost", "127.0.0.1", "::1", self.address.host, *self.hosts)
        return host in {one.lower() for one in known}


def carries(headers: Mapping[str, str], token: str) -> bool:
    """Whether a request has the token with it."""
    kind, _, given = headers.get("authorization", "").partition(" ")
    return kind.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), token.encode())


def checked_token(text: str, source: str) -> str:
    """A token as a file has it. Raises HewError for one that could be guessed, or not be sent."""
    token = text.strip()
    if len(token) < LEAST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise HewError(f"{source}: no token: it wants one line of {LEAST_TOKEN} characters or more, without spaces")
    return token
