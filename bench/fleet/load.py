# SPDX-License-Identifier: MIT
"""A played fleet into an engine (remote write 1.0, in order of time) or into a store."""

import http.client
import time
from urllib.parse import urlsplit

import cramjam
import numpy as np
from numpy.typing import NDArray
from play import Fleet, Floats, Labels

from hew.sources.fleet.store import StoreSource
from hew.views.protobuf import field, varint

BLOCKS = 48  # half an hour: Prometheus takes nothing that is an hour older than what it has
MOST_SERIES = 2000  # of a request


def to_store(fleet: Fleet, store: StoreSource) -> int:
    """How many samples."""
    count = 0
    numbers: dict[int, NDArray[np.int32]] = {}
    for times, services in fleet.blocks(BLOCKS // 8):
        series, values = [], []
        for number, (labels, rows) in enumerate(services):
            if number not in numbers:
                numbers[number] = store.ids(labels)
            series.append(numbers[number])
            values.append(rows)
        whole, ids = np.concatenate(values), np.concatenate(series)
        store.add_columns(np.repeat(ids, len(times)), np.tile(times, len(ids)), whole.reshape(-1))
        count += whole.size
    return count


def to_engine(fleet: Fleet, url: str) -> int:
    """How many samples. An engine that is busy (429, 5xx) is asked again; anything else is an error."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=120)
    heads: dict[int, list[bytes]] = {}
    count = 0
    for times, services in fleet.blocks(BLOCKS):
        stamps = [b"\x10" + varint(round(at * 1000)) for at in times]
        for number, (labels, rows) in enumerate(services):
            if number not in heads:
                heads[number] = [_head(one) for one in labels]
            for at in range(0, len(rows), MOST_SERIES):
                _post(
                    connection,
                    parts.path,
                    _body(heads[number][at : at + MOST_SERIES], rows[at : at + MOST_SERIES], stamps),
                )
            count += rows.size
    connection.close()
    return count


def _head(labels: Labels) -> bytes:
    return b"".join(field(1, field(1, name.encode()) + field(2, value.encode())) for name, value in labels)


def _body(heads: list[bytes], rows: Floats, stamps: list[bytes]) -> bytes:
    """A WriteRequest: of each series its labels and all its samples of the block, which are laid out as columns."""
    stamp = np.frombuffer(b"".join(stamps), dtype=np.uint8).reshape(len(stamps), -1)
    samples = np.empty((len(rows), len(stamps), 11 + stamp.shape[1]), dtype=np.uint8)
    samples[:, :, :3] = (0x12, 9 + stamp.shape[1], 0x09)  # field 2, its length; in it field 1, a double
    samples[:, :, 3:11] = np.ascontiguousarray(rows, dtype="<f8").view(np.uint8).reshape(len(rows), len(stamps), 8)
    samples[:, :, 11:] = stamp
    message = b"".join(field(1, head + one.tobytes()) for head, one in zip(heads, samples, strict=True))
    return bytes(cramjam.snappy.compress_raw(message))


def _post(connection: http.client.HTTPConnection, path: str, body: bytes) -> None:
    headers = {"Content-Type": "application/x-protobuf", "Content-Encoding": "snappy"}
    headers["X-Prometheus-Remote-Write-Version"] = "0.1.0"
    for _ in range(60):
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        said = answer.read()
        if answer.status < 300:
            return
        if answer.status != 429 and answer.status < 500:
            raise SystemExit(f"fleet: the engine takes no samples: status {answer.status} {said[:300]!r}")
        time.sleep(0.5)
    raise SystemExit("fleet: the engine has taken nothing for half a minute")
