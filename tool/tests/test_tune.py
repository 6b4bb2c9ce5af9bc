# SPDX-License-Identifier: MIT
"""What tuning has done: as read, as shown, as learned by `hew tune`."""

import io
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import MACHINE, HewRunner, build, environment, good_run, is_as_described, wait_until
from hew.analysis.tuned import WAY, faster, lean, learned, outcome_of, saved_lines, tuned_ways
from hew.analysis.verification import figures_of, outcomes
from hew.model.errors import HewError
from hew.model.tuned import Tuned
from hew.model.tuning import Step, Told, Tuning, tuning_of
from hew.model.verification import Verification
from hew.sources.control import find_socket
from hew.sources.statistics.json_form import from_json
from hew.sources.statistics.text_form import from_text
from hew.sources.tuning import _reports, _who_tried_most
from hew.views.tune import tuned_json

IN_VAIN = Step(800, "depot_room", 100, 800, "undone", 0, 0, 60_254, 65_122)
FIRST = Step(9, "cache_room", 100, 200, "kept", 61_828, 9_048, 8_203, 4_381)
SECOND = Step(900, "dirty_decay_ms", 10_000, 20_000, "being tried", 609_125, 0, 104_305, 0)
DECAY = Step(16_000, "dirty_decay_ms", 10_000, 20_000, "kept", 201_000, 32_000, 9_100, 640)
NOTHING = Tuning("on", 10, 5000, 0, 0, 0, 10_000, ())
TRIED = replace(NOTHING, room_trials=2, room_kept=1)
# Threads whose bursts, of many sizes, are more than their caches may hold.
LOSER = """
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
static time_t end;
static void *work(void *nothing) {
    void *objects[300];
    unsigned random = 1;
    while (time(NULL) < end) {
        for (int i = 0; i < 300; i++) objects[i] = malloc(16 + ((random = random * 1103515245 + 12345) >> 8) % 1984);
        for (int i = 0; i < 300; i++) free(objects[i]);
    }
    return nothing;
}
int main(int argc, char **argv) {
    pthread_t threads[64];
    end = time(NULL) + atoi(argv[1]);
    for (int i = 0; i < 64; i++) pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 64; i++) pthread_join(threads[i], NULL);
    return 0;
}
"""


def report(tuning: Tuning) -> dict[str, object]:
    """As the library writes it."""
    return {"jemalloc": {"stats": {"tuning": {**vars(tuning), "last_steps": [vars(one) for one in tuning.last_steps]}}}}


def test_a_report_is_read_and_an_older_one_has_none() -> None:
    tuning = replace(NOTHING, steps=2, last_steps=(FIRST, SECOND))
    assert tuning_of(json.loads(json.dumps(report(tuning)))) == tuning
    assert tuning_of({"jemalloc": {"stats": {"allocated": 1}}}) is None
    assert tuning_of([]) is None


def test_a_decay_time_for_ever_is_a_number() -> None:
    assert tuning_of(report(replace(NOTHING, dirty_decay_ms=-1))) == replace(NOTHING, dirty_decay_ms=-1)
    with pytest.raises(HewError, match="'windows' is not a whole number"):
        tuning_of(report(replace(NOTHING, windows=-1)))


TEXT = """___ Begin jemalloc statistics ___
Version: "5.3.1-0-ghew0.1.0"
Tuning: on, windows: 10, own_ns: 5000, steps: 1, kept: 0, undone: 0, dirty_decay_ms: -1, room_depots: 4096, \
depots_judged: 2, depots_undone: 1, room_lent: 65536, room_trials: 3, room_kept: 2, room_refused: 1
  at 9 ms cache_room 100 -> 200: kept, reason: 61828 -> 9048 misses of 1000000 operations, \
effect: 8203 -> 4381 ps an operation
  at 800 ms depot_room 100 -> 800: undone, effect: 60254 -> 65122 ps an operation
  at 900 ms dirty_decay_ms 10000 -> 20000: being tried, reason: 609125 -> 0 ppm of pages wanted again, \
effect: 104305 -> 0 ppm of wanted pages gone
--- End jemalloc statistics ---
"""
TOLD = replace(
    NOTHING,
    steps=1,
    dirty_decay_ms=-1,
    last_steps=(FIRST, IN_VAIN, SECOND),
    room_depots=4096,
    room_lent=65536,
    room_trials=3,
    room_kept=2,
    room_refused=1,
    depots_judged=2,
    depots_undone=1,
)


