# SPDX-License-Identifier: MIT
"""The file of `hew watch`: whatever ends its writer, it can be read and gone on with."""

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hew.commands.replaying import ReplayFeed
from hew.model.errors import HewError
from hew.model.history import HeapFigures, Record
from hew.model.live import Moment, Outside
from hew.model.statistics import Arena, Bin, LargeClass, Mutex, Sizes, Snapshot, Thread, Totals
from hew.sources.history.blocks import CHUNK, LINES, LineFile, is_recording, older, read_as
from hew.sources.history.codec import made, plain
from hew.sources.history.recording import line_of, read_looks, read_recording

HEAD = {"period": 1.0}


def numbered(first: int, count: int, rest: str = "") -> list[bytes]:
    return [f'{{"number":{number}{rest}}}'.encode() for number in range(first, first + count)]


def written(path: Path, lines: list[bytes], most: int = 1 << 20) -> None:
    file = LineFile(path, most, HEAD)
    for line in lines:
        file.put(line)
    file.close()


def abandoned(path: Path, lines: list[bytes]) -> None:
    """Written by one who was killed: nothing is closed."""
    words = (
        "import os, sys; from pathlib import Path; from hew.sources.history.blocks import LineFile\n"
        f"file = LineFile(Path({str(path)!r}), 1 << 20, {HEAD!r})\n"
        f"for line in {lines!r}: file.put(line)\n"
        "os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", words], check=False).returncode == -9


def test_what_was_written_before_a_kill_is_read_and_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "file"
    lines = numbered(0, LINES + 7)
    abandoned(path, lines)
    assert read_as(path, bytes) == (lines, [])
    abandoned(path, numbered(LINES + 7, 3))
    written(path, numbered(LINES + 10, 2))
    assert read_as(path, bytes) == (numbered(0, LINES + 12), [])


def test_looks_of_many_kilobytes_are_read_across_blocks(tmp_path: Path) -> None:
    """A block unpacks to more than is taken at a time, and others lie behind it in what was read of the file."""
    path = tmp_path / "file"
    lines = numbered(0, 3 * LINES + 5, ',"text":"' + "words " * 3000 + '"')
    written(path, lines)
    assert path.stat().st_size < CHUNK
    assert read_as(path, bytes) == (lines, [])


def test_cut_at_any_length_it_reads_to_its_last_whole_line_and_is_gone_on_with(tmp_path: Path) -> None:
    whole, path = tmp_path / "whole", tmp_path / "cut"
    lines, size = numbered(0, LINES + 5, ',"text":"some words"'), 0
    abandoned(whole, lines)
    data = whole.read_bytes()
    before: list[bytes] = []
    for size in range(1, len(data) + 1):
        path.write_bytes(data[:size])
        assert is_recording(path)
        found, notes = read_as(path, bytes)
        assert found == lines[: len(found)]
        assert len(found) >= len(before), f"a longer file has fewer lines: {size}"
        assert not notes
        before = found
        written(path, [b'{"last":1}'])
        assert read_as(path, bytes) == ([*found, b'{"last":1}'], [])
    assert before == lines


