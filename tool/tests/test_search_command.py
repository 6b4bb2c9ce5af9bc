# SPDX-License-Identifier: MIT
"""`hew search` as users meet it: programs of which it is known what is better, or that nothing is."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from conftest import PATIENCE, SIGNALS, HewRunner, environment, is_as_described, wait_until
from hew.analysis.search.space import parameters_of

Programs = Callable[[str], list[str]]
STAYS = ("--goal", "metric", "--metric", r"less:stays (\d+)")
CONSTANT = ("--goal", "metric", "--metric", r"constant (\d+)")
QUICK = ("--seed", "1", "--runs", "6", "--warmup", "0", "--timeout", "60")


def test_a_setting_that_is_clearly_better_is_recommended_and_verified(
    hew: HewRunner, programs: Programs, hew_library: Path
) -> None:
    done = hew("search", *STAYS, *QUICK, "--trials", "26", "--rounds", "1", "--json", "--", *programs("leaves"))
    assert done.returncode == 0, done.stderr
    document = is_as_described(done.stdout, "search")
    settings = {one["name"]: one["value"] for one in document["recommended"]["settings"]}
    assert settings.get("dirty_decay_ms") == "0", settings
    without, pick = document["verification"]["variants"]
    ratio = pick["ratios"]["metric.less.stays"]
    assert (without["good_runs"], pick["good_runs"], ratio["verdict"]) == (6, 6, "better")
    assert ratio["interval"][1] < 0.6
    assert pick["changes"] == {"HEW_CONF": ",".join(f"{name}:{value}" for name, value in settings.items())}
    assert len(document["tried"]) == 26


def test_nothing_better_is_said_where_nothing_is(hew: HewRunner, programs: Programs, hew_library: Path) -> None:
    done = hew("search", *CONSTANT, *QUICK, "--trials", "6", "--rounds", "1", "--", *programs("leaves 4"))
    assert done.returncode == 0, done.stderr
    assert "no candidate beats hew in any goal" in done.stdout
    assert done.stdout.rstrip().endswith("Nothing better: no candidate beat the base without a loss elsewhere")
    assert "6 candidates tried" in done.stdout


def test_only_what_is_named_is_tried_and_one_that_fails_is_told(
    hew: HewRunner, programs: Programs, hew_library: Path
) -> None:
    words = ["sh", "-c", 'case "$HEW_CONF" in *narenas:7*) exit 3;; esac; echo constant 42']
    done = hew("search", *CONSTANT, *QUICK, "--try", "narenas:7,9", "--try", "tcache", "--json", "--", *words)
    assert done.returncode == 0, done.stderr
    tried = is_as_described(done.stdout, "search")["tried"]
    settings = [{one["name"]: one["value"] for one in row["settings"]} for row in tried]
    assert {} not in settings
    assert len(settings) == 5  # three times two, less the base
    assert {row["failure"] for row, has in zip(tried, settings, strict=True) if has.get("narenas") == "7"} == {
        "exit status 3"
    }
    assert {row["failure"] for row, has in zip(tried, settings, strict=True) if has.get("narenas") != "7"} == {None}


def test_a_search_goes_on_in_its_file_and_several_share_it(
    hew: HewRunner, programs: Programs, hew_library: Path, tmp_path: Path
) -> None:
    storage = str(tmp_path / "leaves.db")
    words = ("search", *STAYS, *QUICK, "--rounds", "1", "--storage", storage)
    asked = [*words, "--trials", "8", "--json", "--", *programs("leaves")]
    with ThreadPoolExecutor(2) as pool:
        both = [one.result() for one in [pool.submit(hew, *asked) for _ in range(2)]]
    assert [one.returncode for one in both] == [0, 0], [one.stderr for one in both]
    last = max((is_as_described(one.stdout, "search")["tried"] for one in both), key=len)
    assert 8 <= len(last) <= 8 + 2 * 3  # what the other had under way
    later = hew(*words, "--trials", "16", "--json", "--", *programs("leaves"))
    assert later.returncode == 0, later.stderr
    tried = is_as_described(later.stdout, "search")["tried"]
    assert len(tried) >= 16
    assert tried[: len(last)] == last
    other = hew(*words, "--", *programs("leaves 3"))
    assert other.returncode == 1
    assert "leaves.db holds a search with another command: give another --storage" in other.stderr


@pytest.mark.parametrize(("number", "status", "word"), SIGNALS)
def test_an_interrupt_keeps_what_was_learned(
    number: signal.Signals, status: int, word: str, programs: Programs, hew_library: Path, tmp_path: Path
) -> None:
    storage, marks = tmp_path / "kept.db", tmp_path / "marks"
    words = ["sh", "-c", f'echo x >>{marks}; echo constant 42; [ "$(wc -l <{marks})" -lt 12 ] || exec sleep 3000']
    search = subprocess.Popen(
        [sys.executable, "-m", "hew", "search", *CONSTANT, "--rounds", "1", "--storage", str(storage), "--", *words],
        env=environment({name: None for name in os.environ if "MALLOC" in name or name.startswith(("HEW", "LD_P"))}),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    wait_until(lambda: search.poll() is not None or (marks.exists() and len(marks.read_text()) >= 24))
    search.send_signal(number)
    said, errors = search.communicate()
    assert (search.returncode, errors) == (status, f"hew search: {word}\n")
    assert "Interrupted: nothing was verified; the same command with --storage" in said
    assert "candidates tried" in said
    assert "0 candidates tried" not in said


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["--limit", "rss<1", "--", "true"], 2, "write NAME<=RATIO"),
        (["--goal", "speed", "--", "true"], 2, "is not one of"),
        (["--try", "nothing_known", "--", "true"], 1, "write --try nothing_known:VALUE,VALUE"),
        (["--try", "a b", "--", "true"], 2, "write NAME or NAME:VALUE,VALUE"),
        (["--goal", "metric", "--", "true"], 1, "metric: the runs of this command do not have it; they have wall, cpu"),
        (["--trials", "0", "--", "true"], 2, "0 is not in the range"),
        (["--allocators", "--alloc", "hew", "--", "true"], 2, "--allocators takes all of them, --alloc one"),
        (["--", "no-such-command-here"], 127, "no-such-command-here"),
        (["--", "false"], 1, "false fails under hew: exit status 1"),
        (["--storage", "/nowhere/at/all.db", "--", "true"], 1, "/nowhere/at/all.db: unable to open database file"),
        (["--storage", "/etc/passwd", "--", "true"], 1, "/etc/passwd: file is not a database"),
    ],
)
def test_what_cannot_be_meant_is_told_in_one_line(
    hew: HewRunner, hew_library: Path, words: list[str], status: int, message: str
) -> None:
    done = hew("search", *words)
    assert done.returncode == status
    assert message in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


def test_hew_takes_every_value_of_the_space_without_a_word(hew_library: Path) -> None:
    for one in parameters_of("hew"):
        for value in one.values:
            done = subprocess.run(
                ["/bin/true"],
                env={"LD_PRELOAD": str(hew_library), "MALLOC_CONF": f"{one.name}:{value}"},
                capture_output=True, text=True, check=False, timeout=PATIENCE,
            )  # fmt: skip
            assert (done.returncode, done.stderr) == (0, ""), f"{one.name}:{value}"


def test_allocators_are_searched_too_from_glibc(hew: HewRunner, programs: Programs, hew_library: Path) -> None:
    done = hew(
        "search", "--allocators", *STAYS, *QUICK, "--trials", "6", "--rounds", "1", "--json", "--", *programs("leaves")
    )
    assert done.returncode == 0, done.stderr
    document = is_as_described(done.stdout, "search")
    assert document["base"] == "glibc"
    assert "hew" in {one["allocator"] for one in document["tried"]}
