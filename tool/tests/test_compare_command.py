# SPDX-License-Identifier: MIT
"""`hew compare` from end to end, on commands that are over quickly."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import validate

from conftest import PATIENCE, SIGNALS, HewRunner, build, environment, wait_until
from hew.views import document

SCHEMA = json.loads((Path(document.__file__).parent / "compare.schema.json").read_text())
# Fails, or writes something else, only under an allocator whose library has this name.
FAIL_UNDER_MARKER = 'case "$LD_PRELOAD" in *marker*) echo broke >&2; {};; esac; echo fine'


def measured(hew: HewRunner, *words: str, **changes: str | None) -> dict[str, Any]:
    done = hew("compare", "--json", *words, **changes)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    validate(found, SCHEMA)
    return found


def row(found: dict[str, Any], name: str) -> dict[str, Any]:
    one: dict[str, Any] = next(one for one in found["allocators"] if one["name"] == name)
    return one


def test_the_document_holds_every_run_of_every_allocator(hew: HewRunner, library: Path) -> None:
    found = measured(hew, "--alloc", f"marker={library}", "--runs", "6", "--", "sh", "-c", "echo words")
    assert [one["name"] for one in found["allocators"]] == ["glibc", "marker"]
    for one in found["allocators"]:
        assert one["good_runs"] == 6
        assert not one["output_differs"]
        assert all(value > 0 for values in one["values"].values() for value in values)
    assert row(found, "marker")["ratios"]["peak_rss_bytes"]["pairs"] == 6


def test_more_memory_is_found_out(hew: HewRunner, compiler: str, tmp_path: Path) -> None:
    source = (
        "#include <stdlib.h>\n#include <string.h>\n"
        "__attribute__((constructor)) static void grow(void) { memset(malloc(8 << 20), 1, 8 << 20); }\n"
    )
    greedy = build(compiler, tmp_path / "libgreedy.so", source, "-shared", "-fPIC", "-O0")
    found = measured(hew, "--alloc", f"greedy={greedy}", "--runs", "6", "--", "sh", "-c", "true")
    ratio = row(found, "greedy")["ratios"]["peak_rss_bytes"]
    assert ratio["verdict"] == "worse"
    assert ratio["interval"][0] > 2


def test_a_failing_allocator_is_reported_with_its_last_words_and_takes_no_part(hew: HewRunner, library: Path) -> None:
    script = FAIL_UNDER_MARKER.format("exit 9")
    found = measured(hew, "--alloc", f"marker={library}", "--runs", "2", "--", "sh", "-c", script)
    failed = row(found, "marker")
    assert failed["failures"] == [{"round": 0, "reason": "exit status 9", "stderr_tail": "broke"}]
    assert (failed["good_runs"], failed["medians"], failed["ratios"]) == (0, {}, {})
    assert row(found, "glibc")["good_runs"] == 2


def test_death_by_a_signal_is_a_failure(hew: HewRunner, library: Path) -> None:
    script = FAIL_UNDER_MARKER.format("kill -SEGV $$")
    found = measured(hew, "--alloc", f"marker={library}", "--runs", "1", "--", "sh", "-c", script)
    assert row(found, "marker")["failures"][0]["reason"] == "killed by SIGSEGV"


def test_a_run_that_takes_too_long_is_a_failure(hew: HewRunner, library: Path) -> None:
    script = FAIL_UNDER_MARKER.format("sleep 999")  # the others have time enough on a busy machine, too
    words = ("--alloc", f"marker={library}", "--runs", "1", "--timeout", "5.5", "--", "sh", "-c", script)
    assert row(measured(hew, *words), "marker")["failures"][0]["reason"] == "did not end within 5.5 s"


def test_another_output_than_under_glibc_is_flagged(hew: HewRunner, library: Path) -> None:
    script = FAIL_UNDER_MARKER.format("echo other")
    found = measured(hew, "--alloc", f"marker={library}", "--runs", "1", "--", "sh", "-c", script)
    assert row(found, "marker")["output_differs"]
    assert "output differs" in hew("compare", "--alloc", f"marker={library}", "--runs", "1", "sh", "-c", script).stdout


def test_a_command_that_sheds_the_preload_is_found_out(library: Path, tmp_path: Path) -> None:
    """Which goes on until it has been looked at often enough to be sure."""
    seen = tmp_path / "seen"
    waits = f"exec env -u LD_PRELOAD sh -c 'while ! test -e {seen}; do sleep 0.05; done'"
    tells = f"""