def test_it_stays_within_its_bytes_and_keeps_the_newest(tmp_path: Path) -> None:
    path, most = tmp_path / "file", 64 << 10
    lines = [json.dumps({"number": number, "noise": os.urandom(200).hex()}).encode() for number in range(1000)]
    file = LineFile(path, most, HEAD)
    for line in lines:
        file.put(line)
        assert path.stat().st_size + (older(path).stat().st_size if older(path).exists() else 0) <= most
    file.close()
    found, notes = read_as(path, bytes)
    assert found == lines[-len(found) :]
    assert sum(len(one) // 2 for one in found) > most / 3
    assert not notes


def test_only_one_writes_and_no_other_file_is_touched(tmp_path: Path) -> None:
    path = tmp_path / "file"
    file = LineFile(path, 1 << 20, HEAD)
    with pytest.raises(HewError, match="another hew watch writes it"):
        LineFile(path, 1 << 20, HEAD)
    file.close()
    for name, content in (("text", b"a letter"), ("gzip", b"\x1f\x8b\x08 no"), ("zeros", bytes(100))):
        other = tmp_path / name
        other.write_bytes(content)
        with pytest.raises(HewError, match=r"no recording of hew watch|damaged"):
            LineFile(other, 1 << 20, HEAD)
        assert other.read_bytes() == content


def test_what_comes_before_damage_is_read_and_the_damage_named(tmp_path: Path) -> None:
    path = tmp_path / "file"
    written(path, numbered(0, LINES * 3))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    found, notes = read_as(path, bytes)
    assert found[:LINES] == numbered(0, LINES)
    assert len(notes) == 1
    assert "damaged between the bytes" in notes[0]


def test_a_file_of_a_newer_hew_is_not_guessed_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    monkeypatch.setattr("hew.sources.history.blocks.VERSION", 2)
    written(path, numbered(0, 1))
    monkeypatch.undo()
    with pytest.raises(HewError, match="of a newer hew"):
        read_as(path, bytes)


def record(at: float, pid: int = 42, size: int = 1 << 20) -> Record:
    """A look at a process with two arenas."""
    merged = Arena(
        key="merged",
        nthreads=2,
        small=Sizes(nrequests=70),
        mutexes={"base": Mutex(3, 0)},
        bins=(Bin(16, 256, 4096, 1, curregs=size // 16, mutex=Mutex(1)), Bin(32, 128, 4096, 1, curregs=5)),
        lextents=(LargeClass(16384, 3),),
    )
    snapshot = Snapshot(
        "JSON",
        "5.3.1-0-ghew0.1.0",
        opt={"tcache": True, "dirty_decay_ms": 10000, "stats_print_opts": ""},
        totals=Totals(allocated=size, active=2 * size),
        merged=merged,
        arenas=(Arena("0", "auto", pactive=7), Arena("1", pactive=8)),
        threads=(Thread(42, "main", "0", 70, 4096),),
    )
    moment = Moment(pid, "server", "server -p 80", "hew 0.1.0", {"main": 1}, at, 5, 0.5, Outside(3 * size, size, 7, 0))
    return Record(at, 1000 + pid, Moment(**{**vars(moment), "snapshot": snapshot}))


def test_a_look_comes_back_as_it_was(tmp_path: Path) -> None:
    one = record(5.0)
    assert made(Record, json.loads(json.dumps(plain(one)))) == one
    heap = Record(6.0, 7, record(6.0).moment, HeapFigures(100, 20, 5, 3, 1), "held for 3 ms")
    assert made(Record, json.loads(json.dumps(plain(heap)))) == heap
    for wrong in ('{"at":"x"}', "[]", '{"at":1,"born":true,"moment":{}}', "{}"):
        with pytest.raises(ValueError, match=r"."):
            made(Record, json.loads(wrong))


def test_several_processes_are_told_apart_in_one_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    written(path, [line_of(record(float(at), pid, (1 << 20) + at)) for at in range(9) for pid in (42, 43)])
    tracks = read_recording(path).tracks
    assert [(one.pid, len(one.points)) for one in tracks] == [(42, 9), (43, 9)]
    last = tracks[0].points[-1]
    assert (last.live, last.resident, last.requests) == ((1 << 20) + 8, 3 * ((1 << 20) + 8), 70)
    assert last.classes == {16: ((1 << 20) + 8) // 16 * 16, 32: 160, 16384: 3 * 16384}
    assert read_looks(path).record(0).moment.snapshot is not None


def test_a_line_that_is_no_look_is_named(tmp_path: Path) -> None:
    path = tmp_path / "file"
    written(path, [line_of(record(1.0)), b'{"at":2}', line_of(record(3.0))])
    found = read_recording(path)
    assert len(found.tracks[0].points) == 1
    assert "line 2" in found.notes[0]


def changed(change: Callable[[Any], object]) -> Callable[[bytes], bytes]:
    """A line with something else in its document."""

    def damaged(text: bytes) -> bytes:
        document = json.loads(text)
        change(document["moment"])
        return json.dumps(document).encode()

    return damaged


def replaced(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    def damaged(text: bytes) -> bytes:
        assert old in text
        return text.replace(old, new, 1)

    return damaged


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "short row": changed(lambda moment: moment["snapshot"]["merged"]["bins"][1].clear()),
    "texts for bytes": changed(
        lambda moment: moment["snapshot"].update(
            arenas=[["key", "small", "large"], ["0", {"allocated": "1"}, {"allocated": "2"}]]
        )
    ),
    "text for a size": replaced(b'"resident":3145728', b'"resident":"3145728"'),
    "born never": replaced(b'"born":1042', b'"born":1e999'),
    "huge": replaced(b'"resident":3145728', b'"resident":' + b"9" * 400),
    "negative": replaced(b'"resident":3145728', b'"resident":-1'),
    "no time": replaced(b'"at":2.0', b'"at":NaN'),
    "far": replaced(b'"at":2.0', b'"at":1e12'),
    "before": replaced(b'"at":2.0', b'"at":-1'),
    "brackets": lambda _: b"[" * 100_000,
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_line_that_is_damaged_ends_what_is_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / "file"
    written(path, [line_of(record(1.0)), DAMAGES[name](line_of(record(2.0))), line_of(record(3.0))])
    found = read_recording(path)
    assert len(found.tracks[0].points) == 1
    assert "line 2" in found.notes[0]


@pytest.mark.parametrize(
    "damaged",
    [
        changed(lambda moment: moment.update(allocator=7)),
        changed(lambda moment: moment["outside"].update(anonymous=1 << 70)),
        changed(lambda moment: moment["snapshot"].update(threads=[["key"], 5])),
        changed(lambda moment: moment["snapshot"].update(threads=[[["key"]], ["x"]])),
    ],
)
def test_damage_that_only_the_whole_look_shows_is_said_in_one_line(
    tmp_path: Path, damaged: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "file"
    written(path, [damaged(line_of(record(1.0)))])
    with pytest.raises(HewError, match="file is damaged: sample 1 is none"):
        read_looks(path).record(0)
    with pytest.raises(HewError, match="file is damaged: sample 1 is none"):
        read_recording(path)


@pytest.mark.parametrize("rest", [b'1","x":' + b"[" * 100_000, b"9" * 5000 + b'"}', b'\xc2\xb2"}'])
def test_a_head_that_is_hostile_is_no_recording(tmp_path: Path, rest: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(gzip.compress(b'{"format":"hew-watch/' + rest + b"\n{}\n"))
    assert is_recording(path)
    with pytest.raises(HewError, match="is no recording of hew watch"):
        read_looks(path)


def counted(known: Callable[[int], object], asked: list[int]) -> Callable[[int], object]:
    """The same, and what it was asked for."""

    def again(index: int) -> object:
        asked.append(index)
        return known(index)

    return again


def test_a_step_of_a_replay_does_not_go_through_all_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A recording of days has 10,000 looks and more; two processes, looked at in turn."""
    path = tmp_path / "file"
    moments = [(float(at), 42 + at % 2) for at in range(400)]
    written(path, [line_of(replace(record(at), moment=replace(record(at).moment, pid=pid))) for at, pid in moments])
    looks = read_looks(path)
    feed = ReplayFeed(looks)
    asked: list[int] = []
    for name in ("at", "pid", "who"):
        known = getattr(looks, name)
        monkeypatch.setattr(looks, name, counted(known, asked))
    assert feed.step(200)
    assert [row.pid for row in feed.processes()] in ([42, 43], [43, 42])
    view = feed.look(42)
    rates = {rate.label: rate.value for rate in view.rates}
    assert rates["CPUs"] is not None  # there was a look before
    assert len(asked) < 20
    feed.go_to_end()
    assert feed.look(43).moment.pid == 43
