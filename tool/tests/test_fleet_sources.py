# SPDX-License-Identifier: MIT
"""Where a fleet's series come from without an engine: the store, and the files that it reads."""

import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from hew.commands.fleet_query import samples_of
from hew.model.errors import HewError
from hew.model.fleet import HOST, SERVICE, Fold, Over, Query, Span
from hew.model.history import Record
from hew.model.metric import Labels
from hew.sources.fleet import files as files_module
from hew.sources.fleet.files import refresh, store_of
from hew.sources.fleet.store import NAME, SCHEMA, StoreSource
from hew.sources.history.blocks import LineFile, older
from hew.sources.history.recording import line_of
from test_watch_file import record

T = 1_800_000_000.0


def labels(series: str, service: str, host: str, **more: str) -> Labels:
    return tuple(sorted({"__name__": series, SERVICE: service, HOST: host, "pid": "1", **more}.items()))


@pytest.fixture
def store() -> Iterator[StoreSource]:
    """Two services; in one of them a counter begins anew."""
    one = StoreSource(None)
    rows = [
        (labels("hew_x_bytes", "a", host), T + at, value * at)
        for host, value in (("h", 1.0), ("i", 2.0))
        for at in range(60, 3601, 60)
    ]
    rows += [(labels("hew_x_bytes", "b", "h"), T + 3600, 7.0)]
    rows += [
        (labels("hew_y_total", "a", "h"), T + at, float(at if at < 1800 else at - 1800)) for at in range(0, 3601, 60)
    ]
    one.add(rows)
    yield one
    one.close()


def answer(source: StoreSource, query: Query, span: Span) -> dict[tuple[str, ...], list[float]]:
    return {line.labels: [value for _, value in line.points] for line in source.ask(query, span)}


def test_a_size_is_the_last_one_before_the_step_ends(store: StoreSource) -> None:
    whole = Span(T, T + 3600, 4)
    assert answer(store, Query("hew_x_bytes"), whole) == {("a",): [2700, 5400, 8100, 10800], ("b",): [7]}
    assert answer(store, Query("hew_x_bytes", fold=Fold.MAX), Span(T, T + 3600)) == {("a",): [7200], ("b",): [7]}
    only = Query("hew_x_bytes", fold=Fold.COUNT, by=(HOST,), match=((SERVICE, "a"),))
    assert answer(store, only, Span(T, T + 3600)) == {("h",): [1], ("i",): [1]}
    assert answer(store, Query("hew_x_bytes"), Span(T + 3600, T + 3600 + 301)) == {}, "too old"


def test_steps_shorter_than_the_time_between_samples_have_the_last_one(store: StoreSource) -> None:
    steps = answer(store, Query("hew_x_bytes", match=((HOST, "h"), (SERVICE, "a"))), Span(T + 3480, T + 3600, 8))
    assert steps == {("a",): [3480, 3480, 3480, 3540, 3540, 3540, 3540, 3600]}


def test_a_store_that_is_open_elsewhere_is_said(tmp_path: Path) -> None:
    code = "import duckdb, sys; b = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    words = [sys.executable, "-c", code, str(tmp_path / NAME)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(HewError, match="another hew fleet or hew serve has it open"):
            store_of(tmp_path)
        other.kill()


def test_a_counter_that_begins_anew_begins_at_nothing(store: StoreSource) -> None:
    (value,) = answer(store, Query("hew_y_total", Over.INCREASE), Span(T, T + 3600))[("a",)]
    assert value == pytest.approx((1740 + 0 + 1800) / 3600)


def test_a_series_that_is_not_there_has_no_answer_and_an_unknown_label_is_named(store: StoreSource) -> None:
    assert store.ask(Query("hew_none"), Span(T, T + 60)) == []
    with pytest.raises(HewError, match="does not know series by cluster"):
        store.ask(Query("hew_x_bytes", match=(("cluster", "x"),)), Span(T, T + 60))
    assert answer(store, Query("hew_x_bytes", match=((SERVICE, "a' or 1=1 --"),)), Span(T, T + 3600)) == {}


