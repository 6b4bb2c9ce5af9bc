# SPDX-License-Identifier: MIT
"""Rows of reports. Lines of a text in which numbers touch: read for certain, or not at all. Rows of zeros in JSON:
left out before they are decoded."""

import json
import re

import pytest

from hew.sources.statistics.columns import values_of
from hew.sources.statistics.json_form import from_json
from hew.sources.statistics.repair import decode
from hew.sources.statistics.stream import find_reports, without_empty_rows
from test_statistics import only, recorded

SECOND = 10**9
HEADER = (
    "                           n_lock_ops (#/sec)       n_waiting (#/sec)      n_spin_acq (#/sec)"
    "  n_owner_switch (#/sec)"
    "   total_wait_ns   (#/sec)     max_wait_ns  max_n_thds"
)
WIDTHS = (16, 8, 16, 8, 16, 8, 16, 8, 16, 10, 16, 12)


def printed(label: str, numbers: list[int]) -> str:
    """As jemalloc's printf writes it: flush right, and wider than its column where it must be."""
    return f"{label:21}" + "".join(f"{one:{width}}" for one, width in zip(numbers, WIDTHS, strict=True))


def with_rates(counts: list[int], seconds: int) -> list[int]:
    """Each of the first five counts with its rate, then the rest."""
    pairs = [value for one in counts[:5] for value in (one, one // seconds)]
    return pairs + counts[5:]


def test_a_header_of_this_test_is_one_that_jemalloc_writes() -> None:
    assert HEADER in recorded("jemalloc-5.3.0", "txt")
    assert len(printed("", [0] * 12)) == len(HEADER)


@pytest.mark.parametrize(
    "counts",
    [
        [40_000_000, 5_000_000, 12, 900_000, 226 * SECOND, 6_190_000_000, 31],
        [9_999_999_999_999_999, 5, 12, 900_000, 226 * SECOND, 6_190_000_000, 31],
        [40, 5, 12, 9, 123_456_789_012_345_678, 1_234_567_890_123_456, 31],
        [40, 5, 12, 9, 1_234_567_890_123_456, 1_234_567_890_123_456, 123_456_789_012],
    ],
)
def test_numbers_that_touch_are_told_apart_by_their_rates(counts: list[int]) -> None:
    line = printed("extents_dirty", with_rates(counts, 20))
    row = values_of(line, HEADER, "extents_dirty", 20 * SECOND)
    assert row is not None
    assert [None if one is None else int(one) for one in row.values] == with_rates(counts, 20)


def test_what_can_be_read_in_two_ways_is_not_reported_and_named() -> None:
    """Two columns without a rate, both filled beyond their width: where one ends, nothing tells."""
    header = "large:          size ind    allocated  curlextents"
    row = values_of("                   412345678901234567890123456789", header, "", SECOND)
    assert row is None or None in row.values
    text = recorded("jemalloc-5.3.0", "txt")
    lines = text.splitlines()
    at = next(number for number, line in enumerate(lines) if line == HEADER)
    numbers = [*with_rates([40, 5, 12, 9, 7], 1), 12_345_678_901_234_567, 1_234_567_890_123]
    lines[at + 1] = printed(lines[at + 1].split()[0], numbers)
    snapshot = only("\n".join(lines))
    lock = snapshot.mutexes[lines[at + 1].split()[0]]
    assert (lock.num_ops, lock.num_wait, lock.total_wait_ns) == (40, 5, 7)
    assert (lock.max_wait_ns, lock.max_num_thds) == (None, None)
    assert "max_num_thds (1), max_wait_ns (1)" in snapshot.notes[-1]


def test_no_value_is_a_part_of_a_number() -> None:
    """A row whose columns are narrower than its header says: by position it would be cut through its numbers."""
    line = re.sub(" {3,}", "  ", printed("base", with_rates([400_000, 30_000, 200, 77_000, 5_000_000, 90_000, 4], 3)))
    line = line[: line.rindex("  ")] + line[line.rindex("  ") + 2 :]
    row = values_of(line, HEADER, "base", 3 * SECOND)
    assert row is None


def test_nested_openings_are_no_whole_reports() -> None:
    assert not find_reports('{"jemalloc":{' * 2000, "test").snapshots


def test_rows_that_are_alike_are_kept_once_but_not_a_number_for_a_truth() -> None:
    decoded = decode('{"jemalloc":{"a":{"x":1},"b":{"x":1},"c":{"x":true}}}')
    rows = decoded.value["jemalloc"] if decoded else {}
    assert rows["a"] is rows["b"]
    assert rows["c"]["x"] is True


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("name", ["hew-0.1.0", "jemalloc-5.2.1", "jemalloc-5.3.0", "jemalloc-5.3.1"])
def test_a_report_without_its_empty_rows_tells_the_same_in_less_room(name: str, indent: int | None) -> None:
    text = json.dumps(json.loads(recorded(name, "json")), indent=indent)
    short = without_empty_rows(text)
    assert len(short) < 0.8 * len(text)
    assert from_json(json.loads(short)) == from_json(json.loads(text))


def test_only_rows_of_zeros_are_left_out() -> None:
    kept = '{"large":{"allocated":0},"bins":[{"a":0,"b":1},{"a":0,"b":"0"},{"a":00},{"a":0,"x":{"n":0}}]}'
    assert without_empty_rows(kept) == kept
    rows = '[{"a":0},{"a":1}, {"a": 0,\n"mutex": {"n": 0}}, {"mutex":{"n":1},"a":0}]'
    assert without_empty_rows(rows) == '[0,{"a":1},0, {"mutex":{"n":1},"a":0}]'


def test_an_arena_whose_rows_lie_on_the_seam_of_two_blocks_is_read_as_any_other() -> None:
    """Four million characters of arenas: each block's end lies within some row."""
    document = json.loads(recorded("jemalloc-5.3.1", "json"))
    arenas = document["jemalloc"]["stats.arenas"]
    arenas |= {str(key): arenas["0"] for key in range(100)}
    snapshot = only(json.dumps(document))
    assert {arena.bins for arena in snapshot.arenas if arena.key != "1"} == {snapshot.arenas[0].bins}
    assert snapshot == from_json(document)
