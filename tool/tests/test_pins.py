# SPDX-License-Identifier: MIT
"""Who keeps slabs that are hardly used, and live samples by size, thread and age."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from conftest import PROGRAMS, HewRunner, environment, is_as_described, wait_until
from hew.analysis.profile.pins import age_name, grouped, pins
from hew.model.errors import HewError
from hew.model.live_samples import LiveSample, LiveSamples
from hew.model.profile import Frame, Kind, Location, Profile
from hew.sources.control import connect, find_socket
from hew.sources.profile.samples import read_samples
from hew.views.profile.pins_text import pins_json, pins_table

ANSWER = """@ 0x401001 0x402001
 100 112 131072 1500000000 7 36 35 4096 a name \x1b[31m
 100 112 65536 90000000000 7 36 0 4096 a name
@
 1048576 1048576 65536 0 8 0 0 0 \n"""
HELD, OBJECTS = 200_000 // 50 * 160, 200_000 // 50  # what stays of the burst in pins.c


def made(*rows: tuple[int, float, int, int]) -> LiveSamples:
    """Samples of one stack below malloc: usable bytes, objects, regions and free regions of a slab of 4096 bytes."""
    places = (Location(1, None, (Frame("malloc"),)), Location(2, None, (Frame("asks"),)))
    found = tuple(
        LiveSample([0, 1], one, one, objects, float(at), 1, "", regions, free, 4096 if regions else 0)
        for at, (one, objects, regions, free) in enumerate(rows)
    )
    return LiveSamples("made", found, places, (), 512, True)


def test_an_answer_is_read_with_calls_before_their_return_addresses() -> None:
    found = read_samples(ANSWER, "it", Profile("it", (), (), (), False, 512), True)
    assert [one.address for one in found.locations] == [0x401000, 0x402000]
    first, second, large = found.samples
    assert (first.size, first.usable, first.objects, first.age, first.thread) == (100, 112, 2.0, 1.5, 7)
    assert (first.regions, first.free, first.slab) == (36, 35, 4096)
    assert "\x1b" not in first.thread_name
    assert second.stack == first.stack == [0, 1]
    assert (large.stack, large.regions) == ([], 0)
    named = "@ 0x5\n 1 16 65536 0 1 0 0 0 a\u2028@ 0x1\n 2 16 65536 0 1 0 0 0 b\n"  # a name is no line
    found = read_samples(named, "it", Profile("it", (), (), (), False, 512), True)
    assert [one.stack for one in found.samples] == [[0], [0]]
    for bad in ("@ 0xzz", "@ 1", " 1 2 3", "words", " 1 2 3 4 5 6 7 -8 "):
        with pytest.raises(HewError, match="is no sample"):
            read_samples(bad, "it", Profile("it", (), (), (), False, 512), True)


def test_a_slab_is_shared_among_what_is_in_use_and_dense_ones_do_not_count() -> None:
    found = pins(made((112, 3.0, 36, 35), (112, 2.0, 36, 32), (112, 9.0, 36, 20), (1 << 20, 1.0, 0, 0)), 0.25)
    (one,) = found.found
    assert one.stack == ("asks",)
    assert one.objects == 5
    assert one.slabs == pytest.approx(3 * 4096 + 2 * 4096 / 4)
    assert one.unused == pytest.approx(3 * 4096 * 35 / 36 + 2 * 1024 * 32 / 36)
    assert (one.size, one.samples, one.youngest, one.oldest) == (112, 2, 0, 1)
    assert found.unused == one.unused
    assert pins(made((112, 1.0, 36, 36)), 0.25).found == ()  # a slab that has gone meanwhile
    assert len(list(pins_table(pins(made(), 0.25), 9))) == 1


def test_samples_are_grouped_with_their_sums() -> None:
    taken = made((112, 3.0, 36, 35), (48, 2.0, 0, 0))
    for by, names in (("size", {"objects of 112 B", "objects of 48.0 B"}), ("thread", {"thread 1"})):
        profile = grouped(taken, by)
        assert profile.total(Kind.INUSE_SPACE) == 3 * 112 + 2 * 48
        assert {profile.locations[one.stack[-1]].frames[0].name for one in profile.samples} == names
    assert [age_name(one) for one in (0, 1, 59, 3600, 7 * 86400)] == [
        "younger than 1 s",
        "1 s to 10 s",
        "10 s to 1 min",
        "1 h to 6 h",
        "older than 7 days",
    ]


def test_a_table_and_a_document_tell_the_same() -> None:
    found = pins(made((112, 3.0, 36, 35)), 0.25)
    document = is_as_described(pins_json(found, 5), "pins")
    assert document["stacks"][0]["stack"] == ["asks"]
    assert document["slab_bytes"] == 3 * 4096
    lines = list(pins_table(found, 5))
    assert "have 12.0 KiB by their samples" in lines[0]
    assert lines[-1].endswith("asks")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pins") / "pins"
    subprocess.run(["cc", "-O1", "-g", str(PROGRAMS / "pins.c"), "-o", str(path)], check=True)
    return path


@contextmanager
def running(program: Path, library: Path, folder: Path, conf: str) -> Iterator[int]:
    """The program once it waits."""
    with subprocess.Popen(
        [str(program)],
        env=environment({"LD_PRELOAD": str(library), "HEW_CONF": f"control:{folder}/%p{conf}", "MALLOC_CONF": None}),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        wait_until(lambda: find_socket(child.pid) is not None)
        yield child.pid
        child.kill()


def test_what_stays_of_a_burst_is_named_with_the_slabs_that_it_keeps(
    program: Path, hew_library: Path, hew: HewRunner, tmp_path: Path
) -> None:
    with running(program, hew_library, tmp_path, ",prof:true,prof_slabs:true,lg_prof_sample:8") as pid:
        with connect(pid) as control:
            control.set("epoch", "1")  # the last snapshot may be of a test that looks at all processes, amid the burst
            arena = "stats.arenas.0.bins"
            sizes = {number: control.get(f"arenas.bin.{number}.size") for number in range(36)}
            number = next(number for number, size in sizes.items() if size == 160)
            slabs = int(control.get(f"{arena}.{number}.curslabs") or 0)
            of_each = int(control.get(f"arenas.bin.{number}.slab_size") or 0)
        done = hew("profile", str(pid), "--pins", "--json")
        assert done.returncode == 0, done.stderr
        document = is_as_described(done.stdout, "pins")
        first = document["stacks"][0]
        assert first["stack"][:2] == ["stays", "main"]
        assert first["size"] == 160
        assert first["objects"] == pytest.approx(OBJECTS, rel=0.1)
        # What lies in thread caches and depots is in use for its slab, and belongs to no thread.
        assert first["slab_bytes"] == pytest.approx(slabs * of_each, rel=0.15)
        assert first["unused_bytes"] > 0.8 * first["slab_bytes"]
        assert not any("packed" in one["stack"] for one in document["stacks"])
        table = hew("profile", str(pid), "--pins", "--rows", "1")
        assert "stays < main" in table.stdout
        for by, word in (("size", "objects of 160 B;"), ("age", " s"), ("thread", "thread ")):
            stacks = hew("profile", str(pid), "--by", by, "--collapsed").stdout
            rows: dict[str, Any] = {
                line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in stacks.splitlines()
            }
            held = sum(size for stack, size in rows.items() if stack.endswith(";stays") and word in stack)
            assert held == pytest.approx(HELD, rel=0.1), stacks


def test_what_stands_in_the_way_is_said(program: Path, hew_library: Path, hew: HewRunner, tmp_path: Path) -> None:
    with running(program, hew_library, tmp_path, ",prof:true") as pid:
        done = hew("profile", str(pid), "--pins")
        assert done.returncode != 0
        assert "hew run --conf prof:true,prof_slabs:true" in done.stderr
        assert hew("profile", str(pid), "--by", "size").returncode == 0
    with running(program, hew_library, tmp_path, "") as pid:
        assert "was started without heap profiling" in hew("profile", str(pid), "--pins").stderr
    for words, sentence in (
        (("--pins", "--", "true"), "give its PID"),
        (("--by", "age", "/dev/null"), "give its PID"),
        (("--pins", "--html", str(tmp_path / "x"), "1"), "a table of its own"),
        (("--by", "colour", "1"), "'colour' is not one of"),
        (("--pins", "--sparse", "0", "1"), "--sparse"),
    ):
        done = hew("profile", *words)
        assert done.returncode == 2
        assert sentence in done.stderr
