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
from hew.model.tuning import Step, Tuning, tuning_of
from hew.model.verification import Verification
from hew.sources.control import find_socket
from hew.sources.statistics.json_form import from_json
from hew.sources.statistics.text_form import from_text
from hew.sources.tuning import _reports
from hew.views.tune import tuned_json

FIRST = Step(500, "depot_room", 100, 200, "kept", 90_000, 50_000, 1 << 20, 1 << 20)
SECOND = Step(900, "depot_room", 200, 400, "being tried", 50_000, 0, 1 << 20, 0)
DECAY = Step(16_000, "dirty_decay_ms", 10_000, 20_000, "kept", 0, 0, 1 << 20, 1 << 20)
NOTHING = Tuning("on", 10, 5000, 0, 0, 0, 0, 100, 10_000, ())
# Batches that caches have no room for: as much as there is to lose.
LOSER = """
#include <stdlib.h>
#include <time.h>
static void *objects[40000];
int main(int argc, char **argv) {
    time_t end = time(NULL) + atoi(argv[1]);
    free(malloc(32 << 20));
    while (time(NULL) < end) {
        for (int i = 0; i < 40000; i++) objects[i] = malloc(200);
        for (int i = 0; i < 40000; i++) free(objects[i]);
    }
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
Tuning: on, windows: 10, own_ns: 5000, steps: 2, kept: 1, undone: 0, outgrown: 0, lost_ppm: 7, depot_room: 200, \
dirty_decay_ms: -1, room_lent: 65536, room_trials: 3, room_kept: 2, room_refused: 1
  at 500 ms depot_room 100 -> 200: kept, lost: 90000 -> 50000 ppm, held: 1048576 -> 1048576
  at 900 ms depot_room 200 -> 400: being tried, lost: 50000 -> 0 ppm, held: 1048576 -> 0
--- End jemalloc statistics ---
"""
TOLD = replace(
    NOTHING,
    steps=2,
    kept=1,
    lost_ppm=7,
    depot_room=200,
    dirty_decay_ms=-1,
    last_steps=(FIRST, SECOND),
    room_lent=65536,
    room_trials=3,
    room_kept=2,
    room_refused=1,
)


def test_statistics_as_text_and_as_json_tell_the_same_of_tuning() -> None:
    assert from_text(TEXT).tuning == TOLD
    assert from_json(report(TOLD)).tuning == TOLD


def test_statistics_without_anything_tried_or_with_a_damaged_part_tell_nothing_of_tuning() -> None:
    quiet = replace(NOTHING, mode="room")
    assert from_json(report(quiet)).tuning is None
    assert from_json(report(replace(quiet, room_trials=1))).tuning is not None
    assert from_json(report(replace(NOTHING, windows=-1))).tuning is None
    assert from_text(TEXT.replace("kept: 1,", "")).tuning is None


def test_hew_stats_shows_what_tuning_did(hew: HewRunner, tmp_path: Path) -> None:
    (tmp_path / "report").write_text(TEXT)
    said = hew("stats", str(tmp_path / "report")).stdout
    assert "tuning:on  depot_room 200 %" in said
    assert "2 steps, 1 kept" in said
    assert "3 trials, 2 kept, 1 undone; 64.0 KiB borrowed now" in said
    assert "9.0→5.0 %" in said
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
        ("depot_room", "200'; touch /tmp/x #"),
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
    assert list(_reports(io.BytesIO(written.encode()))) == [NOTHING]


def test_a_deep_report_is_passed_over() -> None:
    good = json.dumps(report(NOTHING), separators=(",", ":"))
    text = '{"jemalloc":{"stats":' + "[" * 200_000 + "\n" + good
    assert list(_reports(io.BytesIO(text.encode()))) == [NOTHING]


@pytest.mark.parametrize("text", ["-5", "101", "1.5", "10%%", "", "ten"])
def test_memory_is_percent(hew: HewRunner, text: str) -> None:
    assert "is not a whole number of percent" in hew("tune", "--memory", text, "--", "true").stderr


def test_memory_takes_its_sign(hew: HewRunner) -> None:
    assert "command not found" in hew("tune", "--memory", "10%", "--", "/no/such").stderr.lower()


def test_what_is_saved_is_quoted_for_a_shell(tmp_path: Path) -> None:
    result = verification(0.8, 1.0)
    nasty = {"MALLOC_CONF": "x:it's,$(touch pwned)"}
    outcome = outcome_of(result)
    outcome = replace(outcome, variant=replace(outcome.variant, changes=nasty))
    result = replace(result, command=("work\rrm", "\x1b[2J\ntouch pwned"))
    saved = tmp_path / "saved"
    saved.write_text("\n".join(saved_lines(Tuned(NOTHING, (), result, outcome, True, True), "2026-01-02")) + "\n")
    words = ["sh", "-c", '. ./saved; echo "$MALLOC_CONF"']
    said = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert said.stdout == nasty["MALLOC_CONF"] + "\n"
    assert [one.name for one in tmp_path.iterdir()] == ["saved"]
    assert "\x1b" not in saved.read_text()


def test_what_stayed_is_learned_and_a_step_that_was_being_tried_is_not() -> None:
    assert learned(NOTHING) == ()
    during = replace(NOTHING, depot_room=400, last_steps=(FIRST, SECOND))
    assert [one.text for one in learned(during)] == ["depot_room:200"]
    first_step = replace(SECOND, before=100, after=200)
    assert learned(replace(NOTHING, depot_room=200, last_steps=(first_step,))) == ()
    longer = replace(NOTHING, dirty_decay_ms=20_000, last_steps=(DECAY,))
    assert [one.text for one in learned(longer)] == ["dirty_decay_ms:20000"]


def verification(cpu: float, peak: float) -> Verification:
    """Six rounds in which what was learned took so much of the time and of the memory."""
    ways = tuned_ways(learned(replace(NOTHING, depot_room=200, last_steps=(FIRST,))), "MALLOC_CONF", {})
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
    tuned = Tuned(replace(NOTHING, steps=3, kept=1), (), result, outcome_of(result), True, True)
    lines = saved_lines(tuned, "2026-01-02")
    assert lines[0] == "# hew tune, 2026-01-02: work it's"
    assert "CPU time 0.80 (0.80 to 0.80)" in lines[2]
    saved = tmp_path / "saved"
    saved.write_text("\n".join(lines) + "\n")
    said = subprocess.run(["sh", "-c", f'. {saved}; echo "$MALLOC_CONF"'], capture_output=True, text=True, check=True)
    assert said.stdout == "depot_room:200\n"


def test_the_document_says_what_was_learned_and_whether_to_keep_it() -> None:
    document = json.loads(tuned_json(Tuned(NOTHING)))
    assert document["format"] == "hew-tune/1"
    assert (document["learned"], document["verification"], document["better"]) == ({}, None, False)


@pytest.fixture(scope="module")
def loser(compiler: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program with something to lose, for so many seconds."""
    return build(compiler, tmp_path_factory.mktemp("loser") / "loser", LOSER, "-O1", "-fno-builtin")


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
    assert (document["mode"], document["depot_room"]) == ("observe", 100)
    assert (step["outcome"], step["before"], step["after"]) == ("would try", 100, 200)
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
    assert document["tuning"]["windows"] > 0
    assert (document["verification"] is not None) == bool(document["learned"])


def test_tune_refuses_another_allocator(hew: HewRunner) -> None:
    refused = hew("tune", "--alloc", "glibc", "--", sys.executable, "-c", "")
    assert refused.returncode != 0
    assert "only hew tunes itself" in refused.stderr or "what the command has" in refused.stderr
