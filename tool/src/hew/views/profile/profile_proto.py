# SPDX-License-Identifier: MIT
"""A profile in pprof's format, with functions and lines, as pprof, Pyroscope and Parca take it."""

import gzip
from collections.abc import Iterator

from hew.model.profile import Frame, Kind, Location, Mapping, Profile
from hew.views.protobuf import field, numeric, packed

TYPE, SAMPLE, MAPPING, LOCATION, FUNCTION, STRING, TIME, PERIOD_TYPE, PERIOD, DEFAULT = 1, 2, 3, 4, 5, 6, 9, 11, 12, 14
NAMED = (7, 8, 9, 10)  # of a mapping: functions, files, lines, inlined frames are known; no look-up is needed


def to_pprof(profile: Profile) -> bytes:
    """profile.proto in gzip."""
    return gzip.compress(b"".join(_Writer(profile).fields()), mtime=0)


class _Writer:
    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._texts: dict[str, int] = {"": 0}
        self._functions: dict[tuple[str, str], int] = {}

    def _text(self, text: str) -> int:
        return self._texts.setdefault(text, len(self._texts))

    def fields(self) -> Iterator[bytes]:
        """The fields of the profile; what others refer to comes behind them."""
        profile = self._profile
        kinds = [kind for kind in Kind if kind in profile.kinds]
        for kind in kinds:
            yield self._type(TYPE, kind.key, "bytes" if kind.in_bytes else "count")
        used: set[int] = set()
        for sample in profile.samples:
            used.update(sample.stack)
            values = packed(2, (sample.values[kind] for kind in kinds))
            yield field(SAMPLE, packed(1, (place + 1 for place in sample.stack)) + values)
        for number, mapping in enumerate(profile.mappings, 1):
            yield field(MAPPING, self._mapping(number, mapping))
        for place in sorted(used):
            yield field(LOCATION, self._location(place + 1, profile.locations[place]))
        for (name, file), number in self._functions.items():
            row = ((1, number), (2, self._text(name)), (3, self._text(name)), (4, self._text(file)))
            yield field(FUNCTION, b"".join(numeric(*one) for one in row))
        yield self._type(PERIOD_TYPE, "space", "bytes")
        yield numeric(PERIOD, profile.period) + numeric(TIME, profile.nanoseconds)
        yield numeric(DEFAULT, self._text(Kind.INUSE_SPACE.key))
        for text in self._texts:
            yield field(STRING, text.encode(errors="replace"))

    def _type(self, number: int, kind: str, unit: str) -> bytes:
        return field(number, numeric(1, self._text(kind)) + numeric(2, self._text(unit)))

    def _mapping(self, number: int, one: Mapping) -> bytes:
        about = (number, one.start, one.end, one.offset, self._text(one.path), self._text(one.build_id))
        return b"".join(numeric(*row) for row in (*enumerate(about, 1), *((flag, 1) for flag in NAMED)))

    def _location(self, number: int, one: Location) -> bytes:
        mapping = 0 if one.mapping is None else one.mapping + 1
        lines = b"".join(field(4, self._line(frame)) for frame in one.frames)
        return numeric(1, number) + numeric(2, mapping) + numeric(3, one.address) + lines

    def _line(self, frame: Frame) -> bytes:
        number = self._functions.setdefault((frame.name, frame.file), len(self._functions) + 1)
        return numeric(1, number) + numeric(2, frame.line)