def test_scrapes_and_recordings_become_samples_once(tmp_path: Path) -> None:
    (tmp_path / "host-1").mkdir()
    scrape = tmp_path / "host-1" / f"scrape-{int(T)}.txt"
    scrape.write_text(
        '# TYPE hew_allocated_bytes gauge\nhew_allocated_bytes{pid="7",service_name="a\\"b"} 5e6\nup 1\n# EOF\n'
    )
    (tmp_path / "host-2.om").write_text(
        f'hew_allocated_bytes{{pid="8",service_name="a\\"b"}} 5e6 {T * 1000:.0f}\n'
        'hew_allocated_bytes{pid="9",service_name="a\\"b"} NaN\nhew_allocated_bytes{pid="7"} +Inf\n'
    )
    (tmp_path / "host-3").mkdir()
    file = LineFile(tmp_path / "host-3" / "watched", 1 << 20, {})
    file.put(line_of(record(T)))
    file.close()
    source = store_of(tmp_path)
    assert refresh(source, tmp_path, samples_of) == []
    query, now = Query("hew_allocated_bytes", by=(SERVICE, HOST)), Span(T - 60, T + 60)
    expected = {('a"b', "host-1"): [5e6], ('a"b', "host-2"): [5e6], ("server", "host-3"): [float(1 << 20)]}
    assert answer(source, query, now) == expected
    file = LineFile(tmp_path / "host-3" / "watched", 1 << 20, {})
    file.put(line_of(record(T + 30, size=2 << 20)))
    file.close()
    source.close()
    source = store_of(tmp_path)
    assert refresh(source, tmp_path, samples_of) == []
    assert answer(source, query, now)["server", "host-3"] == [float(2 << 20)]
    counted = source._base.execute("select count(*), count(distinct (series, moment)) from samples").fetchone()
    assert counted[0] == counted[1], "what was read before is not read again"
    source.close()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\x00\x01garbage\n", "line 1 is no sample"),
        ('hew_x_bytes{service_name="a} 1\n', "line 1 "),
        ("hew_x_bytes 1e\n", "could not convert"),
        ("", "neither a scrape"),
    ],
)
def test_a_file_that_is_none_of_ours_is_left_out_whole(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "bad.txt").write_text('hew_x_bytes{service_name="a"} 1\n' * bool(text) + text)
    source = store_of(tmp_path)
    (note,) = refresh(source, tmp_path, samples_of)
    assert said.replace("line 1", "line 2") in note
    assert source.newest() is None
    source.close()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(f"hew_x_bytes{{{'a' * (1 << 20)}}} 1\n", "line 1 has more than 65536 characters", id="a megabyte"),
        pytest.param(f"hew_x_bytes{{{'a' * 65_000}}} 1\n", "line 1 has labels that cannot be read", id="no label"),
        pytest.param('hew_x_bytes{a="b"c="d"} 1\n', "line 1 has labels that cannot be read", id="no comma"),
        pytest.param("hew_x_bytes 1 99999999999999999\n", "line 1 is of a time that is none", id="no time"),
    ],
)
def test_a_hostile_line_is_said_and_takes_no_time(tmp_path: Path, text: str, said: str) -> None:
    """Labels that are looked for anywhere would take the square of the length: days for a megabyte."""
    (tmp_path / "bad.txt").write_text(text)
    source = store_of(tmp_path)
    (note,) = refresh(source, tmp_path, samples_of)
    assert said in note
    assert len(note) < 300
    source.close()


def test_labels_are_read_one_behind_the_other(tmp_path: Path) -> None:
    (tmp_path / "good.txt").write_text(
        f'hew_x_bytes{{service_name="a,\\"b\\\\",instance="h}} 1",}} 2 {T:.0f}\nhew_x_bytes{{}} 3 {T:.0f}\n'
    )
    source = store_of(tmp_path)
    assert refresh(source, tmp_path, samples_of) == []
    found = answer(source, Query("hew_x_bytes", by=(SERVICE, HOST)), Span(T - 60, T))
    assert found == {('a,"b\\', "h} 1"): [2], ("", "good"): [3]}
    source.close()


def test_a_long_label_has_its_own_bytes_only_and_texts_are_kept_whole() -> None:
    source = StoreSource(None)
    names = [f"s{number}" for number in range(5000)]
    rows = [(labels("hew_z_bytes", name, "h"), T, 1.0) for name in [*names, "x" * 10_000, "a", "a\0"]]
    tracemalloc.start()
    source.add(rows)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 64 << 20, "each text has the room of the longest"
    found = answer(source, Query("hew_z_bytes"), Span(T - 60, T))
    assert found.keys() == {(name,) for name in [*names, "x" * 10_000, "a", "a\0"]}
    source.close()