def test_statistics_as_text_and_as_json_tell_the_same_of_tuning() -> None:
    assert from_text(TEXT).tuning == TOLD
    assert from_json(report(TOLD)).tuning == TOLD


def test_statistics_without_anything_tried_or_with_a_damaged_part_tell_nothing_of_tuning() -> None:
    assert from_json(report(NOTHING)).tuning is None
    assert from_json(report(replace(NOTHING, mode="off", steps=1))).tuning is None
    for told in (replace(NOTHING, room_trials=1), replace(NOTHING, steps=1), replace(NOTHING, room_depots=4096),
                 replace(NOTHING, depots_judged=1), replace(NOTHING, mode="observe")):  # fmt: skip
        assert from_json(report(told)).tuning == told
    assert from_json(report(replace(NOTHING, windows=-1))).tuning is None
    assert from_text(TEXT.replace("kept: 0,", "")).tuning is None


OLDER = """___ Begin jemalloc statistics ___
Version: "5.3.1-0-ghew0.1.0"
Tuning: on, windows: 10, own_ns: 5000, steps: 1, kept: 1, undone: 0, outgrown: 0, lost_ppm: 7, depot_room: 200, \
dirty_decay_ms: 10000, room_lent: 65536, room_trials: 3, room_kept: 2, room_refused: 1
  at 500 ms depot_room 100 -> 200: kept, lost: 90000 -> 50000 ppm, held: 1048576 -> 1048576
--- End jemalloc statistics ---
"""


def test_of_a_library_that_told_of_losses_what_is_known_is_read() -> None:
    text = from_text(OLDER).tuning
    assert text is not None
    assert (text.room_kept, text.dirty_decay_ms, text.last_steps) == (2, 10_000, ())
    older = {**vars(NOTHING), "steps": 1, "lost_ppm": 7, "depot_room": 200, "outgrown": 0, "last_steps": [
        {"at_ms": 500, "setting": "depot_room", "before": 100, "after": 200, "outcome": "too costly",
         "lost_before_ppm": 9, "lost_after_ppm": 5, "held_before": 1, "held_after": 1}]}  # fmt: skip
    del older["room_depots"]
    read = from_json({"jemalloc": {"stats": {"tuning": older}}}).tuning
    assert read == replace(NOTHING, steps=1, last_steps=(Step(500, "depot_room", 100, 200, "too costly"),))
    assert learned(Told(read, 1 << 20)) == ()


def test_hew_stats_shows_what_tuning_did(hew: HewRunner, tmp_path: Path) -> None:
    (tmp_path / "report").write_text(TEXT)
    said = hew("stats", str(tmp_path / "report")).stdout
    assert "tuning:on  dirty_decay_ms -1; depots may hold 4.00 KiB more" in said
    assert "10 looks took 5.00 µs; 1 step of it: 0 kept, 0 undone" in said
    assert "3 trials, 2 kept, 1 undone; 64.0 KiB borrowed now" in said
    assert "misses 6.2 → 0.9 %" in said
    assert "8.2 → 4.4 ns an operation" in said
    assert "room of depots beyond the usual: judged 2 times, undone 1" in said
    assert "60.3 → 65.1 ns an operation" in said
    document = is_as_described(hew("stats", "--json", str(tmp_path / "report")).stdout, "stats")
    assert document["snapshots"][0]["tuning"]["last_steps"][0]["outcome"] == "kept"


