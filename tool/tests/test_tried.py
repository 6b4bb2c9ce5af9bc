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

UP = Step(400, "cache_room", 100, 200, "kept", 61_828, 9_048, 8_203, 4_381)
UNDONE = Step(900, "cache_room", 200, 400, "undone", 9_000, 8_000, 6_200, 6_400)
LONGER = Step(16_000, "dirty_decay_ms", 10_000, 20_000, "kept", 201_000, 32_000, 9_100, 640)
IN_VAIN = Step(60_000, "dirty_decay_ms", 10_000, 20_000, "undone", 609_125, 978_761, 104_305, 120_537)
SHORTER = Step(99_000, "dirty_decay_ms", 20_000, 10_000, "kept", 3_000, 0, 400, 0)
NOTHING = Tuning("on", 10, 5000, 0, 0, 0, 10_000, ())
SHOWN = Evidence("fills", 1, Unit.PER_SECOND, "nfills")


def labels(rule: str, setting: str, tuning: Tuning | None) -> list[str]:
    """What the evidence of an advice has more than before."""
    name, _, value = setting.partition(":")
    plain = Advice(rule, rule, "hew", (SHOWN,), (Setting(name, value),), "less", "more", "low", "look")
    (told,) = with_trials([plain], Snapshot("JSON", tuning=tuning))
    assert (told.evidence[0], replace(told, evidence=plain.evidence)) == (SHOWN, plain)
    return [one.label for one in told.evidence[1:]]


def tried(*steps: Step) -> Tuning:
    return replace(NOTHING, room_trials=1, last_steps=steps)


def test_a_process_that_has_tried_nothing_leaves_advice_as_it_is() -> None:
    assert labels("cache-depth", "tcache_ncached_max:64-64:400", None) == []
    assert labels("cache-depth", "tcache_ncached_max:64-64:400", NOTHING) == []
    assert labels("arenas-too-few", "narenas:8", tried(UNDONE)) == []


DEEPER = "tcache_ncached_max:64-64:400"


def test_deeper_caches_are_not_advised_without_a_word_of_the_room_that_did_not_pay() -> None:
    assert labels("cache-depth", DEEPER, tried(UP, UNDONE)) == [
        "time of an operation before it tried cache_room 400",
        "with that, which was undone",
    ]
    early = replace(UNDONE, reason_after=0, effect_after=0)
    assert labels("cache-depth", DEEPER, tried(early)) == []


def test_a_longer_decay_time_that_was_tried_in_vain_is_told_with_what_it_did() -> None:
    assert labels("decay-too-short", "dirty_decay_ms:30000", tried(IN_VAIN)) == [
        "wanted pages that had gone back before it tried dirty_decay_ms 20000",
        "with that, which was undone",
    ]
    assert labels("decay-too-long", "dirty_decay_ms:1000", tried(IN_VAIN)) == []


def test_a_later_step_the_same_way_that_stayed_speaks_for_it() -> None:
    later = replace(UNDONE, outcome="kept")
    assert labels("cache-depth", DEEPER, tried(UNDONE, later)) == []
    assert labels("cache-depth", DEEPER, tried(UP)) == []
    assert labels("decay-too-short", "dirty_decay_ms:30000", tried(IN_VAIN, LONGER)) == []


@pytest.mark.parametrize("outcome", ["being tried", "would try", "too costly"])
def test_what_nobody_has_judged_speaks_neither_for_nor_against(outcome: str) -> None:
    assert labels("cache-depth", DEEPER, tried(replace(UNDONE, outcome=outcome))) == []


def test_more_room_for_depots_is_advised_with_a_word_of_what_they_have_already() -> None:
    assert labels("depots", "depot_room:800", tried(UP, UNDONE)) == []
    has = replace(NOTHING, room_depots=1 << 20)
    assert labels("depots", "depot_room:800", has) == ["that depots may hold beyond their usual room"]


def test_more_room_for_depots_that_was_tried_in_vain_is_told_with_what_it_did() -> None:
    vain = Step(4280, "depot_room", 100, 800, "undone", 0, 0, 60_254, 65_122)
    assert labels("depots", "depot_room:800", tried(vain)) == [
        "processor time of an operation before it tried depot_room 800",
        "with that, which was undone",
    ]
    assert labels("depots", "depot_room:50", tried(vain)) == []
    assert labels("depots", "depot_room:800", tried(vain, replace(vain, outcome="kept"))) == []


def test_the_opposite_of_what_stayed_is_told() -> None:
    shorter = labels("decay-too-long", "dirty_decay_ms:0", tried(LONGER))
    assert shorter == ["dirty_decay_ms before it went up by itself", "dirty_decay_ms since then"]
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
        Step(86_400_000, "cache_room", 400, 800, "being tried", 912_345, 0, 999_912_345, 0),
        Step(3_600_000, "dirty_decay_ms", 40_000, 80_000, "undone", 1_000_000, 978_761, 304_305, 320_537),
    ]
    said = shown(tried(*wide))
    assert max(map(len, said.splitlines())) <= 80
    assert "…" not in said
    assert "40000→80000" in said
    assert "wanted again 100.0 → 97.9 %" in said
    assert "30.4 → 32.1 %" in said


def test_a_wide_terminal_has_each_step_in_one_line() -> None:
    file = io.StringIO()
    show_tried([tried(UP, LONGER)], Console(file=file, width=120))
    assert [line.rstrip().split("  ")[-1].lstrip() for line in file.getvalue().splitlines()[-2:]] == [
        "8.2 → 4.4 ns an operation",
        "0.9 → 0.06 % of wanted pages gone",
    ]


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
    nasty = replace(UP, setting="[/x]", outcome="\x1b[31m")
    said = shown(replace(tried(nasty), mode="on\x1b[2J"))
    assert "\x1b[2J" not in said
    assert "[/x]" in said


REPORT = """___ Begin jemalloc statistics ___
Version: "5.3.1-0-ghew0.1.0"
Tuning: on, windows: 10, own_ns: 5000, steps: 1, kept: 0, undone: 1, dirty_decay_ms: 10000, room_depots: 1048576, \
room_lent: 65536, room_trials: 3, room_kept: 2, room_refused: 1
  at 9 ms cache_room 100 -> 200: kept, reason: 61828 -> 9048 misses of 1000000 operations, \
effect: 8203 -> 4381 ps an operation
  at 255420 ms dirty_decay_ms 10000 -> 20000: undone, reason: 609125 -> 978761 ppm of pages wanted again, \
effect: 104305 -> 120537 ppm of wanted pages gone
--- End jemalloc statistics ---
"""


def test_advise_shows_what_a_report_tells_of_it(hew: HewRunner, tmp_path: Path) -> None:
    (tmp_path / "report").write_text(REPORT)
    said = hew("advise", str(tmp_path / "report")).stdout
    assert "what it has tried by itself" in said
    assert "wanted again 60.9 → 97.9 %," in said
    assert "8.2 → 4.4 ns an operation" in said
    document = is_as_described(hew("advise", "--json", str(tmp_path / "report")).stdout, "advice")
    assert [one["room_depots"] for one in document["tuned"]] == [1 << 20]


def test_advise_says_nothing_of_it_where_nothing_is_told(hew: HewRunner, tmp_path: Path) -> None:
    told = ("Tuning", "  at ")
    (tmp_path / "report").write_text("\n".join(line for line in REPORT.splitlines() if not line.startswith(told)))
    done = hew("advise", str(tmp_path / "report"))
    assert "by itself" not in done.stdout
    assert json.loads(hew("advise", "--json", str(tmp_path / "report")).stdout)["tuned"] == []
