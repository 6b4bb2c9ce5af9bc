# SPDX-License-Identifier: MIT
"""`hew pools suggest`: from reports and from samples to declarations."""

import gzip
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import HewRunner, is_as_described
from hew.analysis.declaration import MOST_SIZES, declare
from hew.model.declaration import Counted, Seen, SeenSize
from hew.model.errors import HewError
from hew.model.statistics import Arena, Bin, Reading, Sizes, Snapshot
from hew.sources.seen import from_reading, from_recent

DATA = Path(__file__).parent / "data" / "statistics"


def seen(*sizes: SeenSize, larger: int = 0) -> Seen:
    return Seen("test", sizes, larger)


def report(curregs: int, nmalloc: int, nslabs: int = 10) -> Snapshot:
    one = Bin(64, nregs=100, nmalloc=nmalloc, nrequests=nmalloc, nslabs=nslabs, curregs=curregs)
    return Snapshot("JSON", merged=Arena("merged", bins=(one,), large=Sizes(nrequests=5)))


def test_counts_are_the_most_in_use_with_headroom() -> None:
    declaration = declare(seen(SeenSize(64, 1000, 2000, 50000)))
    assert declaration.counted is Counted.LIVE
    assert [(one.size, one.count) for one in declaration.sizes] == [(64, 1300)]
    assert declaration.setting == "pools:64-1300"


def test_a_report_from_the_programs_end_counts_what_slabs_were_made_for_and_says_so() -> None:
    declaration = declare(seen(SeenSize(64, 3, 1000, 50000)))
    assert declaration.counted is Counted.EVER
    assert declaration.sizes[0].count == 1300
    assert any("end" in note for note in declaration.notes)


def test_sizes_that_a_set_takes_for_the_same_are_one() -> None:
    declaration = declare(seen(SeenSize(49, 100, 100, 100), SeenSize(64, 100, 100, 100)), headroom=1)
    assert [(one.size, one.count, one.requests) for one in declaration.sizes] == [(64, 200, 200)]


def test_a_rare_size_lands_in_the_next_larger_one() -> None:
    rare = SeenSize(32, 1, 1, 1)
    declaration = declare(seen(rare, SeenSize(64, 100000, 100000, 100000)), headroom=1)
    assert [(one.size, one.requests) for one in declaration.sizes] == [(64, 100001)]
    assert declaration.served == declaration.requests


def test_what_is_larger_than_every_pool_stays_mallocs() -> None:
    declaration = declare(seen(SeenSize(64, 100, 100, 900), larger=100))
    assert (declaration.served, declaration.requests) == (900, 1000)
    assert any("10.0%" in note for note in declaration.notes)


@pytest.mark.parametrize(("sizes", "told"), [(40, False), (200, True)])
def test_a_setting_that_the_library_would_not_read_is_told(sizes: int, told: bool) -> None:
    declaration = declare(seen(*(SeenSize(16 * size, 1000, 1000, 1000) for size in range(1, sizes + 1))))
    assert any("1023 bytes" in note for note in declaration.notes) is told


def test_nothing_counted_is_an_error() -> None:
    with pytest.raises(HewError, match="no request"):
        declare(seen(SeenSize(64, 0, 0, 0)))


@given(
    st.lists(
        st.builds(
            SeenSize, st.integers(1, 14336), st.integers(0, 10**9), st.integers(0, 10**9), st.integers(0, 10**12)
        ),
        min_size=1,
        max_size=400,
    )
)
def test_every_proposal_is_one_that_a_set_takes(sizes: list[SeenSize]) -> None:
    if not any(one.requests for one in sizes):
        return
    declaration = declare(seen(*sizes))
    declared = [one.size for one in declaration.sizes]
    assert 0 < len(declared) <= MOST_SIZES
    assert declared == sorted(set(declared))
    assert all(size % 16 == 0 and size > 0 for size in declared)
    assert all(one.count >= 16 for one in declaration.sizes)
    assert re.fullmatch(r"pools:\d+-\d+(\|\d+-\d+)*", declaration.setting)
    assert declaration.served <= declaration.requests


def test_of_several_reports_the_most_in_use_counts_and_the_last_requests() -> None:
    reading = Reading("test", (report(500, 1000), report(700, 5000), report(2, 9000)))
    (one,) = from_reading(reading).sizes
    assert (one.size, one.live, one.requests) == (64, 700, 9000)
    assert one.ever == 1000  # 10 slabs of 100


def test_each_sample_stands_for_as_many_as_its_size_makes_likely() -> None:
    recent = [{"size": 40, "usize": 48, "released": False}] * 10 + [{"size": 50000, "usize": 53248, "released": True}]
    found = from_recent({"sample_interval": 4800, "recent_alloc": recent}, "test")
    (one,) = found.sizes
    assert one.size == 40
    assert 990 < one.live < 1020  # ten times about 4800 / 48
    assert found.exact
    assert found.larger_requests == 1


@pytest.mark.parametrize("form", ["json", "txt"])
@pytest.mark.parametrize("name", ["jemalloc-5.3.0", "hew-0.1.0"])
def test_a_recorded_report_leads_to_a_declaration(hew: HewRunner, tmp_path: Path, name: str, form: str) -> None:
    file = tmp_path / "report"
    file.write_bytes(gzip.decompress((DATA / f"{name}.{form}.gz").read_bytes()))
    done = hew("pools", "suggest", "--json", str(file))
    assert done.returncode == 0, done.stderr
    document = is_as_described(done.stdout, "pools")
    assert document["bytes"] == sum(one["size"] * one["count"] for one in document["sizes"])


def test_the_array_is_c(hew: HewRunner, tmp_path: Path, compiler: str) -> None:
    data = gzip.decompress((DATA / "hew-0.1.0.json.gz").read_bytes()).decode()
    done = hew("pools", "suggest", "-", stdin=data)
    array = re.search(r"static const struct hew_pool_size sizes.*?};", done.stdout, re.DOTALL)
    assert array is not None
    source = tmp_path / "array.c"
    source.write_text("#include <stddef.h>\nstruct hew_pool_size { size_t size, count; };\n" + array[0] + "\n")
    subprocess.run([compiler, "-fsyntax-only", str(source)], check=True)
    assert re.search(r"^pools:\d+-\d+", done.stdout, re.MULTILINE)


def test_a_file_that_is_nothing_of_the_kind_is_told_in_one_line(hew: HewRunner, tmp_path: Path) -> None:
    file = tmp_path / "other"
    file.write_text("hello\n")
    done = hew("pools", "suggest", str(file))
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1
    assert hew("pools", "suggest", str(tmp_path / "missing")).returncode == 1
