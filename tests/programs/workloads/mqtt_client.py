# SPDX-License-Identifier: MIT
"""Load for an MQTT broker: clients that subscribe to each other's topics, publish, and check what arrives.

Usage: mqtt_client.py PORT CLIENTS MESSAGES PHASE
"""

import hashlib
import random
import socket
import struct
import sys
from concurrent.futures import ThreadPoolExecutor

CONNECT, CONNACK, PUBLISH, PUBACK, SUBSCRIBE, SUBACK, DISCONNECT = 1, 2, 3, 4, 8, 9, 14


def text(value: str) -> bytes:
    return struct.pack(">H", len(value)) + value.encode()


def packet(kind: int, flags: int, body: bytes) -> bytes:
    length, rest = b"", len(body)
    while True:
        length += bytes([rest % 128 | (128 if rest >= 128 else 0)])
        rest //= 128
        if not rest:
            return bytes([kind << 4 | flags]) + length + body


class Client:
    """One session; its reads are blocking and in order."""

    def __init__(self, port: int, name: str, clean: bool = True) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), 60)
        self.stream = self.socket.makefile("rb")
        self.early: list[tuple[int, int, bytes]] = []  # messages that came before the answer to a request
        self.socket.sendall(packet(CONNECT, 0, text("MQTT") + bytes([4, 2 if clean else 0, 0, 120]) + text(name)))
        self.wait_for(CONNACK)

    def read(self) -> tuple[int, int, bytes]:
        first = self.stream.read(1)[0]
        length = shift = 0
        while True:
            byte = self.stream.read(1)[0]
            length |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return first >> 4, first & 15, self.stream.read(length)

    def wait_for(self, wanted: int) -> bytes:
        while True:
            kind, flags, body = self.read()
            if kind != PUBLISH:
                assert kind == wanted, (kind, wanted)
                return body
            self.early.append((kind, flags, body))

    def subscribe(self, topic: str, quality: int) -> None:
        self.socket.sendall(packet(SUBSCRIBE, 2, struct.pack(">H", 1) + text(topic) + bytes([quality])))
        self.wait_for(SUBACK)

    def publish(self, topic: str, body: bytes, number: int, keep: bool = False) -> None:
        self.socket.sendall(packet(PUBLISH, 2 | keep, text(topic) + struct.pack(">H", number) + body))
        self.wait_for(PUBACK)

    def receive(self, count: int) -> list[bytes]:
        """So many messages, each acknowledged."""
        found = []
        while len(found) < count:
            kind, flags, body = self.early.pop(0) if self.early else self.read()
            assert kind == PUBLISH, kind
            length = struct.unpack(">H", body[:2])[0]
            at = 2 + length
            if flags & 6:
                self.socket.sendall(packet(PUBACK, 0, body[at : at + 2]))
                at += 2
            found.append(body[at:])
        return found

    def close(self) -> None:
        self.socket.sendall(packet(DISCONNECT, 0, b""))
        self.socket.close()


def payload(chance: random.Random) -> bytes:
    return chance.randbytes(16) * chance.choice((1, 2, 8, 40, 200, 1000))


def converse(port: int, number: int, messages: int, phase: str) -> str:
    """A publisher, a listener, and a session that sleeps while half of the messages come."""
    chance = random.Random(number)
    topic = f"phase/{phase}/{number}/value"
    sleeper = Client(port, f"sleeper-{number}", clean=False)
    sleeper.subscribe(topic, 1)
    sleeper.close()
    listener, writer = Client(port, f"listener-{number}"), Client(port, f"writer-{number}")
    listener.subscribe(topic, 1)
    sent = [payload(chance) for _ in range(messages)]
    for at, body in enumerate(sent):
        writer.publish(topic, body, at % 60000 + 1)
        if at % 20 == 19:
            writer.publish(f"kept/{number}/{at}", body, 60001, keep=True)
    assert listener.receive(messages) == sent
    sleeper = Client(port, f"sleeper-{number}", clean=False)
    assert sleeper.receive(messages) == sent
    for client in (sleeper, listener, writer):
        client.close()
    return hashlib.sha256(b"".join(sent)).hexdigest()


def main() -> None:
    port, clients, messages = (int(word) for word in sys.argv[1:4])
    with ThreadPoolExecutor(clients) as pool:
        for digest in pool.map(lambda number: converse(port, number, messages, sys.argv[4]), range(clients)):
            print(digest)


main()
