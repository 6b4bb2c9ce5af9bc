# SPDX-License-Identifier: MIT
"""Heap profiles in the request formats of profile stores.

Pyroscope: push.v1.PusherService/Push, as JSON (Connect). Parca: ProfileStoreService/WriteRaw of
parca.profilestore.v1alpha1, as its HTTP gateway takes it. Both have the profile as gzipped profile.proto. OTLP is in
otlp.py.
"""

import base64
import json
from collections.abc import Mapping

from hew.model.lazy_dataclass import dataclass

TYPE = "memory"  # both call types of it memory:inuse_space:bytes:space:bytes


@dataclass(frozen=True)
class Service:
    """A store: what it is called, the path of its interface, the type of a request."""

    title: str
    path: str
    content: str


PYROSCOPE = Service("Pyroscope", "/push.v1.PusherService/Push", "application/json")
PARCA = Service("Parca", "/api/profiles/writeraw", "application/json")
OTLP = Service("OTLP profiles", "/v1development/profiles", "application/x-protobuf")


def to_pyroscope(labels: Mapping[str, str], profile: bytes, number: str) -> bytes:
    """One profile; `number` (a UUID) is the same when it is sent again."""
    series = {"labels": _pairs(labels), "samples": [{"ID": number, "rawProfile": _text(profile)}]}
    return _document({"series": [series]})


def to_parca(labels: Mapping[str, str], profile: bytes) -> bytes:
    """One profile. Its addresses are those of the process, not of its files."""
    series = {"labels": {"labels": _pairs(labels)}, "samples": [{"rawProfile": _text(profile)}]}
    return _document({"series": [series], "normalized": False})


def _pairs(labels: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "value": text} for name, text in sorted({**labels, "__name__": TYPE}.items())]


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _document(document: object) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()