def test_a_report_that_lacks_a_number_is_refused_in_one_line() -> None:
    broken = report(NOTHING)
    del broken["jemalloc"]["stats"]["tuning"]["kept"]  # type: ignore[index]
    with pytest.raises(HewError, match="lacks 'kept'"):
        tuning_of(broken)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mode", "on\x1b[31m"),
        ("mode", "[/x]"),
        ("mode", [1]),
        ("windows", "many"),
        ("windows", True),
        ("windows", -1),
        ("own_ns", 10**400),
        ("own_ns", 1.5),
        ("room_depots", "200'; touch /tmp/x #"),
        ("last_steps", None),
        ("last_steps", {"a": 1}),
        ("last_steps", [1]),
        ("last_steps", [{**vars(FIRST), "outcome": "\x1b]0;title\x07"}]),
        ("last_steps", [{**vars(FIRST), "before": "1'"}]),
        ("last_steps", [{**vars(FIRST), "at_ms": None}]),
    ],
)
def test_a_report_of_other_types_is_refused_and_hides_no_good_one(name: str, value: object) -> None:
    broken = report(NOTHING)
    broken["jemalloc"]["stats"]["tuning"][name] = value  # type: ignore[index]
    with pytest.raises(HewError, match=r"^the report's part about tuning[^\n\x1b]*$"):
        tuning_of(broken)
    written = "".join(json.dumps(one, separators=(",", ":")) + "\n" for one in (broken, report(NOTHING)))
    assert list(_reports(io.BytesIO(written.encode()))) == [Told(NOTHING)]


def test_a_deep_report_is_passed_over() -> None:
    good = json.dumps(report(NOTHING), separators=(",", ":"))
    text = '{"jemalloc":{"stats":' + "[" * 200_000 + "\n" + good
    assert list(_reports(io.BytesIO(text.encode()))) == [Told(NOTHING)]


@pytest.mark.parametrize("text", ["-5", "101", "1.5", "10%%", "", "ten"])
def test_memory_is_percent(hew: HewRunner, text: str) -> None:
    assert "is not a whole number of percent" in hew("tune", "--memory", text, "--", "true").stderr


def test_memory_takes_its_sign(hew: HewRunner) -> None:
    assert "command not found" in hew("tune", "--memory", "10%", "--", "/no/such").stderr.lower()


def test_what_is_saved_is_quoted_for_a_shell(tmp_path: Path) -> None:
    result = verification(0.8, 1.0)
    nasty = {"HEW_CONF": "x:it's,$(touch pwned)"}
    outcome = outcome_of(result)
    outcome = replace(outcome, variant=replace(outcome.variant, changes=nasty))
    result = replace(result, command=("work\rrm", "\x1b[2J\ntouch pwned"))
    saved = tmp_path / "saved"
    saved.write_text("\n".join(saved_lines(Tuned(NOTHING, (), result, outcome, True, True), "2026-01-02")) + "\n")
    words = ["sh", "-c", '. ./saved; echo "$HEW_CONF"']
    said = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert said.stdout == nasty["HEW_CONF"] + "\n"
    assert [one.name for one in tmp_path.iterdir()] == ["saved"]
    assert "\x1b" not in saved.read_text()


def texts(tuning: Tuning, depots: int | None = 3 << 19) -> list[str]:
    """What is learned, as settings."""
    return [one.text for one in learned(Told(tuning, depots))]


def test_a_decay_time_that_stayed_is_learned_and_one_that_was_being_tried_is_not() -> None:
    assert texts(NOTHING) == []
    assert texts(replace(NOTHING, dirty_decay_ms=20_000, last_steps=(SECOND,))) == []
    assert texts(replace(NOTHING, dirty_decay_ms=20_000, last_steps=(SECOND, DECAY))) == ["dirty_decay_ms:20000"]
    back = replace(DECAY, before=20_000, after=10_000)
    assert texts(replace(NOTHING, last_steps=(DECAY, back))) == []
    more = replace(SECOND, before=20_000, after=40_000)
    assert texts(replace(NOTHING, dirty_decay_ms=40_000, last_steps=(DECAY, more))) == ["dirty_decay_ms:20000"]


