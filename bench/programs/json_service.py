#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A service that keeps JSON documents, and the client that loads it.

    json_service.py serve PORT            PUT /KEY keeps a document, GET /KEY gives it, with a sum over its numbers
    json_service.py load PORT COUNT       COUNT documents, half of them replaced and read again; exits 1 if one is wrong

Standard library alone, loopback alone; run with PYTHONMALLOC=malloc the allocator sees every object.
"""

import http.client
import json
import random
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer


class Service(BaseHTTPRequestHandler):
    """One connection after the other, each with as many requests as it likes."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    kept: dict[str, object] = {}  # noqa: RUF012 - the service's state

    def do_PUT(self) -> None:
        length = int(self.headers.get("Content-Length", "0"))
        self.kept[self.path] = json.loads(self.rfile.read(length))
        self._answer({"kept": len(self.kept)})

    def do_GET(self) -> None:
        document = self.kept.get(self.path)
        total = sum(document["values"]) if isinstance(document, dict) else None
        self._answer({"document": document, "sum": total})

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Nothing is logged."""

    def _answer(self, document: object) -> None:
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def document(number: int) -> dict[str, object]:
    """The same for the same number."""
    drawn = random.Random(number)  # noqa: S311
    return {
        "id": number,
        "name": f"document {number} of many",
        "tags": ["t" * drawn.randrange(3, 40) for _ in range(drawn.randrange(8))],
        "values": [drawn.randrange(10**9) for _ in range(drawn.randrange(1, 60))],
        "nested": {f"key {key}": {"text": "x" * drawn.randrange(200)} for key in range(drawn.randrange(6))},
    }


def load(port: int, count: int) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port)

    def ask(method: str, key: int, body: object = None) -> dict[str, object]:
        connection.request(method, f"/{key}", None if body is None else json.dumps(body))
        answer: dict[str, object] = json.loads(connection.getresponse().read())
        return answer

    for key in range(count):
        ask("PUT", key, document(key))
    for key in range(0, count, 2):
        ask("PUT", key, document(key + count))
        if ask("GET", key)["document"] != document(key + count):
            return 1
    return 0


def main(words: list[str]) -> int:
    if words[:1] == ["serve"] and len(words) == 2:
        HTTPServer(("127.0.0.1", int(words[1])), Service).serve_forever()
    if words[:1] == ["load"] and len(words) == 3:
        return load(int(words[1]), int(words[2]))
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
