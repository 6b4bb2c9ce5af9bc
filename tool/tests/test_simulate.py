# SPDX-License-Identifier: MIT
"""`hew simulate` and `hew cut` on traces of which the answer is known, and on what is no trace."""

import itertools
import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import HewRunner, is_as_described
from hew.analysis.cut import cut, waste_of
from hew.model.errors import HewError
from hew.model.simulation import SizeClass, Sizes, SizeUse
from hew.sources.library import find_part
from hew.sources.simulation import PROGRAM, simulate, sizes_of
from hew.sources.trace.blocks import is_packed, operations_of, pack
from traces import ALIGNED, FREE, MALLOC, REALLOC, trace_of


@pytest.fixture(autouse=True)
def program() -> Path:
    """hew-simulate."""
    try:
        return find_part(PROGRAM)
    except HewError as error:
        pytest.skip(f"hew-simulate is not built: {error}")


def test_each_policy_takes_what_its_textbook_says(tmp_path: Path) -> None:
    trace = trace_of(tmp_path / "t", [(MALLOC, 2049), (MALLOC, 100), (FREE, 2), (MALLOC, 90)])
    result = simulate(trace, (), ("mine=96,2064",))
    peaks = {one.name: max(one.gross) for one in result.policies}
    assert (result.trace.operations, result.peak_live, result.largest) == (4, 2149, 2049)
    assert peaks["first-fit"] == 2064 + 112  # with headers, in steps of 16
    assert peaks["binary-buddy"] == 4096 + 128
    assert peaks["fibonacci-buddy"] == 2304 + 128
    assert peaks["jemalloc"] == peaks["hew"] == 2560 + 112
    assert peaks["slab"] == 2064 + 112
    assert peaks["powers"] == 4096 + 128
    assert peaks["mine"] == 2064 + 2064
    assert [one.live for one in result.moments] == [2049, 2149, 100, 190]
    assert {one.name: one.gross[-1] for one in result.policies}["mine"] == 2064 + 96


def test_how_far_it_is_and_the_best_so_far_are_told(tmp_path: Path) -> None:
    trace = trace_of(tmp_path / "t", [(MALLOC, 100), (FREE, 1)] * 300_000)
    heard: list[tuple[str, int]] = []
    simulate(trace, ("powers", "slab"), (), lambda found, done: heard.append((found, done)))
    assert [done for _, done in heard] == [1 << 18, 2 << 18]
    assert all(found.startswith("least so far: powers, ") and found.endswith(" of live") for found, _ in heard), heard
    assert operations_of(trace) == 600_000
    assert operations_of(tmp_path / "none") == 0


def test_first_fit_uses_holes_again_and_worst_fit_splits_the_largest(tmp_path: Path) -> None:
    holes = [
        (MALLOC, 1000),
        (MALLOC, 24),
        (MALLOC, 4000),
        (MALLOC, 24),
        (FREE, 2),
        (FREE, 4),
        (MALLOC, 900),
        (MALLOC, 4000),
    ]
    result = simulate(trace_of(tmp_path / "t", holes), ("first-fit", "worst-fit", "best-fit"), ())
    heaps = {one.name: one.heap[-1] for one in result.policies}
    assert heaps["first-fit"] == heaps["best-fit"] == 1008 + 32 + 4016 + 32 - 8 + 8
    assert heaps["worst-fit"] == heaps["first-fit"] + 4016


def test_what_grows_in_its_place_is_not_moved_and_alignments_cost(tmp_path: Path) -> None:
    trace = trace_of(tmp_path / "t", [(MALLOC, 100), (REALLOC, 1, 112), (REALLOC, 1, 300), (ALIGNED, 12, 64)])
    result = simulate(trace, ("hew", "binary-buddy"), ())
    hew, buddy = result.policies[1], result.policies[0]
    assert {one.name for one in (hew, buddy)} == {"hew", "binary-buddy"}
    by_name = {one.name: one for one in result.policies}
    assert by_name["hew"].gross[:3] == (112, 112, 320)
    assert by_name["binary-buddy"].gross[-1] == 512 + 4096
    assert result.reallocations == 2


def test_a_long_trace_keeps_few_samples_and_all_peaks(tmp_path: Path) -> None:
    operations = [one for size in range(5000) for one in ((MALLOC, 16 + size % 900), (FREE, 1))]
    result = simulate(trace_of(tmp_path / "t", [*operations, (MALLOC, 50_000), (FREE, 1)]), ("hew",), ())
    assert 256 <= len(result.moments) <= 1024
    assert result.moments[-1].operation == 10_002
    assert result.peak_live == 50_000
    assert all(len(one.heap) == len(result.moments) for one in result.policies)


