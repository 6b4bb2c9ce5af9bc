# SPDX-License-Identifier: MIT
"""`hew bench` from end to end, on workloads that are over at once; and what it is made of: tables, points, counters."""

import io
import json
import os
import shutil
import signal
import tomllib
from pathlib import Path

import pytest

from conftest import PATIENCE, SIGNALS, HewRunner
from hew.model.allocator import Allocator
from hew.model.errors import HewError
from hew.model.run import CommandPlan, Point, RssPoint, ServerPlan
from hew.sources.instructions import PAGE_FAULTS, SOFTWARE, Counter
from hew.sources.launcher import Streams, launch
from hew.sources.measure import byte_seconds
from hew.sources.points import read_points
from hew.sources.suites import default_table, read_suite
from hew.sources.versions import versions_of

TABLE = '''
slow_peers = ["snail"]
[suites.small]
runs = 6
warmup = 0
curve_runs = 1
timeout = 200
[suites.other]
runs = 1
warmup = 0
curve_runs = 1
[[workloads]]
name = "sleep"
group = "real"
command = ["sh", "-c", 'sleep 0.05; echo "$1"', "sh"]
in = { small = ["fine"], other = ["else"] }
[[workloads]]
name = "line"
group = "curves"
command = ["sh", "-c", """
echo '{"series":"malloc","at":8,"ns":2}'
echo '{"series":"malloc","at":16,"ns":3}'
"""]
curve = true
in = { small = [] }
[[workloads]]
name = "absent"
group = "real"
command = ["no-such-program-here"]
in = { small = [] }
[[workloads]]
name = "hungry"
group = "real"
command = ["sh"]
needs = ["sh", "{inputs}/no-such-input"]
in = { small = [] }
[[workloads]]
name = "service"
group = "real"
server = ["sh", "{programs}/x", "{port}"]
command = ["sh"]
in = { other = [1] }
'''


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "suites.toml"
    path.write_text(TABLE)
    return path


def test_a_suite_is_measured_shown_saved_drawn_and_compared(
    hew: HewRunner, library: Path, table: Path, tmp_path: Path
) -> None:
    saved, page = tmp_path / "saved.json", tmp_path / "page.html"
    words = ("--suites", str(table), "--suite", "small", "--alloc", f"marker={library}")
    done = hew("bench", *words, "--save", str(saved), "--html", str(page))
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    for part in ("sleep", "geometric mean", "line: malloc", "absent: left out", "hungry: left out", "marker"):
        assert part in done.stdout
    found = json.loads(saved.read_text())
    assert found["seconds"] >= 0
    assert found["allocators"][0]["version"] == found["machine"]["libc"]
    assert [one["name"] for one in found["workloads"]] == ["sleep", "line"]
    assert found["workloads"][0]["best"]["wall_seconds"]["name"] == "marker"
    assert found["workloads"][1]["points"][1]["medians"] == {"glibc": 3.0, "marker": 3.0}
    assert {one["name"] for one in found["mean"]["allocators"]} == {"glibc", "marker", "best peer"}
    assert "<script" not in page.read_text()
    assert page.read_text().count("<svg") >= 4
    compared = hew("bench", "--compare", str(saved), str(saved), "--alloc", f"marker={library}")
    assert compared.returncode == 0, compared.stderr
    assert "no difference" in compared.stdout


def test_json_goes_to_stdout_alone_and_one_workload_can_be_asked_for(
    hew: HewRunner, library: Path, table: Path
) -> None:
    words = ("--suites", str(table), "--suite", "small", "--alloc", f"marker={library}", "--runs", "1")
    found = json.loads(hew("bench", "--json", "--only", "line", *words).stdout)
    assert [one["name"] for one in found["workloads"]] == ["line"]
    assert found["mean"] is None


def test_an_estimate_runs_each_workload_once(hew: HewRunner, library: Path, table: Path) -> None:
    words = ("--suites", str(table), "--suite", "small", "--alloc", f"marker={library}")
    done = hew("bench", "--estimate", *words)
    assert done.returncode == 0, done.stderr
    lines = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert " 12 " in lines["sleep"]  # six rounds of two allocators
    assert " 2 " in lines["line"]
    assert "left out" in lines["hungry:"]
    assert "each of 2 allocators" in lines["suite"]