import pathlib
from hew.cli import main
from hew.sources.sampler import Sampler
look = Sampler._look
def look_and_tell(self, pids, now):
    look(self, pids, now)
    if self.misses_library():
        pathlib.Path({str(seen)!r}).touch()
Sampler._look = look_and_tell
main(prog_name="hew")
"""
    words = ("compare", "--json", "--alloc", f"marker={library}", "--runs", "1", "--", "sh", "-c")
    done = subprocess.run(
        [sys.executable, "-c", tells, *words, FAIL_UNDER_MARKER.format(waits)],
        env=environment({"LD_PRELOAD": None, "MALLOC_CONF": None, "HEW_CONF": None}),
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (failure,) = row(json.loads(done.stdout), "marker")["failures"]
    assert failure["reason"] == "the preloaded library is not in the process"


def test_input_is_given_anew_in_each_run(hew: HewRunner, library: Path, tmp_path: Path) -> None:
    (tmp_path / "words").write_text("some words")
    check = 'test "$(cat)" = "some words"'
    words = ("--input", str(tmp_path / "words"), "--alloc", f"marker={library}", "--runs", "2", "--", "sh", "-c", check)
    assert row(measured(hew, *words), "marker")["good_runs"] == 2


def test_the_table_shows_figures_reasons_and_failures_without_colour_in_a_pipe(hew: HewRunner, library: Path) -> None:
    script = FAIL_UNDER_MARKER.format("exit 9")
    done = hew(
        "compare",
        "--alloc",
        f"marker={library}",
        "--alloc",
        "gone=/no/lib.so",
        "--alloc",
        f"ok={library}",
        "--runs",
        "1",
        "--",
        "sh",
        "-c",
        script,
    )
    assert done.returncode == 0
    for words in (
        "peak RSS",
        "failed in the warm-up: exit status 9",
        "broke",
        "gone: left out: /no/lib.so is not a file",
    ):
        assert words in done.stdout
    assert "\x1b" not in done.stdout
    assert done.stderr == ""


def test_when_glibc_fails_too_the_status_says_so(hew: HewRunner, library: Path) -> None:
    done = hew("compare", "--alloc", f"marker={library}", "--", "sh", "-c", "echo sorry >&2; exit 3")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == "hew compare: sh: exit status 3: sorry; it has to succeed without a preload first\n"


def test_nothing_to_compare_with_is_one_line(hew: HewRunner) -> None:
    done = hew("compare", "--alloc", "gone=/no/lib.so", "--", "true")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "hew compare: nothing to compare glibc with: gone: /no/lib.so is not a file\n"


@pytest.mark.parametrize(("command", "status"), [("no-such-command-here", 127), ("/etc/passwd", 126)])
def test_a_command_that_cannot_run_is_one_line(hew: HewRunner, library: Path, command: str, status: int) -> None:
    done = hew("compare", "--alloc", f"marker={library}", "--", command)
    assert (done.returncode, done.stderr.count("\n")) == (status, 1)


def test_an_unknown_allocator_without_a_path_is_refused(hew: HewRunner) -> None:
    done = hew("compare", "--alloc", "unheard", "--", "true")
    assert done.returncode == 2
    assert "unheard=PATH" in done.stderr


def test_a_page_that_cannot_be_written_is_refused_before_the_runs(hew: HewRunner, tmp_path: Path) -> None:
    done = hew("compare", "--html", str(tmp_path / "no" / "page.html"), "--", "touch", str(tmp_path / "ran"))
    assert done.returncode == 2
    assert not (tmp_path / "ran").exists()


def test_the_page_is_written_and_its_path_is_the_last_line(hew: HewRunner, library: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = hew("compare", "--alloc", f"marker={library}", "--runs", "1", "--html", str(page), "--", "true")
    assert done.stdout.splitlines()[-1] == f"page: {page}"
    assert "<svg" in page.read_text()


def test_with_json_only_the_document_is_on_stdout(hew: HewRunner, library: Path, tmp_path: Path) -> None:
    words = ("--alloc", f"marker={library}", "--runs", "1", "--html", str(tmp_path / "page.html"), "--", "true")
    measured(hew, *words)


def test_a_preloaded_allocator_is_left_out_of_every_row(hew: HewRunner, library: Path, tmp_path: Path) -> None:
    own = tmp_path / "libjemalloc.so.2"
    own.write_bytes(library.read_bytes())
    check = 'case "$LD_PRELOAD" in *jemalloc*) exit 1;; esac'
    found = measured(hew, "--alloc", f"marker={library}", "--runs", "1", "--", "sh", "-c", check, LD_PRELOAD=str(own))
    assert "libjemalloc.so.2" in found["notes"][0]


@pytest.mark.parametrize("plain", [True, False])
def test_progress_is_on_a_terminal_only_and_colour_follows_no_color(library: Path, plain: bool) -> None:
    words = [
        sys.executable,
        "-m",
        "hew",
        "compare",
        "--alloc",
        f"marker={library}",
        "--runs",
        "1",
        "--",
        "sleep",
        "0.2",
    ]
    main, other = pty.openpty()
    changes = {"NO_COLOR": "1" if plain else None, "TERM": "xterm-256color", "LD_PRELOAD": None}
    started = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=other, env=environment(changes))
    os.close(other)
    seen = b""
    while True:
        try:
            block = os.read(main, 4096)
        except OSError:  # the other end is closed: Linux says so by an error
            break
        seen += block
    os.close(main)
    out, _ = started.communicate(timeout=PATIENCE)
    assert started.returncode == 0
    assert b"round 1" in seen
    assert b"round 1" not in out
    assert (b"\x1b[38" in seen or b"\x1b[32" in seen or b"\x1b[36" in seen) is not plain


@pytest.mark.parametrize(("number", "status", "word"), SIGNALS)
@pytest.mark.parametrize("command", [("compare",), ("advise", "--verify")])
def test_a_signal_ends_the_command_and_leaves_the_shells_status(
    library: Path, tmp_path: Path, command: tuple[str, ...], number: int, status: int, word: str
) -> None:
    words = [sys.executable, "-m", "hew", *command, "--alloc", f"marker={library}", "--"]
    script = f"echo $$ >{tmp_path}/pid; sleep 999"
    started = subprocess.Popen([*words, "sh", "-c", script], stderr=subprocess.PIPE, text=True)
    written = tmp_path / "pid"
    wait_until(lambda: written.exists() and written.read_text().endswith("\n"))
    started.send_signal(number)
    _, said = started.communicate(timeout=PATIENCE)
    assert (started.returncode, said) == (status, f"hew {' '.join(command)}: {word}\n")
    assert not Path(f"/proc/{int(written.read_text())}").exists()


def test_the_real_library_takes_part_when_nothing_is_asked_for(hew: HewRunner, hew_library: Path) -> None:
    found = measured(hew, "--runs", "1", "--", sys.executable, "-c", "print()")
    one = row(found, "hew")
    assert one["library"] == str(hew_library)
    assert (one["good_runs"], one["failures"]) == (1, [])


def test_a_command_is_compared_by_what_it_prints_of_its_work(hew: HewRunner, library: Path) -> None:
    """Its time is fixed, so that only its throughput tells."""
    script = FAIL_UNDER_MARKER.format("echo 'done: 2000 ops/s'; exit 0") + "; echo 'done: 1000 ops/s'"
    words = ("--alloc", f"marker={library}", "--runs", "6", "--metric", r"(\d+) ops/s", "--", "sh", "-c", script)
    found = measured(hew, *words)
    ratio = row(found, "marker")["ratios"]["metric.more.ops/s"]
    assert (ratio["value"], ratio["verdict"]) == (2.0, "better")
    assert hew("compare", "--metric", "ops", "--", "true").returncode == 2


def test_a_pattern_that_matches_nothing_is_said(hew: HewRunner, library: Path) -> None:
    done = hew(
        "compare", "--alloc", f"marker={library}", "--runs", "1", "--metric", r"ops (\d+)", "--", "echo", "hello"
    )
    assert done.returncode == 1
    assert "matches nothing that was printed" in done.stderr
