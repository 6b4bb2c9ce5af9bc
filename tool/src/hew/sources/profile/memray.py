# SPDX-License-Identifier: MIT
"""Reads the output of `memray transform csv`: a row a stack, frames innermost first as FUNCTION;FILE;LINE between |.

It counts memory live at the peak or, with --leaks, memory never freed. Both are live bytes here. The format of memray's
own recordings is not public, and changes with its versions.
"""

import csv
from collections.abc import Iterator
from typing import BinaryIO

from hew.model.errors import HewError
from hew.model.profile import FOLDED, Frame, Location, Profile, Stacks
from hew.sources.readable import readable

HEAD = ["allocator", "num_allocations", "size", "tid", "thread_name", "stack_trace"]
FIRST = b"allocator,"
RECORDING, PACKED = b"memray", b"\x04\x22\x4d\x18"  # what its own files begin with; PACKED is LZ4's frame
LONGEST_LINE = 1 << 20  # bytes
MOST_PLACES = 1_000_000
DEEPEST = 512
LARGEST = 1 << 62
NOTE = "what memray counted is shown as live: what lived at the highest point, or with --leaks what was never freed"


def own_recording(head: bytes) -> bool:
    """Whether a file begins as memray's own do."""
    return head.startswith(RECORDING) or (head.startswith(PACKED) and RECORDING in head)


def read_memray(stream: BinaryIO, source: str) -> Profile:
    """A whole table. Raises HewError for what is none."""
    csv.field_size_limit(LONGEST_LINE)  # a stack may be long; Python's own limit is 128 KiB
    rows = csv.reader(_lines(stream, source), strict=True)
    stacks, places = Stacks(), dict[str, int]()
    locations: list[Location] = []
    try:
        if next(rows, None) != HEAD:
            raise ValueError(f"its columns are not {','.join(HEAD)}")
        for row in rows:
            _, objects, size, _, _, trace = row
            stack = [_place(text, places, locations) for text in trace.split("|")[:DEEPEST]]
            stacks.add(stack, (0, 0, _number(objects), _number(size)))
    except (ValueError, csv.Error) as error:
        raise HewError(f"{source}: no table of memray transform csv: line {rows.line_num}: {error}") from error
    notes = (NOTE, *([f"{stacks.folded:,} small stacks were folded into one"] if stacks.folded else []))
    found = stacks.samples(len(locations))
    return Profile(source, found, (*locations, FOLDED), (), False, notes=notes)


def _lines(stream: BinaryIO, source: str) -> Iterator[str]:
    while line := stream.readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE:
            raise HewError(f"{source}: no table of memray transform csv: it has a line of {LONGEST_LINE:,} bytes")
        yield line.decode(errors="replace")


def _number(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 19 or int(text) > LARGEST:
        raise ValueError(f"{text[:60]!r} is no number")
    return int(text)


def _place(text: str, places: dict[str, int], locations: list[Location]) -> int:
    """The number of a frame's location, made where it is new."""
    found = places.get(text)
    if found is None:
        if len(places) >= MOST_PLACES:
            raise ValueError(f"it has more than {MOST_PLACES:,} places")
        found = places[text] = len(locations)
        locations.append(Location(0, None, (_frame(text),)))
    return found


def _frame(text: str) -> Frame:
    name, file, line = text.rsplit(";", 2) if text.count(";") >= 2 else (text, "", "")
    number = int(line) if line.isascii() and line.isdecimal() and len(line) < 10 else 0
    return Frame(readable(name) or "[no stack]", readable(file), number)