def test_the_document_and_the_page_have_all_of_it(hew: HewRunner, tmp_path: Path) -> None:
    trace = trace_of(tmp_path / "it's <é>", [(MALLOC, 100), (MALLOC, 5000), (FREE, 1)])
    page = tmp_path / "page.html"
    done = hew("simulate", "--json", "--html", str(page), "--classes", "mine=112,14336", str(trace))
    assert done.returncode == 0, done.stderr
    document = is_as_described(done.stdout, "simulate")
    assert len(document["policies"]) == 12
    text = page.read_text()
    assert "it&#x27;s &lt;é&gt;" in text
    assert text.count("<svg") == 4
    assert "<script" not in text
    table = hew("simulate", "--policy", "hew", str(trace))
    assert "lower bound 4.98 KiB (live bytes)" in table.stdout


def test_a_trace_without_an_operation_is_shown(hew: HewRunner, tmp_path: Path) -> None:
    trace = trace_of(tmp_path / "t", [])
    done = hew("simulate", "--html", str(tmp_path / "page.html"), str(trace))
    assert (done.returncode, done.stderr) == (0, "")
    assert "0 operations" in done.stdout
    empty = hew("cut", str(trace))
    assert empty.returncode == 1
    assert "has no request of 14336 bytes or less" in empty.stderr


def test_a_killed_and_a_damaged_trace_are_said_to_be_so(hew: HewRunner, tmp_path: Path) -> None:
    trace = trace_of(tmp_path / "t", [(MALLOC, 100), (FREE, 1)], flags=0)
    assert "the recorded process was killed, or had not ended yet" in hew("simulate", str(trace)).stdout
    damaged = bytearray(trace.read_bytes())
    damaged[64 + 64 + 4] ^= 255
    trace.write_bytes(damaged)
    assert "1 blocks of the trace are damaged" in hew("simulate", str(trace)).stdout


@pytest.mark.parametrize("command", ["simulate", "cut"])
def test_what_is_no_trace_is_named(hew: HewRunner, tmp_path: Path, command: str) -> None:
    other, noise = tmp_path / "other", random.Random(1).randbytes(5000)  # noqa: S311
    for content in (b"", b"hewtrace", b"hewtrace" + b"\xff" * 100, b"something else\n" * 20, noise):
        other.write_bytes(content)
        done = hew(command, str(other))
        assert done.returncode == 1, content[:20]
        assert done.stderr.startswith(f"hew {command}: ")
        assert done.stderr.count("\n") == 1
        assert "Traceback" not in done.stderr
    missing = hew(command, str(tmp_path / "none"))
    assert (missing.returncode, missing.stderr) == (1, f"hew {command}: {tmp_path}/none: No such file or directory\n")
    assert hew(command, str(tmp_path)).returncode == 2


@pytest.mark.parametrize("classes", ["mine", "mine=9", "mine=32,16", "=8", "mine=8,", "mine=20000", 'a"b=16'])
def test_classes_that_cannot_be_are_named(hew: HewRunner, tmp_path: Path, classes: str) -> None:
    done = hew("simulate", "--classes", classes, str(trace_of(tmp_path / "t", [(MALLOC, 1)])))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1


def test_cut_fits_a_program_of_few_sizes(hew: HewRunner, tmp_path: Path) -> None:
    """All objects have 520 or 1040 bytes: hew's next classes are 640 and 1280."""
    operations = [(MALLOC, size) for _ in range(2000) for size in (520, 1040)]
    done = hew("cut", "--json", str(trace_of(tmp_path / "t", operations)))
    assert done.returncode == 0, done.stderr
    document = is_as_described(done.stdout, "cut")
    sizes = [one["size"] for one in document["classes"]]
    assert {528, 1040} <= set(sizes)
    assert sizes[-1] == 14336
    assert all(later <= 2 * size for size, later in itertools.pairwise(sizes))
    assert document["waste"]["cut"]["internal"] < 0.1 * document["waste"]["hew"]["internal"]
    peaks = {one["name"]: one["peak_heap"] for one in document["simulated"]}
    assert peaks["cut"] < 0.87 * peaks["hew"]
    assert document["verdict"].startswith("these classes would save ")


