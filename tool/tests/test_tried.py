# SPDX-License-Identifier: MIT
"""Advice beside what a process on hew has tried by itself."""

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from conftest import HewRunner, is_as_described
from hew.analysis.advice.tried import with_trials
from hew.model.advice import Advice, Evidence, Setting
from hew.model.figures import Unit
from hew.model.statistics import Snapshot
from hew.model.tuning import Step, Tuning
from hew.views.tuning import show_tried

UP = Step(400, "depot_room", 100, 200, "kept", 90_000, 50_000, 10, 10)
UNDONE = Step(900, "depot_room", 200, 400, "undone", 50_000, 49_000, 10, 10)
COSTLY = replace(UNDONE, outcome="too costly", held_after=30)
DOWN = Step(9_000, "depot_room", 200, 100, "kept", 4_000, 5_000, 10, 10)
LONGER = Step(16_000, "dirty_decay_ms", 10_000, 20_000, "kept", 0, 0, 10, 10)
SHORTER = Step(99_000, "dirty_decay_ms", 20_000, 10_000, "kept", 0, 0, 10, 10)
NOTHING = Tuning("on", 10, 5000, 0, 0, 0, 0, 200, 10_000, ())
SHOWN = Evidence("fills", 1, Unit.PER_SECOND, "nfills")


def labels(rule: str, setting: str, tuning: Tuning | None) -> list[str]:
    """What the evidence of an advice has more than before."""
    name, _, value = setting.partition(":")
    plain = Advice(rule, rule, "hew", (SHOWN,), (Setting(name, value),), "less", "more", "low", "look")
    (told,) = with_trials([plain], Snapshot("JSON", tuning=tuning))
    assert (told.evidence[0], replace(told, evidence=plain.evidence)) == (SHOWN, plain)
    return [one.label for one in told.evidence[1:]]


def tried(*steps: Step) -> Tuning:
    return replace(NOTHING, last_steps=steps)


def test_a_process_that_has_tried_nothing_leaves_advice_as_it_is() -> None:
    assert labels("cache-depth", "tcache_ncached_max:64-64:400", None) == []
    assert labels("cache-depth", "tcache_ncached_max:64-64:400", NOTHING) == []
    assert labels("arenas-too-few", "narenas:8", tried(UNDONE)) == []


def test_deeper_caches_are_not_advised_without_a_word_of_the_room_that_did_not_pay() -> None:
    found = labels("cache-depth", "tcache_ncached_max:64-64:400", tried(UP, UNDONE))
    assert found == ["lost before it tried depot_room 400", "lost with that, which was undone"]
    found = labels("depots", "depot_room:800", tried(COSTLY))
    assert found[1:] == ["lost with that, which took too much memory", "peak before", "peak with that"]


def test_a_later_step_the_same_way_that_stayed_speaks_for_it() -> None:
    later = replace(UNDONE, outcome="kept")
    assert labels("depots", "depot_room:800", tried(UNDONE, later)) == []
    assert labels("depots", "depot_room:800", tried(UP)) == []


@pytest.mark.parametrize("outcome", ["being tried", "would try"])
def test_what_nobody_has_judged_speaks_neither_for_nor_against(outcome: str) -> None:
    assert labels("depots", "depot_room:800", tried(replace(UNDONE, outcome=outcome))) == []


def test_the_opposite_of_what_stayed_is_told() -> None:
    assert labels("depots", "depot_room:800", tried(UP, DOWN)) == [
        "depot_room before it went down by itself",
        "depot_room since then",
    ]
    shorter = labels("decay-too-long", "dirty_decay_ms:0", tried(LONGER))
    assert shorter[0] == "dirty_decay_ms before it went up by itself"
    assert labels("decay-too-short", "dirty_decay_ms:30000", tried(LONGER, SHORTER))[1] == "dirty_decay_ms since then"
    assert labels("decay-too-short", "dirty_decay_ms:-1", tried(LONGER)) == []
    assert labels("decay-too-long", "dirty_decay_ms:10000", tried(LONGER)) == []  # it is that already