@pytest.mark.parametrize(
    ("afters", "room"), [((), 200), ((125,), 200), ((200, 136), 200), ((200, 301), 300), ((700, 1600), 800)]
)
def test_the_most_that_a_thread_has_kept_is_learned_for_all(afters: tuple[int, ...], room: int) -> None:
    """The ring may have lost the trials that were kept; that there were some is known."""
    undone = replace(FIRST, outcome="undone", after=900)
    steps = (*(replace(FIRST, after=after) for after in afters), undone)
    assert texts(replace(TRIED, last_steps=steps)) == [f"cache_room:{room}"]
    assert texts(replace(TRIED, room_kept=0, last_steps=(undone,))) == []


@pytest.mark.parametrize(("more", "room"), [(0, 0), (512, 0), (514, 200), (1024, 200), (1600, 300), (7 * 1024, 800)])
def test_room_that_is_above_half_of_what_depots_usually_have_is_learned(more: int, room: int) -> None:
    tuning = replace(NOTHING, room_depots=more)
    assert texts(tuning, 1024 + more) == ([f"depot_room:{room}"] if room else [])
    assert texts(tuning, None) == []


def test_where_more_room_did_not_pay_the_usual_one_is_learned() -> None:
    tuning = replace(NOTHING, room_depots=0, last_steps=(IN_VAIN,))
    assert texts(tuning, 1024) == ["depot_room:100"]
    later = replace(IN_VAIN, outcome="kept")
    assert texts(replace(tuning, room_depots=7 * 1024, last_steps=(IN_VAIN, later)), 8 * 1024) == ["depot_room:800"]


def test_of_several_processes_the_one_that_tried_something_tells() -> None:
    """A shell around the command has tried nothing; a small heap has no windows."""
    told = [Told(NOTHING), Told(replace(TRIED, windows=0)), Told(replace(NOTHING, windows=0))]
    assert _who_tried_most(told) == told[1]
    assert _who_tried_most([*told, Told(TRIED)]).tuning == TRIED


def test_what_depots_may_hold_is_the_limit_of_each_of_them() -> None:
    document = report(NOTHING)
    document["jemalloc"]["stats"]["depot"] = {"limit": 786_432, "depots": 2}  # type: ignore[index]
    written = json.dumps(document, separators=(",", ":"))
    assert list(_reports(io.BytesIO(written.encode()))) == [Told(NOTHING, 1_572_864)]


def verification(cpu: float, peak: float) -> Verification:
    """Six rounds in which what was learned took so much of the time and of the memory."""
    ways = tuned_ways(learned(Told(replace(TRIED, last_steps=(FIRST,)))), "HEW_CONF", {})
    runs = [
        good_run(
            one.name,
            number,
            figures={
                "wall_seconds": 1.0 * number,
                "cpu_seconds": number * (cpu if one.name == WAY else 1.0),
                "peak_rss_bytes": 2.0**20 * (peak if one.name == WAY else 1.0),
            },
        )
        for number in range(1, 9)
        for one in ways
    ]
    results = tuple(outcomes(ways, runs))
    return Verification(("work", "it's"), "hew 0.1.0", 8, 1, "2026", MACHINE, 0.95, figures_of(runs), results, (), ())


@pytest.mark.parametrize(
    ("cpu", "peak", "memory", "expected"),
    [
        (0.8, 1.0, 0, (True, True)),
        (0.8, 1.2, 0, (True, False)),
        (0.8, 1.2, 20, (True, True)),
        (1.2, 1.0, 0, (False, True)),
        (1.0, 1.0, 0, (False, True)),
    ],
)
def test_it_is_kept_when_it_is_faster_and_takes_no_more_than_it_may(
    cpu: float, peak: float, memory: int, expected: tuple[bool, bool]
) -> None:
    outcome = outcome_of(verification(cpu, peak))
    assert (faster(outcome), lean(outcome, memory)) == expected