def test_a_library_of_a_package_has_its_version() -> None:
    package = next((path for path in map(Path, ("/lib/x86_64-linux-gnu/libz.so.1",)) if path.exists()), None)
    if package is None or shutil.which("dpkg-query") is None:
        pytest.skip("no Debian package of zlib here")
    found = versions_of([Allocator("glibc"), Allocator("zlib", package)], "glibc 1")
    assert found["glibc"] == "glibc 1"
    assert found["zlib"].startswith("zlib1g ")
    assert versions_of([Allocator("mine", Path("/nowhere/libof-no-package.so"))], "") == {}


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--suite", "huge"), "has no suite 'huge', only small, other"),
        (("--suite", "small", "--only", "absent"), "cannot run absent here"),
        (("--compare", "/proc/self/stat", "/proc/self/stat"), "was not saved by hew bench"),
    ],
)
def test_what_cannot_be_done_is_one_line(hew: HewRunner, table: Path, words: tuple[str, ...], complaint: str) -> None:
    done = hew("bench", "--suites", str(table), *words)
    assert done.returncode == 1
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_words_of_a_suite_go_behind_the_command(table: Path) -> None:
    sleep, service = read_suite(table, "other", os.environ).workloads
    assert isinstance(sleep.plan, CommandPlan)
    assert isinstance(service.plan, ServerPlan)
    assert sleep.plan.command[-1] == "else"
    assert service.plan.client == ("sh", "1")
    assert service.plan.server[1].endswith("build/release/bench/x")


def test_a_table_with_a_mistake_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "suites.toml"
    path.write_text('[suites.s]\nruns = 1\nwarmup = 0\n[[workloads]]\nname = "x"\nin = { s = [] }\ncommand = ["sh"]\n')
    with pytest.raises(HewError, match="workload x: KeyError\\('group'\\)"):
        read_suite(path, "s", os.environ)


def test_every_workload_of_our_own_table_says_what_it_does() -> None:
    rows = tomllib.loads(default_table().read_text())["workloads"]
    assert [row["name"] for row in rows if not row.get("what")] == []


def test_our_own_table_is_whole() -> None:
    for suite in (read_suite(default_table(), name, os.environ) for name in ("quick", "nightly")):
        names = [one.name for one in suite.workloads] + [one.name for one in suite.left_out]
        assert len(set(names)) == len(names) >= 15


def test_points_are_found_among_other_lines() -> None:
    text = b'hello\n{"series":"m","at":8,"ns":1.5,"pairs":9}\n{"at":8,"ns":1}\n{broken\n{"series":"m","at":8}\n'
    more = b'{"series":"RSS","at":1,"rss_kib":4}\n'
    found = read_points(io.BytesIO(text), io.BytesIO(more))
    assert found == (Point("m", 8, "ns", 1.5), Point("RSS", 1, "rss_kib", 4))


def test_memory_over_time_is_an_area() -> None:
    assert byte_seconds([RssPoint(0, 0), RssPoint(2, 10), RssPoint(3, 10)]) == 20


def test_a_counter_counts_the_command_and_its_children_or_nothing(tmp_path: Path) -> None:
    with (tmp_path / "out").open("wb+") as out, Path(os.devnull).open("rb") as nothing:
        launched = launch(["sh", "-c", "(true); (true)"], os.environ, None, Streams(nothing, out, out))
        counter = Counter(launched.pid, SOFTWARE, PAGE_FAULTS)
        launched.open_gate()
        ending = launched.wait(PATIENCE)
        count = counter.close()
    assert ending.status == 0
    assert count is None or 10 < count <= ending.page_faults
    assert counter.close() is None


@pytest.mark.parametrize(("number", "status", "word"), SIGNALS)
def test_a_signal_ends_it_at_once(
    table: Path, library: Path, hew: HewRunner, number: int, status: int, word: str
) -> None:
    slow = table.parent / "slow.toml"
    slow.write_text(TABLE.replace("sleep 0.05", f"kill -{number} $PPID; sleep 999"))
    words = ("--suites", str(slow), "--suite", "small", "--alloc", f"marker={library}", "--runs", "1")
    done = hew("bench", "--only", "sleep", *words)
    assert (done.returncode, done.stderr) == (status, f"hew bench: {word}\n")


@pytest.mark.parametrize(("number", "status", "word"), SIGNALS)
def test_a_signal_later_keeps_the_workloads_that_are_done(
    table: Path, library: Path, hew: HewRunner, number: int, status: int, word: str
) -> None:
    slow, saved, pid = (table.parent / name for name in ("slow.toml", "saved.json", "pid"))
    twice = f"echo $$ >{pid}; kill -{number} $PPID; kill -{number} $PPID; sleep 999"
    once = twice if number == signal.SIGTERM else twice.replace(f"kill -{number} $PPID; ", "", 1)
    slow.write_text(TABLE.replace("""echo '{"series":"malloc","at":8,"ns":2}'""", once))
    words = ("--suites", str(slow), "--suite", "small", "--alloc", f"marker={library}", "--runs", "1")
    done = hew("bench", *words, "--save", str(saved))
    assert done.returncode == status
    assert done.stderr == f"hew bench: {word}\n"
    assert not Path(f"/proc/{int(pid.read_text())}").exists()
    assert "interrupted: 1 of 2 workloads were measured" in done.stdout
    found = json.loads(saved.read_text())
    assert [one["name"] for one in found["workloads"]] == ["sleep"]
    assert found["mean"] is not None