def test_what_the_store_cannot_do_is_said_and_undone(tmp_path: Path) -> None:
    (tmp_path / "host.om").write_text(f'hew_x_bytes{{service_name="a"}} 5 {T:.0f}\n')
    source = store_of(tmp_path)
    source._base.execute("drop table samples")
    (note,) = refresh(source, tmp_path, samples_of)
    assert f"host.om is left out: {tmp_path}: " in note
    assert "samples" in note
    assert "\n" not in note
    source._base.execute(SCHEMA)
    assert refresh(source, tmp_path, samples_of) == []
    assert answer(source, Query("hew_x_bytes"), Span(T - 60, T)) == {("a",): [5]}
    source._base.execute("drop table files")
    (note,) = refresh(source, tmp_path, samples_of)
    assert "files" in note
    source.close()


def test_a_file_that_goes_and_names_that_are_no_text_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = f'hew_x_bytes{{service_name="a"}} 5 {T:.0f}\n'
    for name in ("b\udcff.om", "goes.om", "stays.om"):
        (tmp_path / name).write_text(good)

    def gone(path: Path, found: set[Path]) -> bool:
        if path.name == "goes.om":
            path.unlink()
        return False

    monkeypatch.setattr(files_module, "_is_older_half", gone)
    source = store_of(tmp_path)
    first, second = refresh(source, tmp_path, samples_of)
    assert "its name is not UTF-8" in first
    assert "goes.om is left out" in second
    assert answer(source, Query("hew_x_bytes", by=(HOST,)), Span(T - 60, T)) == {("stays",): [5]}
    source.close()


def test_half_a_pair_of_surrogates_is_no_name(tmp_path: Path) -> None:
    """JSON may have it, and UTF-8 has not."""
    file = LineFile(tmp_path / "watched", 1 << 20, {})
    file.put(line_of(record(T)).replace(b'"name":"server"', b'"name":"\\udcff"'))
    file.close()
    source = store_of(tmp_path)
    (note,) = refresh(source, tmp_path, samples_of)
    assert "surrogates" in note
    source.close()


def test_only_a_recording_has_an_older_half(tmp_path: Path) -> None:
    for name in ("a", "a.1"):
        (tmp_path / name).write_text(f'hew_allocated_bytes{{service_name="{name}"}} 5 {T:.0f}\n')
    for number in range(2):
        file = LineFile(tmp_path / "w", 1 << 20, {})
        file.put(line_of(record(T + number)))
        file.close()
        if not number:
            (tmp_path / "w").rename(older(tmp_path / "w"))
    source = store_of(tmp_path)
    assert refresh(source, tmp_path, samples_of) == []
    found = answer(source, Query("hew_allocated_bytes"), Span(T - 60, T + 60))
    assert found == {("a",): [5], ("a.1",): [5], ("server",): [float(1 << 20)]}
    rows = source._base.execute("select path from files order by path").fetchall()
    assert rows == [("a",), ("a.1",), ("w",)]
    source.close()


def test_of_a_recording_that_grew_only_new_looks_are_decoded(tmp_path: Path) -> None:
    decoded = []

    def convert(one: Record) -> list[tuple[Labels, float]]:
        decoded.append(one.at)
        return list(samples_of(one))

    source = store_of(tmp_path)
    for looks in ([T, T + 1], [T + 2]):
        file = LineFile(tmp_path / "w", 1 << 20, {})
        for at in looks:
            file.put(line_of(record(at)))
        file.close()
        assert refresh(source, tmp_path, convert) == []
        assert decoded == looks
        decoded.clear()
    source.close()


def test_a_folder_that_is_none_and_a_broken_store_are_said(tmp_path: Path) -> None:
    with pytest.raises(HewError, match="is no folder"):
        store_of(tmp_path / "none")
    folder = tmp_path / "lock"  # and DuckDB names the file
    folder.mkdir()
    (folder / NAME).write_text("this was a database once, or so they say")
    with pytest.raises(HewError, match="remove it, it is made anew"):
        store_of(folder)
    other = tmp_path / "b\udcff"
    other.mkdir()
    with pytest.raises(HewError, match="whose name is UTF-8"):
        store_of(other)
