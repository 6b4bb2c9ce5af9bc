# SPDX-License-Identifier: MIT
"""Heap profiles as files: what is read, what is refused, and what is written of them."""

import gzip
import json
import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import HewRunner, is_as_described
from hew.analysis.profile.rows import rows
from hew.analysis.profile.tree import tree
from hew.model.errors import HewError
from hew.model.profile import Frame, Kind, Location, Mapping, Profile, Sample
from hew.model.profile_view import Shown
from hew.sources.profile.heap_v2 import unbiased
from hew.sources.profile.read import read_bytes, read_profile
from hew.views.profile.page import profile_page
from hew.views.profile.profile_proto import to_pprof

HEAP_V2 = b"""heap_v2/524288
  t*: 6: 240 [9: 400]
  t0: 6: 240 [9: 400]
@ 0x401000 0x402000 0x403000
  t*: 4: 200 [4: 200]
  t0: 4: 200 [4: 200]
@ 0x401100 0x403000
  t*: 2: 40 [5: 200]
  t0: 2: 40 [5: 200]

MAPPED_LIBRARIES:
00400000-00500000 r-xp 00000000 fe:00 11 /no/such/program
7fff0000-7fff1000 r--p 00000000 fe:00 12 /no/such/data
"""


def made(*names: str, values: tuple[int, int, int, int] = (3, 300, 2, 200)) -> Profile:
    """A profile of one stack, the innermost function first."""
    places = tuple(Location(0x1000 + number, 0, (Frame(name, "a.c", 7),)) for number, name in enumerate(names))
    sample = Sample(range(len(names)), values)
    return Profile("made", (sample,), places, (Mapping(0x1000, 0x2000, 0, "/bin/made", "ab12"),), True, 4096, 5)


def test_heap_v2_is_read_with_calls_before_their_return_addresses() -> None:
    profile = read_bytes(HEAP_V2, "it")
    assert profile.period == 524288
    assert profile.accumulated
    assert [one.address for one in profile.locations[:3]] == [0x401000, 0x401FFF, 0x402FFF]
    assert [(one.start, one.path) for one in profile.mappings] == [(0x400000, "/no/such/program")]
    assert len(profile.samples) == 2


def test_sampled_objects_stand_for_all_of_their_size() -> None:
    interval, size, count = 4096, 112, 1000
    chance = 1 - math.exp(-size / interval)
    objects, live = unbiased([count, count * size, count, count * size], interval)[2:]
    assert objects == pytest.approx(count / chance, rel=1e-3)
    assert live == pytest.approx(count * size / chance, rel=1e-3)
    assert unbiased([3, 300, 3, 300], 1) == (3, 300, 3, 300)


def test_what_is_written_for_pprof_is_read_again_as_it_was() -> None:
    profile = made("inner", "outer")
    again = read_bytes(to_pprof(profile), "again")
    assert [again.total(kind) for kind in Kind] == [3, 300, 2, 200]
    stack = [again.locations[place].frames[0] for place in again.samples[0].stack]
    assert [(one.name, one.file, one.line) for one in stack] == [("inner", "a.c", 7), ("outer", "a.c", 7)]
    assert again.mappings[0].build_id == "ab12"
    assert (again.period, again.nanoseconds) == (4096, 5)


def refusal(data: bytes) -> str:
    """Why some bytes are no profile; of those that are one nothing is negative."""
    try:
        profile = read_bytes(data, "these")
    except HewError as error:
        return str(error)
    assert all(profile.total(kind) >= 0 for kind in Kind)
    return ""


@pytest.mark.parametrize("whole", [HEAP_V2, gzip.decompress(to_pprof(made("inner", "outer"))), to_pprof(made("one"))])
def test_a_profile_cut_anywhere_is_read_in_part_or_refused_in_one_line(whole: bytes) -> None:
    said = [refusal(whole[:end]) for end in range(len(whole))]
    assert all(text == "" or ("these" in text and "\n" not in text) for text in said)
    assert any(said)


HEADS = [b"", b"heap_v2/", b"heap_v2/4096\n", b"\x1f\x8b\x08", b"\x0a", b"\x12\x04"]


@given(st.binary(max_size=300), st.sampled_from(HEADS))
def test_garbage_is_refused_or_empty(data: bytes, head: bytes) -> None:
    said = refusal(head + data)
    assert said == "" or "these" in said


def test_bad_files_are_one_clear_line(hew: HewRunner, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "other").write_text("a text of mine")
    for words, said in (
        (["empty"], "is empty: no heap profile"),
        (["other"], "neither heap_v2, nor pprof's format"),
        (["none"], "there is no such file, nor is that a process id"),
        (["."], "there is no trace of hew record in it"),
        (["--focus", "(", "other"], "is no regular expression"),
        (["other", "empty"], "give one PID or FILE; a command goes behind --"),
        (["--json", "--collapsed", "other"], "give one"),
    ):
        done = hew("profile", *(str(tmp_path / word) if (tmp_path / word).exists() else word for word in words))
        assert done.returncode != 0
        assert said in done.stderr, words
        assert "Traceback" not in done.stderr


def test_names_that_look_like_markup_stay_text_in_the_page() -> None:
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
    profile = made(evil, "main")
    shown = Shown(profile, Kind.INUSE_SPACE, False, "", ())
    page = profile_page(shown, tree(profile, None, False), rows(profile, False))
    assert evil not in page
    assert "<img" not in page
    assert page.count("</script>") == 2  # that of the data and our own
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'")
    assert "unsafe" not in policy[1]
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert data is not None
    assert evil in json.loads(data[1])["names"]


def test_what_grew_since_another_profile_is_ranked(hew: HewRunner, tmp_path: Path) -> None:
    old, new = tmp_path / "old.pb.gz", tmp_path / "new.pb.gz"
    old.write_bytes(to_pprof(made("leak", "main", values=(10, 1000, 10, 1000))))
    new.write_bytes(to_pprof(made("leak", "main", values=(900, 90000, 900, 90000))))
    document = is_as_described(hew("profile", str(new), "--base", str(old), "--json").stdout, "profile")
    assert document["totals"]["inuse_space"] == 89000
    (grown,) = document["growth"]
    assert grown["stack"][0].startswith("leak")
    assert (grown["before"]["inuse_space"], grown["after"]["inuse_space"]) == (1000, 90000)
    text = hew("profile", str(new), "--base", str(old)).stdout
    assert "leak < main" in text
    assert "+" in text


def test_stacks_are_printed_for_other_programs_and_can_be_chosen(hew: HewRunner, tmp_path: Path) -> None:
    path = tmp_path / "one.pb.gz"
    path.write_bytes(to_pprof(made("a;b", "main")))
    assert hew("profile", str(path), "--collapsed").stdout == "main;a:b 200\n"
    assert hew("profile", str(path), "--collapsed", "--alloc_objects").stdout == "main;a:b 3\n"
    assert hew("profile", str(path), "--collapsed", "--ignore", "main").stdout == ""
    assert "a;b" in hew("profile", str(path), "--focus", "a;b").stdout
    assert read_profile(path).total(Kind.ALLOC_SPACE) == 300
