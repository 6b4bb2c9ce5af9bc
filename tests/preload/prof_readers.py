# SPDX-License-Identifier: MIT
"""Readers of the two formats of heap profiles, as small as they can be."""

import gzip
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

COUNTS = re.compile(r"^  t(\*|\d+): (\d+): (\d+) \[(\d+): (\d+)\](?: (.*))?$")
MAPPING = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) \S+ ([0-9a-f]+) \S+ \d+ *(.*)$")


@dataclass
class Counts:
    """One line of heap_v2."""

    objects: int
    size: int
    ever_objects: int
    ever_size: int
    name: str = ""


@dataclass
class Stack:
    """A stack and who allocated from it; `*` is all threads."""

    frames: list[int]
    threads: dict[str, Counts] = field(default_factory=dict)


@dataclass
class HeapV2:
    """A whole file."""

    interval: int
    threads: dict[str, Counts]
    stacks: list[Stack]
    mappings: list[tuple[int, int, str]]

    def file_of(self, address: int) -> str:
        """The file that is mapped at an address."""
        return next((name for begin, end, name in self.mappings if begin <= address < end), "")


def read_heap_v2(path: Path) -> HeapV2:
    """Read jemalloc's text format; what is not of it raises ValueError."""
    text, _, maps = path.read_text().partition("\nMAPPED_LIBRARIES:\n")
    lines = text.splitlines()
    profile = HeapV2(int(lines[0].removeprefix("heap_v2/")), {}, [], [])
    for line in lines[1:]:
        if line.startswith("@"):
            profile.stacks.append(Stack([int(word, 16) for word in line.split()[1:]]))
        elif match := COUNTS.match(line):
            counts = Counts(*(int(match[i]) for i in range(2, 6)), match[6] or "")
            (profile.stacks[-1].threads if profile.stacks else profile.threads)[match[1]] = counts
        else:
            raise ValueError(f"{path}: {line}")
    for line in maps.splitlines():
        if match := MAPPING.match(line):
            profile.mappings.append((int(match[1], 16), int(match[2], 16), match[4]))
    return profile


def varint(data: bytes, at: int) -> tuple[int, int]:
    """A number and the place behind it."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a message: number, and value or bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
            yield key >> 3, value
        elif key & 7 == 2:
            length, at = varint(data, at)
            yield key >> 3, data[at : at + length]
            at += length
        else:
            raise ValueError(f"wire type {key & 7}")


def numbers(data: int | bytes) -> list[int]:
    """Packed numbers."""
    if isinstance(data, int):
        return [data]
    values, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


@dataclass
class Sample:
    """A stack, its values in the order of the sample types, and its labels."""

    frames: list[int]
    values: list[int]
    labels: dict[str, str | int]


@dataclass
class Mapping:
    """A mapped file."""

    begin: int
    end: int
    name: str
    build_id: str


@dataclass
class Pprof:
    """A whole profile."""

    types: list[str]
    samples: list[Sample]
    mappings: list[Mapping]
    period: int


def as_dict(message: int | bytes) -> dict[int, int | bytes]:
    """A message whose fields come once."""
    assert isinstance(message, bytes)
    return dict(fields(message))


def read_pprof(path: Path) -> Pprof:
    """Read gzipped profile.proto."""
    strings: list[str] = []
    found: dict[int, list[int | bytes]] = {}
    for number, value in fields(gzip.decompress(path.read_bytes())):
        if number == 6:
            assert isinstance(value, bytes)
            strings.append(value.decode())
        else:
            found.setdefault(number, []).append(value)
    locations = {}
    for message in found.get(4, []):
        location = as_dict(message)
        locations[location[1]] = location[3]
    samples = []
    for message in found.get(2, []):
        assert isinstance(message, bytes)
        sample = Sample([], [], {})
        for number, value in fields(message):
            if number == 1:
                sample.frames = [int(locations[place]) for place in numbers(value)]
            elif number == 2:
                sample.values = numbers(value)
            elif number == 3:
                label = as_dict(value)
                key = strings[int(label[1])]
                sample.labels[key] = strings[int(label[2])] if 2 in label else int(label.get(3, 0))
        samples.append(sample)
    mappings = []
    for message in found.get(3, []):
        parts = {key: int(value) for key, value in as_dict(message).items()}
        mappings.append(Mapping(parts[2], parts[3], strings[parts.get(5, 0)], strings[parts.get(6, 0)]))
    types = [strings[int(as_dict(message)[1])] for message in found[1]]
    return Pprof(types, samples, mappings, int(found[12][0]))