def test_trials_of_threads_are_told_where_caches_should_change() -> None:
    threads = replace(NOTHING, room_trials=4, room_kept=1, room_refused=3, room_lent=1 << 19)
    deeper = labels("cache-depth", "tcache_ncached_max:64-64:400|96-96:400", threads)
    assert deeper == ["trials of more room by its threads", "of these undone"]
    assert labels("thread-caches", "tcache_max:1024", threads) == [
        "trials of more room that paid",
        "lent to threads' caches now",
    ]
    assert labels("cache-depth", "tcache_ncached_max:64-64:400", replace(threads, room_refused=0)) == []


def shown(tuning: Tuning) -> str:
    """In a narrow terminal."""
    file = io.StringIO()
    show_tried([tuning], Console(file=file, width=80))
    return file.getvalue()


def test_steps_fit_a_narrow_terminal_and_no_number_is_cut() -> None:
    wide = [
        replace(COSTLY, at_ms=86_400_000, lost_before_ppm=912_345, lost_after_ppm=512_345,
                held_before=1_070_000_000, held_after=1_073_000_000),
        Step(3_600_000, "dirty_decay_ms", 40_000, 80_000, "kept", 0, 0, 1, 1),
    ]  # fmt: skip
    said = shown(tried(*wide))
    assert max(map(len, said.splitlines())) <= 80
    assert "…" not in said
    assert "40000→80000" in said


def test_only_the_last_steps_stand_beside_advice() -> None:
    many = [replace(UP, at_ms=1000 * at) for at in range(1, 10)]
    said = shown(tried(*many))
    assert "9.00 s" in said
    assert "5.00 s" in said
    assert "4.00 s" not in said


def test_what_was_only_thought_of_is_told_as_such() -> None:
    said = shown(replace(NOTHING, mode="observe", last_steps=(replace(UP, outcome="would try"),)))
    assert "what it would try by itself; nothing was changed" in said
    assert "would try" in said.splitlines()[-1]


def test_words_of_others_are_neither_markup_nor_orders_to_the_terminal() -> None:
    said = shown(replace(NOTHING, mode="on\x1b[2J", last_steps=(replace(UP, setting="[/x]", outcome="\x1b[31m"),)))
    assert "\x1b[2J" not in said
    assert "[/x]" in said


REPORT = """___ Begin jemalloc statistics ___
Version: "5.3.1-0-ghew0.1.0"
Tuning: on, windows: 10, own_ns: 5000, steps: 2, kept: 1, undone: 1, outgrown: 0, lost_ppm: 7, depot_room: 200, \
dirty_decay_ms: 10000, room_lent: 65536, room_trials: 3, room_kept: 2, room_refused: 1
  at 500 ms depot_room 100 -> 200: kept, lost: 90000 -> 50000 ppm, held: 1048576 -> 1048576
  at 900 ms depot_room 200 -> 400: too costly, lost: 50000 -> 40000 ppm, held: 1048576 -> 4194304
--- End jemalloc statistics ---
"""


def test_advise_shows_what_a_report_tells_of_it(hew: HewRunner, tmp_path: Path) -> None:
    (tmp_path / "report").write_text(REPORT)
    said = hew("advise", str(tmp_path / "report")).stdout
    assert "what it has tried by itself" in said
    assert "too costly  5.0→4.0 %  1.00→4.00 MiB" in said
    document = is_as_described(hew("advise", "--json", str(tmp_path / "report")).stdout, "advice")
    assert [one["depot_room"] for one in document["tuned"]] == [200]


def test_advise_says_nothing_of_it_where_nothing_is_told(hew: HewRunner, tmp_path: Path) -> None:
    (tmp_path / "report").write_text("\n".join(line for line in REPORT.splitlines() if "uning" not in line))
    done = hew("advise", str(tmp_path / "report"))
    assert "by itself" not in done.stdout
    assert json.loads(hew("advise", "--json", str(tmp_path / "report")).stdout)["tuned"] == []
