# SPDX-License-Identifier: MIT
"""A heap profile as OpenTelemetry's ExportProfilesServiceRequest, v1development: an alpha interface that changes.

Of each kind (live objects, live bytes) there is a profile; tables of texts, functions, places and stacks are shared. In
every table 0 stands for nothing.
"""

from collections.abc import Hashable, Mapping
from typing import TypeVar

from hew.model.profile import Frame, Kind, Location, Profile
from hew.views.openmetrics import printable
from hew.views.protobuf import field, fixed64, numeric, packed

MAPPINGS, LOCATIONS, FUNCTIONS, LINKS, STRINGS, ATTRIBUTES, STACKS = range(1, 8)
BUILD_ID = "process.executable.build_id.gnu"
Row = TypeVar("Row", bound=Hashable)


def to_otlp(profile: Profile, attributes: Mapping[str, str], number: bytes) -> bytes:
    """A request with one resource of these attributes; `number`: 16 bytes that name the profile."""
    return _Request(profile).body(attributes, number)


class _Table(dict[Row, int]):
    """Numbers rows from 1 on, each once."""

    def of(self, row: Row) -> int:
        return self.setdefault(row, len(self) + 1)


class _Request:
    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._texts: _Table[str] = _Table()
        self._functions: _Table[tuple[str, str]] = _Table()
        self._places: _Table[int] = _Table()
        self._stacks: _Table[tuple[int, ...]] = _Table()
        self._attributes: _Table[tuple[str, str]] = _Table()

    def _text(self, text: str) -> int:
        return self._texts.of(printable(text)) if text else 0

    def body(self, attributes: Mapping[str, str], number: bytes) -> bytes:
        kinds = [kind for kind in Kind if kind in self._profile.kinds]
        profiles = b"".join(field(2, self._one(kind, number[:-1] + bytes([kind]))) for kind in kinds)
        scope = field(1, field(1, b"hew"))
        about = b"".join(field(1, _attribute(name, text)) for name, text in sorted(attributes.items()))
        resource = field(1, about) + field(2, scope + profiles)
        return field(1, resource) + field(2, self._dictionary())

    def _one(self, kind: Kind, number: bytes) -> bytes:
        rows = b"".join(
            field(2, numeric(1, self._stack(sample.stack)) + packed(4, [sample.values[kind]]))
            for sample in self._profile.samples
            if sample.values[kind]
        )
        about = fixed64(3, self._profile.nanoseconds) + field(5, self._type("space", "bytes"))
        kept = self._type(kind.key, "bytes" if kind.in_bytes else "count")
        return field(1, kept) + rows + about + numeric(6, self._profile.period) + field(7, number)

    def _type(self, name: str, unit: str) -> bytes:
        return numeric(1, self._text(name)) + numeric(2, self._text(unit))

    def _stack(self, stack: object) -> int:
        return self._stacks.of(tuple(self._places.of(place) for place in stack))  # type: ignore[attr-defined]

    def _dictionary(self) -> bytes:
        """The tables; those that name rows of others are written before them."""
        found = {STACKS: [packed(1, one) for one in self._stacks]}
        found[LOCATIONS] = [self._location(self._profile.locations[place]) for place in self._places]
        found[MAPPINGS] = [
            numeric(1, one.start)
            + numeric(2, one.end)
            + numeric(3, one.offset)
            + numeric(4, self._text(one.path))
            + (packed(5, [self._attributes.of((BUILD_ID, one.build_id))]) if one.build_id else b"")
            for one in self._profile.mappings
        ]
        found[FUNCTIONS] = [
            numeric(1, self._text(name)) + numeric(2, self._text(name)) + numeric(3, self._text(file))
            for name, file in self._functions
        ]
        found[ATTRIBUTES] = [
            numeric(1, self._text(name)) + field(2, field(1, printable(text).encode()))
            for name, text in self._attributes
        ]
        found[LINKS] = []
        found[STRINGS] = [text.encode() for text in self._texts]
        return b"".join(field(table, row) for table in sorted(found) for row in (b"", *found[table]))

    def _location(self, one: Location) -> bytes:
        mapping = 0 if one.mapping is None else one.mapping + 1
        return (
            numeric(1, mapping) + numeric(2, one.address) + b"".join(field(3, self._line(line)) for line in one.frames)
        )

    def _line(self, frame: Frame) -> bytes:
        return numeric(1, self._functions.of((frame.name, frame.file))) + numeric(2, frame.line)


def _attribute(name: str, text: str) -> bytes:
    return field(1, name.encode()) + field(2, field(1, printable(text).encode()))
