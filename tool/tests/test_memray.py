# SPDX-License-Identifier: MIT
"""What memray transform csv writes, and memray's own recordings, which are told apart."""

import gzip
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import HewRunner, environment
from hew.model.errors import HewError
from hew.model.profile import Kind
from hew.sources.profile import memray
from hew.sources.profile.memray import HEAD
from hew.sources.profile.read import read_bytes

COLUMNS = ",".join(HEAD).encode() + b"\r\n"
TABLE = (
    COLUMNS
    + b"""MALLOC,3,3000,1,main,keep;/a/leak.py;4|main;/a/leak.py;9
CALLOC,2,20,7,"other, thread",keep;/a/leak.py;5|main;/a/leak.py;9
MMAP,1,4096,1,main,
MALLOC,1,7,1,main,"has ""a;b"", and more;c;1|main;/a/leak.py;9"
MALLOC,1,1,1,main,<lambda>
"""
)


def test_a_table_is_read_with_its_sums_and_lines() -> None:
    for data in (TABLE, gzip.compress(TABLE)):
        found = read_bytes(data, "it")
        assert (found.total(Kind.INUSE_SPACE), found.total(Kind.INUSE_OBJECTS)) == (7124, 8)
        assert found.kinds == (Kind.INUSE_SPACE, Kind.INUSE_OBJECTS)
        names = [one.frames[0].place for one in found.locations]
        assert names[:3] == ["keep /a/leak.py:4", "main /a/leak.py:9", "keep /a/leak.py:5"]
        assert 'has "a;b", and more c:1' in names
        assert {"[no stack]", "<lambda>"} <= set(names)
        assert "highest point" in found.notes[0]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"allocator,size\n", "its columns are not"),
        (COLUMNS + b"MALLOC,1,1,1,main\n", "line 2"),
        (COLUMNS + b"MALLOC,1,-1,1,main,x\n", "line 2: '-1' is no number"),
        (COLUMNS + "MALLOC,1,²,1,main,x\n".encode(), "is no number"),
        (COLUMNS + b"MALLOC,1,99999999999999999999,1,main,x\n", "is no number"),
        (COLUMNS + b'MALLOC,1,1,1,main,"x\n', "unexpected end of data"),
        (COLUMNS + b"x" * (1 << 20), "has a line of 1,048,576 bytes"),
        (b"memray\0\0\0\0", "memray transform csv writes what is read here"),
        (b"\x04\x22\x4d\x18@@\xc0n\xb5\0\0\xf8\x06memray", "memray transform csv writes what is read here"),
    ],
)
def test_what_is_none_is_one_line(data: bytes, said: str) -> None:
    with pytest.raises(HewError) as raised:
        read_bytes(data, "it")
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_names_steer_no_terminal_and_places_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    found = read_bytes(COLUMNS + b"M,1,1,1,m,\x1b[2Jf\xff;\x1b]0;1\n", "it")
    frame = found.locations[0].frames[0]
    assert "\x1b" not in frame.name + frame.file
    monkeypatch.setattr(memray, "MOST_PLACES", 2)
    with pytest.raises(HewError, match="more than 2 places"):
        read_bytes(TABLE, "it")


@given(st.binary(max_size=200))
def test_nothing_ends_it_but_a_line(data: bytes) -> None:
    try:
        read_bytes(COLUMNS + data, "it")
    except HewError as error:
        assert str(error).startswith("it: ")  # noqa: PT017


def test_a_process_on_jemalloc_is_told_what_writes_its_profile(hew: HewRunner) -> None:
    library = Path("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2")
    if not library.exists():
        pytest.skip("no jemalloc on this machine (package libjemalloc2)")
    words = [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"]
    changes: dict[str, str | None] = {"LD_PRELOAD": str(library), "MALLOC_CONF": None}
    with subprocess.Popen(words, env=environment(changes), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        done = hew("profile", str(child.pid))
        child.kill()
    assert done.returncode == 1
    assert f"then hew profile jeprof.{child.pid}.*.heap" in done.stderr
    assert done.stderr.count("\n") == 1