def test_what_is_saved_is_a_setting_that_a_shell_reads_with_its_evidence(tmp_path: Path) -> None:
    result = verification(0.8, 1.0)
    tuned = Tuned(replace(TRIED, steps=3, kept=1, room_depots=4096), (), result, outcome_of(result), True, True)
    lines = saved_lines(tuned, "2026-01-02")
    assert lines[0] == "# hew tune, 2026-01-02: work it's"
    tried = "2 trials of threads, 1 kept; 3 steps of dirty_decay_ms, 1 kept; 4.00 KiB more for depots"
    assert lines[1] == f"# hew 0.1.0; in one run {tried}"
    assert "CPU time 0.80 (0.80 to 0.80)" in lines[2]
    saved = tmp_path / "saved"
    saved.write_text("\n".join(lines) + "\n")
    said = subprocess.run(["sh", "-c", f'. {saved}; echo "$HEW_CONF"'], capture_output=True, text=True, check=True)
    assert said.stdout == "cache_room:200\n"


def test_the_document_says_what_was_learned_and_whether_to_keep_it() -> None:
    document = json.loads(tuned_json(Tuned(NOTHING)))
    assert document["format"] == "hew-tune/1"
    assert (document["learned"], document["verification"], document["better"]) == ({}, None, False)


@pytest.fixture(scope="module")
def loser(compiler: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program with something to lose, for so many seconds."""
    return build(compiler, tmp_path_factory.mktemp("loser") / "loser", LOSER, "-O1", "-fno-builtin", "-pthread")


def test_a_running_process_tells_its_steps(hew_library: Path, loser: Path, hew: HewRunner, tmp_path: Path) -> None:
    conf = f"control:{tmp_path}/socket.%p,tuning:observe"
    with subprocess.Popen(
        [str(loser), "60"], env=environment({"LD_PRELOAD": str(hew_library), "HEW_CONF": conf})
    ) as child:
        wait_until(lambda: find_socket(child.pid) is not None, "no control socket has come up")

        def thought() -> bool:
            said = hew("ctl", str(child.pid), "--tuning", "--json")
            return bool(is_as_described(said.stdout, "ctl")["last_steps"])

        wait_until(thought, "tuning has not thought of a step")
        document = json.loads(hew("ctl", str(child.pid), "--tuning", "--json").stdout)
        text = hew("ctl", str(child.pid), "--tuning").stdout
        advised = hew("advise", str(child.pid)).stdout
        tuned = is_as_described(hew("advise", "--json", str(child.pid)).stdout, "advice")["tuned"]
        top = is_as_described(hew("top", "--json", "--every", "0.2", str(child.pid)).stdout, "top")
        child.kill()
    step = document["last_steps"][0]
    assert (document["mode"], document["dirty_decay_ms"]) == ("observe", 10_000)
    assert (step["outcome"], step["setting"], step["before"]) == ("would try", "cache_room", 100)
    assert step["reason_before"] > 0
    assert step["effect_before"] > 0
    assert "would try" in text
    assert "tuning:observe" in text
    assert "what it would try by itself; nothing was changed" in advised
    assert tuned[0]["last_steps"][0]["outcome"] == "would try"
    assert top["process"]["tuning"]["last_steps"][0]["outcome"] == "would try"


def test_tune_learns_of_a_command_and_measures_it(hew_library: Path, loser: Path, hew: HewRunner) -> None:
    words = ("--runs", "1", "--warmup", "0", "--memory", "100", "--json", "--", str(loser), "3")
    done = hew("tune", "--alloc", f"hew={hew_library}", *words)
    document = json.loads(done.stdout)
    assert document["tuning"]["mode"] == "on"
    assert document["tuning"]["room_trials"] > 0
    assert (document["verification"] is not None) == bool(document["learned"])


def test_tune_refuses_another_allocator(hew: HewRunner) -> None:
    refused = hew("tune", "--alloc", "glibc", "--", sys.executable, "-c", "")
    assert refused.returncode != 0
    assert "only hew tunes itself" in refused.stderr or "what the command has" in refused.stderr