def test_cut_leaves_classes_that_fit(hew: HewRunner, tmp_path: Path) -> None:
    done = hew("cut", str(trace_of(tmp_path / "t", [(MALLOC, 64) for _ in range(5000)])))
    assert "hew's own classes waste no more than half a per cent" in done.stdout


def made_up(count: int, seed: int) -> Sizes:
    """Candidates up to 256 bytes, and some sizes with weights."""
    chance = random.Random(seed)  # noqa: S311
    candidates = tuple(SizeClass(size, 16384) for size in (8, *range(16, 257, 16)))
    uses = tuple(SizeUse(chance.randrange(8, 257, 8), 16, 1, 1.0, chance.random() * 1e5) for _ in range(count))
    return Sizes(
        "made up", tuple({one.size: one for one in uses}.values()), 2, {"candidates": candidates, "hew": candidates}
    )


@pytest.mark.parametrize("seed", range(4))
def test_no_other_classes_waste_less(seed: int) -> None:
    """Against every table of so many classes, with the powers of two."""
    sizes = made_up(6, seed)
    candidates = sizes.tables["candidates"]
    powers = [one for one in candidates if one.size.bit_count() == 1]
    others = [one for one in candidates if one not in powers]
    weights = {one: one.mean for one in sizes.uses}
    found = cut(sizes, len(powers) + 3, False)
    assert len(powers) <= len(found.classes) <= len(powers) + 3
    assert set(powers) <= set(found.classes)
    for count in range(4):
        for chosen in itertools.combinations(others, count):
            table = sorted([*powers, *chosen], key=lambda one: one.size)
            assert found.waste.total <= waste_of(table, weights, 2).total + 1e-6


def test_an_aligned_object_needs_a_class_that_is_a_multiple() -> None:
    one = SizeUse(40, 64, 1, 1.0, 1000.0)
    table = [SizeClass(48, 16384), SizeClass(64, 16384), SizeClass(96, 16384)]
    assert waste_of(table, {one: 1000.0}, 1).internal == 24_000
    assert waste_of(table[:1], {one: 1000.0}, 1).internal == 1000 * (16384 - 40)


def test_too_few_classes_are_refused() -> None:
    with pytest.raises(HewError, match="5 classes cannot reach 256 bytes: 6 at the least"):
        cut(made_up(3, 1), 5, False)
    silent = replace(made_up(3, 1), uses=(SizeUse(16, 16, 5, 0.0, 0.0),))
    with pytest.raises(HewError, match="has no small object that lived for a while"):
        cut(silent, 7, False)


def test_a_report_with_exact_sizes_will_do_and_one_with_classes_not(hew: HewRunner, tmp_path: Path) -> None:
    report = tmp_path / "recent.json"
    allocations = [{"size": 520, "usize": 640} for _ in range(3000)]
    report.write_text(json.dumps({"sample_interval": 1, "recent_alloc": allocations}))
    done = hew("cut", "--json", str(report))
    assert done.returncode == 0, done.stderr
    document = is_as_described(done.stdout, "cut")
    assert 528 in [one["size"] for one in document["classes"]]
    assert document["simulated"] == []
    classes = hew("cut", str(Path(__file__).parent / "data" / "statistics" / "hew-0.1.0.json.gz"))
    assert classes.returncode == 1
    assert "knows size classes, not sizes" in classes.stderr


def test_the_sizes_of_a_trace_are_counted_over_its_course(tmp_path: Path) -> None:
    trace = trace_of(tmp_path / "t", [(MALLOC, 20), (MALLOC, 20), (FREE, 1), (ALIGNED, 6, 100), (MALLOC, 99_999)])
    found = {(one.size, one.align): one for one in sizes_of(trace).uses}
    assert set(found) == {(24, 16), (104, 64)}
    assert found[24, 16].allocations == 2
    assert found[24, 16].mean == pytest.approx((1 + 2 + 1 + 1 + 0) / 5, abs=0.21)
    assert found[104, 64].at_peak == 1


def test_a_packed_trace_is_read_as_it_was_recorded(hew: HewRunner, tmp_path: Path) -> None:
    trace = trace_of(tmp_path / "t", [one for size in range(500) for one in ((MALLOC, 20 + size), (FREE, 1))])
    before = simulate(trace, ("hew",), ())
    pack(trace)
    assert is_packed(trace)
    assert simulate(trace, ("hew",), ()) == before
    assert hew("cut", str(trace)).returncode == 0
