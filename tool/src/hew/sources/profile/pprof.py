# SPDX-License-Identifier: MIT
"""Reads profile.proto in two passes, since samples may refer to later parts. Only the profile is kept in memory, never
the whole file.
"""

import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import BinaryIO

from hew.model.errors import HewError
from hew.model.profile import FOLDED, Frame, Kind, Location, Mapping, Profile, Stacks, Values
from hew.sources.profile.wire import Field, fields, messages, repeated, signed
from hew.sources.readable import readable

TYPE, SAMPLE, MAPPING, LOCATION, FUNCTION, STRING, TIME, PERIOD = 1, 2, 3, 4, 5, 6, 9, 12
MOST_ROWS = 4_000_000
MOST_TEXT = 512 << 20
Row = dict[int, int]


def read_pprof(opened: Callable[[], BinaryIO], source: str) -> Profile:
    """A whole profile; `opened` returns its unpacked bytes from the start. Raises HewError for any other file."""
    try:
        with opened() as stream:
            tables = _Tables(source, stream)
        with opened() as stream:
            return tables.profile(stream)
    except (ValueError, LookupError, EOFError, OSError, zlib.error) as error:
        raise HewError(f"{source}: no whole profile in pprof's format: {error}") from error


def _row(data: int | bytes) -> Row:
    """The numbers of a message."""
    return {number: value for number, value in fields(_bytes(data)) if isinstance(value, int)}


def _bytes(data: int | bytes) -> bytes:
    if isinstance(data, int):
        raise ValueError("a number stands where a message should be")
    return data


class _Tables:
    """All that samples refer to."""

    def __init__(self, source: str, stream: BinaryIO) -> None:
        self.source = source
        self.texts: list[bytes] = []
        self.types: list[int] = []
        self.mappings: list[Row] = []
        self.functions: dict[int, Row] = {}
        self.locations: dict[int, tuple[Row, tuple[Row, ...]]] = {}
        self.time = self.period = 0
        self._text_bytes = 0
        for field in messages(stream):
            self._take(field)

    def _take(self, field: Field) -> None:
        number, data = field
        if number in {TIME, PERIOD} and isinstance(data, int):
            self.time, self.period = (data, self.period) if number == TIME else (self.time, data)
        elif number == STRING:
            self.texts.append(_bytes(data))
            self._text_bytes += len(self.texts[-1])
        elif number in {TYPE, MAPPING, LOCATION, FUNCTION}:
            self._take_row(number, _bytes(data))
        if max(len(self.mappings), len(self.locations), len(self.functions), len(self.texts)) > MOST_ROWS:
            raise ValueError(f"it has more than {MOST_ROWS:,} rows of a kind")
        if self._text_bytes > MOST_TEXT:
            raise ValueError(f"it has more than {MOST_TEXT >> 20} MiB of names")

    def _take_row(self, number: int, data: bytes) -> None:
        row = _row(data)
        if number == TYPE:
            self.types.append(row.get(1, 0))
        elif number == MAPPING:
            self.mappings.append(row)
        elif number == FUNCTION:
            self.functions[row.get(1, 0)] = row
        else:
            lines = tuple(_row(line) for inner, line in fields(data) if inner == 4)
            self.locations[row.get(1, 0)] = row, lines

    def _text(self, number: int) -> str:
        return readable(self.texts[number].decode(errors="replace"))

    def _columns(self) -> dict[Kind, int]:
        keys = {kind.key: kind for kind in Kind}
        names = [self._text(one) for one in self.types]
        found = {keys[name]: column for column, name in enumerate(names) if name in keys}
        if Kind.INUSE_SPACE not in found and Kind.ALLOC_SPACE not in found:
            said = ", ".join(names) or "nothing"
            raise HewError(f"{self.source}: no heap profile: its samples are {said}, not inuse_space or alloc_space")
        return found

    def profile(self, stream: BinaryIO) -> Profile:
        """The whole profile; the stream is read again from its start."""
        columns, stacks = self._columns(), Stacks()
        numbers = {one: place for place, one in enumerate(self.locations)}
        for number, data in messages(stream):
            if number == SAMPLE:
                stacks.add(*_sample(_bytes(data), numbers, columns))
        rows = {row.get(1, 0): place for place, row in enumerate(self.mappings)}
        locations = [self._location(row, lines, rows) for row, lines in self.locations.values()]
        return Profile(
            source=self.source,
            samples=stacks.samples(len(locations)),
            locations=(*locations, FOLDED),
            mappings=tuple(self._mapping(row) for row in self.mappings),
            accumulated=Kind.ALLOC_SPACE in columns,
            period=self.period,
            nanoseconds=self.time,
        )

    def _mapping(self, row: Row) -> Mapping:
        path, build_id = self._text(row.get(5, 0)), self._text(row.get(6, 0))
        return Mapping(row.get(2, 0), row.get(3, 0), row.get(4, 0), path, build_id)

    def _location(self, row: Row, lines: tuple[Row, ...], mappings: dict[int, int]) -> Location:
        frames = [self._frame(line) for line in lines]
        inlined = tuple(replace(one, inlined=True) for one in frames[:-1])
        return Location(row.get(3, 0), mappings.get(row.get(2, 0)), (*inlined, *frames[-1:]))

    def _frame(self, line: Row) -> Frame:
        function = self.functions[line.get(1, 0)]
        return Frame(self._text(function.get(2, 0)), self._text(function.get(4, 0)), max(0, signed(line.get(2, 0))))


def _sample(data: bytes, numbers: dict[int, int], columns: dict[Kind, int]) -> tuple[list[int], Values]:
    stack: list[int] = []
    values: list[int] = []
    for number, value in fields(data):
        if number == 1:
            stack += [numbers[one] for one in repeated(value)]
        elif number == 2:
            values += repeated(value)
    picked = [signed(values[columns[kind]]) if kind in columns else 0 for kind in Kind]
    return stack, (picked[0], picked[1], picked[2], picked[3])
