# SPDX-License-Identifier: MIT
"""Recordings of heaptrack."""

import gzip
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from conftest import PROGRAMS, HewRunner
from hew.model.errors import HewError
from hew.model.profile import Kind
from hew.sources.profile.heaptrack import read_heaptrack
from hew.sources.profile.read import read_bytes, read_profile

RECORDING = b"""v 10400 3
X ./leak
I 1000 5e298d
s 7 /a/leak
s 8 main
or:
s 4 keep
s 6 leak.c
i 401000 1 2
i 401080 1 3 4 7 2 4 9
i 7f0000 1
t 1 0
t 2 1
t 3 1
a 3e8 2
a 10 3
+ 0
+ 0
+ 0
- 0
+ 1
- 1
c 3
R 3d9
# strings: 4
"""


def test_a_recording_is_read_with_its_sums_and_inlined_functions() -> None:
    for data in (RECORDING, gzip.compress(RECORDING), zstandard.compress(RECORDING)):
        profile = read_bytes(data, "it")
        assert profile.accumulated
        assert [profile.total(kind) for kind in Kind] == [4, 3 * 1000 + 16, 2, 2000]
        kept = next(one for one in profile.samples if one.values[Kind.INUSE_OBJECTS])
        frames = [frame for place in kept.stack for frame in profile.locations[place].frames]
        assert [(one.name, one.file, one.line, one.inlined) for one in frames] == [
            ("keep", "leak.c", 7, True),
            ("main?or:", "leak.c", 9, False),
            ("main?or:", "", 0, False),
        ]
        passed = next(one for one in profile.samples if not one.values[Kind.INUSE_OBJECTS])
        assert profile.locations[passed.stack[0]].frames[0].name == "[leak 0x7f0000]"


def test_older_versions_have_texts_without_a_length() -> None:
    old = b"v 10200 2\ns /a/leak\ns main\ni 401000 1 2\nt 1 0\na 8 1\n+ 0\n"
    profile = read_bytes(old, "it")
    assert profile.locations[0].frames[0].name == "main"
    assert profile.total(Kind.INUSE_SPACE) == 8


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"v 10400\nx /a\n", "that its interpreter has been over"),
        (b"v 10400 9\n", "format 9 is not known here, only 1 to 3"),
        (b"v 10400 3\n+ 0\n", "no recording of heaptrack"),
        (b"v 10400 3\nt 1 0\n", "places that are not there"),
        (b"v 10400 3\na 8 5\n", "a trace that is not there"),
        (b"v 10400 3\na 8 0\n- -1\n", "is no number"),
        (b"v 10400 3\ni 1 5\n", "no recording of heaptrack"),
        (b"v 10400 3\ns ffffffff x\n", "a text without end"),
        (b"v 10400 3\ni " + b"1" * 40 + b" 0 \n", "wider addresses"),
        (b"\x28\xb5\x2f\xfd" + b"\xff" * 20, "damaged"),
        (zstandard.compress(RECORDING * 50)[:60], "is empty"),
    ],
)
def test_what_is_none_is_refused_in_a_line(data: bytes, sentence: str) -> None:
    with pytest.raises(HewError, match=sentence):
        read_bytes(data, "it")


@given(st.lists(st.tuples(st.sampled_from("siat+-cRX#"), st.binary(max_size=12)), max_size=30))
def test_no_line_does_more_than_be_refused(rows: list[tuple[str, bytes]]) -> None:
    data = b"v 10400 3\n" + b"".join(letter.encode() + b" " + rest + b"\n" for letter, rest in rows)
    with suppress(HewError):
        assert read_bytes(data, "it").accumulated


def test_a_cut_recording_is_read_as_far_as_it_goes() -> None:
    profile = read_bytes(RECORDING[: RECORDING.index(b"- 0")], "it")
    assert profile.total(Kind.INUSE_OBJECTS) == 3
    assert read_heaptrack.__doc__


@pytest.mark.skipif(shutil.which("heaptrack") is None, reason="no heaptrack on this machine (package heaptrack)")
def test_what_heaptrack_records_is_read(tmp_path: Path, hew: HewRunner) -> None:
    program = tmp_path / "pins"
    subprocess.run(["cc", "-O1", "-g", str(PROGRAMS / "pins.c"), "-o", str(program)], check=True)
    recording = tmp_path / "recording"
    words = ["heaptrack", "--record-only", "-o", str(recording), str(program)]
    plain = ["heaptrack", "-o", str(recording), str(program)]
    for one in (words, plain):  # --record-only is of 1.5
        done = subprocess.run(one, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            break
    (found,) = tmp_path.glob("recording*")
    profile = read_profile(found)
    assert profile.total(Kind.INUSE_OBJECTS) == pytest.approx(6000, abs=10)
    shown = hew("profile", str(found), "--inuse_objects")
    assert shown.returncode == 0, shown.stderr
    assert "stays" in shown.stdout
    assert "packed" in shown.stdout
