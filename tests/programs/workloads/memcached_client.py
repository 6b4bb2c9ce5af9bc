# SPDX-License-Identifier: MIT
"""Load for memcached: each connection owns its keys, so that every answer is known in advance and checked.

Usage: memcached_client.py PORT CONNECTIONS OPERATIONS
"""

import hashlib
import random
import socket
import sys
from concurrent.futures import ThreadPoolExecutor

BATCH = 20
SIZES = (1, 10, 60, 100, 500, 1000, 4000, 16_000, 60_000, 200_000)


class Connection:
    """A client that remembers what the server must hold."""

    def __init__(self, port: int, number: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), 30)
        self.stream = self.socket.makefile("rb")
        self.chance = random.Random(number)
        self.number = number
        self.held: dict[str, bytes] = {}
        self.digest = hashlib.sha256()

    def value(self) -> bytes:
        size = self.chance.choice(SIZES[:8] * 6 + SIZES[8:])
        return self.chance.randbytes(16) * (size // 16) + b"x" * (size % 16)

    def command(self) -> tuple[bytes, str, str]:
        """Bytes to send, the kind of answer, and the key."""
        key = f"c{self.number}-{self.chance.randrange(60)}"
        kind = self.chance.choice(("set", "set", "get", "get", "get", "append", "delete"))
        if kind == "get":
            return f"get {key}\r\n".encode(), "get", key
        if kind == "delete":
            return f"delete {key}\r\n".encode(), "delete", key
        body = self.value()
        if kind == "append" and (key not in self.held or len(self.held[key]) > 200_000):
            kind = "set"
        self.held[key] = self.held[key] + body if kind == "append" else body
        return f"{kind} {key} 0 0 {len(body)}\r\n".encode() + body + b"\r\n", "store", key

    def expect(self, kind: str, key: str, held: bytes | None) -> None:
        line = self.stream.readline()
        if kind == "store":
            assert line == b"STORED\r\n", line
        elif kind == "delete":
            assert line == (b"NOT_FOUND\r\n" if held is None else b"DELETED\r\n"), line
        elif held is None:
            assert line == b"END\r\n", line
        else:
            assert line == f"VALUE {key} 0 {len(held)}\r\n".encode(), line
            body = self.stream.read(len(held))
            assert body == held, f"the value of {key} changed"
            self.digest.update(body)
            assert self.stream.read(7) == b"\r\nEND\r\n"

    def run(self, operations: int) -> str:
        for _ in range(operations // BATCH):
            requests, answers = [], []
            for _ in range(BATCH):
                request, kind, key = self.command()
                requests.append(request)
                answers.append((kind, key, self.held.get(key)))
                if kind == "delete":
                    self.held.pop(key, None)
            self.socket.sendall(b"".join(requests))
            for kind, key, held in answers:
                self.expect(kind, key, held)
        self.socket.close()
        return self.digest.hexdigest()


def main() -> None:
    port, connections, operations = (int(word) for word in sys.argv[1:4])
    with ThreadPoolExecutor(connections) as pool:
        clients = [Connection(port, number) for number in range(connections)]
        for digest in pool.map(lambda client: client.run(operations), clients):
            print(digest)


main()
