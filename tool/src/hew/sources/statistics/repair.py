# SPDX-License-Identifier: MIT
"""A JSON document that ends too soon: what is whole of it, closed properly."""

import json
import re
from typing import Any

from hew.model.lazy_dataclass import dataclass

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"(?P<colon>\s*:)?|[{}\[\],]', re.DOTALL)
CLOSER = {"{": "}", "[": "]"}
MOST_SHARED = 4096


class _Shared:
    """Makes the objects of a document. Equal rows of numbers share one object, which must not be changed. In a report
    with many arenas most rows are equal, and copies would take half of the memory."""

    def __init__(self) -> None:
        self._rows: dict[tuple[tuple[str, Any], ...], dict[str, Any]] = {}

    def __call__(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """One object; only of plain integers, since True and 1.0 equal 1."""
        if not all(type(value) is int for _, value in pairs):
            return dict(pairs)
        if len(self._rows) >= MOST_SHARED:
            self._rows.clear()
        return self._rows.setdefault(tuple(pairs), dict(pairs))


def _decoder() -> json.JSONDecoder:
    """A decoder for one document. Strings are taken as they are written, control characters too."""
    return json.JSONDecoder(strict=False, object_pairs_hook=_Shared())


@dataclass(frozen=True)
class Decoded:
    """A document, where it ends, and where it was cut off: the names of the objects it was in, or None when whole."""

    value: Any
    end: int
    cut_in: str | None = None


def decode(text: str) -> Decoded | None:
    """The document that the text begins with, or its part before the damage. None when nothing can be read."""
    try:
        value, end = _decoder().raw_decode(text)
        return Decoded(value, end)
    except json.JSONDecodeError as error:
        return _head(text, error.pos)
    except RecursionError:
        return None


def _head(text: str, stop: int) -> Decoded | None:
    """Everything up to the last comma or bracket before `stop`, with the open brackets closed."""
    closers: list[str] = []
    names: list[str] = []
    name = ""
    safe = 0
    for token in TOKEN.finditer(text, 0, stop):
        mark = token[0][0]
        if mark == '"':
            name = token[0].split('"')[1] if token["colon"] else name
            continue
        if mark in CLOSER:
            closers.append(CLOSER[mark])
            names.append(name)
        elif mark in "}]":
            if not closers or closers[-1] != mark:
                break
            closers.pop()
            name = names.pop()
        safe = token.start() if mark == "," else token.end()
    tail, inside = "".join(reversed(closers)), ".".join(filter(None, names))
    try:
        return Decoded(_decoder().decode(text[:safe] + tail), max(safe, 1), inside or "jemalloc")
    except (json.JSONDecodeError, RecursionError):
        return None
