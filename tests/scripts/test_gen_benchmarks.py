# SPDX-License-Identifier: MIT
"""The tables of docs/benchmarks.md, from a small made-up run."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import benchmark_goals
import gen_benchmarks
import pytest

RSS = [[0.0, 1048576], [0.5, 2097152], [1.0, 1048576]]
SERIES = "malloc lifo, threads 1"


def report(**ratios: float) -> dict[str, Any]:
    rows = [
        {"name": name, "medians": {}, "ratios": {"wall_seconds": {"value": value}}, "rss": RSS, "failures": []}
        for name, value in ratios.items()
    ]
    first = {"name": "glibc", "medians": {"wall_seconds": 0.5}, "ratios": {}, "rss": RSS, "failures": []}
    return {"runs": 6, "warmup": 1, "command": ["work"], "allocators": [first, *rows]}


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    best = {"wall_seconds": {"name": "one", "ratio": {"value": 1.25}}}
    curve = {"series": SERIES, "ratios": {"hew": 0.4}, "to_best": 0.9, "worst": 1.3, "worst_at": 65536.0}
    points = [
        {"series": SERIES, "at": at, "unit": "ns", "medians": {"glibc": 20.0, "hew": 5.0, "one": 8.0}}
        for at in (65536.0, 262144.0, 2097152.0)
    ]
    found = {
        "suite": "nightly",
        "started": "2026-01-02T03:04:05+00:00",
        "machine": {
            "cpu": "a CPU",
            "cpus_usable": 2,
            "memory_bytes": 2**33,
            "kernel": "Linux",
            "libc": "glibc",
            "load_average": 0.0,
        },
        "seconds": 120,
        "allocators": [{"name": "glibc", "version": "glibc 2.36"}, {"name": "one"}, {"name": "hew"}],
        "unusable": [{"name": "two", "reason": "not installed"}],
        "notes": [],
        "mean": report(hew=0.5, one=0.4, **{"best peer": 0.4}),
        "groups": {},
        "workloads": [
            {
                "name": "buffer churn",
                "group": "memory over time",
                "curve": False,
                "best": best,
                "report": report(hew=0.5, one=0.4),
                "curve_means": [],
                "points": [],
            },
            {
                "name": "sizes",
                "group": "curves",
                "curve": True,
                "best": {},
                "report": report(),
                "curve_means": [curve],
                "points": points,
            },
        ],
    }
    path = tmp_path / "saved.json"
    path.write_text(json.dumps(found))
    return path


def test_a_page_is_made_and_says_what_was_measured(saved: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    assert gen_benchmarks.main([str(saved), str(page)]) == 0
    text = page.read_text()
    for line in (
        "| buffer churn | 0.50 s | 0.50 | 0.40 | 1.25 (one) |",
        f"| sizes: {SERIES} | 0.40 | – | 0.90 | 1.30 at 64 KiB |",
        "| *mean, everything* |  | 0.50 | 0.40 | 1.25 |",
        "| glibc | glibc 2.36 |",
        "2 minutes",
        "6 rounds after 1 of warm-up",
        "two: left out: not installed",
    ):
        assert line in text


def test_every_picture_of_the_page_is_there_and_no_older_one(saved: Path, tmp_path: Path) -> None:
    page, folder = tmp_path / "page.md", tmp_path / "page"
    folder.mkdir()
    (folder / "old.svg").write_text("")
    assert gen_benchmarks.main([str(saved), str(page)]) == 0
    named = re.findall(r"\]\((page/\w+\.svg)\)", page.read_text())
    assert sorted(named) == sorted(str(one.relative_to(tmp_path)) for one in folder.iterdir())
    assert {"page/wall.svg", "page/sizes_lifo.svg", "page/memory_buffer_churn.svg"} <= set(named)
    for one in folder.iterdir():
        root = ElementTree.parse(one).getroot()  # noqa: S314 - our own file
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert "prefers-color-scheme:dark" in one.read_text()


def test_a_failure_is_told_and_the_rest_stands(saved: Path, tmp_path: Path) -> None:
    found = json.loads(saved.read_text())
    found["workloads"][0]["report"]["allocators"][2].update(
        good_runs=0, ratios={}, failures=[{"round": 1, "reason": "killed by SIGSEGV"}]
    )
    saved.write_text(json.dumps(found))
    assert gen_benchmarks.main([str(saved), str(tmp_path / "page.md")]) == 0
    page = (tmp_path / "page.md").read_text()
    assert "- buffer churn under one: killed by SIGSEGV; 0 of 6 rounds went well" in page
    assert re.search(r"\| buffer churn \| 0.50 s \| 0.50 \| – \|", page)


def test_a_failed_run_of_hew_misses_a_goal_and_is_told_by_the_status(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = json.loads(saved.read_text())
    assert benchmark_goals.goals(found, tmp_path / "golden")[0].met is True
    found["workloads"][0]["report"]["allocators"][1]["failures"] = [{"round": 5, "reason": "killed by SIGABRT"}]
    found["workloads"][0]["report"]["allocators"][1]["good_runs"] = 5
    saved.write_text(json.dumps(found))
    assert gen_benchmarks.main([str(saved), str(tmp_path / "page.md")]) == 1
    goal = benchmark_goals.goals(found, tmp_path / "golden")[0]
    assert (goal.met, goal.measured) == (False, "buffer churn: killed by SIGABRT")
    assert "buffer churn: killed by SIGABRT" in capsys.readouterr().err


def test_goals_are_judged_by_the_figures(saved: Path, tmp_path: Path) -> None:
    found = json.loads(saved.read_text())
    golden = tmp_path / "golden.txt"
    golden.write_text("x86_64/gcc-12  malloc  19  7\nx86_64/gcc-12  free  15  7\n")
    judged = {one.wanted: one for one in benchmark_goals.goals(found, golden)}

    def met(words: str) -> bool | None:
        (one,) = (goal for wanted, goal in judged.items() if words in wanted)
        return one.met

    assert met("wall time, geometric mean") is False
    assert met("no workload's wall time") is False
    assert met("malloc: at most 18") is False
    assert met("free: at most 16") is True
    assert met("best peer, threads: 1") is False
    assert met("best peer, threads: 40") is None
    assert met("buffer churn") is True
    assert met("alloc + free of 256 KiB") is True
    assert met("Redis SET, RSS") is None
    assert met("Redis SET, latency") is None
    assert met("JVM") is None


def test_workloads_with_one_goal_meet_it_each() -> None:
    one = benchmark_goals.Together("crowds", ("few", "many", "not run"), "wall_seconds", "best peer", 1.0)

    def judged(many: float) -> benchmark_goals.Goal:
        rows = [
            {"name": name, "best": {"wall_seconds": {"ratio": {"value": value}}}}
            for name, value in (("few", 0.5), ("many", many))
        ]
        return benchmark_goals._together({"workloads": rows}, one)

    assert judged(1.0) == benchmark_goals.Goal(
        "crowds, wall time: each at most 1.00 of the best peer's", "few 0.50, many 1.00", True
    )
    assert judged(1.01).met is False
    assert benchmark_goals._together({"workloads": []}, one).met is None


def test_a_curve_that_grows_is_not_flat() -> None:
    one = benchmark_goals.GROWTHS[0]

    def met(last: float) -> bool | None:
        places = ((1.0, 10.0), (9.0, last))
        points = [{"series": one.series, "at": at, "medians": {"hew": ns, "p": 10.0}} for at, ns in places]
        return benchmark_goals._flat({"workloads": [{"name": one.workload, "points": points}]}, one).met

    assert met(13.0) is False
    assert met(12.0) is True


def test_memory_beyond_the_heap_of_a_jvm() -> None:
    mib = 2**20
    rows = [{"name": name, "medians": {"peak_rss_bytes": size * mib}} for name, size in (("glibc", 124), ("hew", 80))]
    workload = {"name": "java, 100 threads", "report": {"command": ["java", "-Xmx64m"], "allocators": rows}}
    goal = benchmark_goals._java({"workloads": [workload]})
    assert goal.met is True
    assert goal.measured == "0.27 (16 MiB against 60 MiB)"


def test_words_around_the_tables_stay(saved: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Head\n{gen_benchmarks.SECTION.text(['old'])}\nfoot\n")
    assert gen_benchmarks.main([str(saved), str(page)]) == 0
    text = page.read_text()
    assert text.startswith("# Head\n")
    assert text.endswith(f"{gen_benchmarks.SECTION.end}\nfoot\n")
    assert "\nold\n" not in text


def test_a_page_without_marks_is_left_alone(saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text("words\n")
    assert gen_benchmarks.main([str(saved), str(page)]) == 1
    assert page.read_text() == "words\n"
    assert "no marks" in capsys.readouterr().err


TABLE = '''
[suites.tiny]
runs = 2
warmup = 1
curve_runs = 1
timeout = 20
[[workloads]]
name = "sleep"
group = "memory over time"
command = ["sh", "-c", "sleep 0.1; echo done"]
in = { tiny = [] }
[[workloads]]
name = "threads"
group = "curves"
command = ["sh", "-c", """
echo '{"series":"time of an operation by threads","at":1,"ns":20}'
echo '{"series":"time of an operation by threads","at":8,"ns":21}'
"""]
curve = true
in = { tiny = [] }
[[workloads]]
name = "absent"
group = "real programs"
command = ["no-such-program-here"]
in = { tiny = [] }
'''


def test_a_page_comes_out_of_a_run_of_hew_bench(tmp_path: Path) -> None:
    source, library, table = (tmp_path / name for name in ("empty.c", "libempty.so", "suites.toml"))
    source.write_text("int nothing = 1;\n")
    table.write_text(TABLE)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    saved, page = tmp_path / "saved.json", tmp_path / "page.md"
    allocators = ("--alloc", f"hew={library}", "--alloc", f"peer={library}")
    words = ("bench", "--suites", str(table), "--suite", "tiny", *allocators, "--save", str(saved))
    subprocess.run([sys.executable, "-m", "hew", *words], check=True, stdout=subprocess.DEVNULL)
    assert gen_benchmarks.main([str(saved), str(page)]) == 0
    text = page.read_text()
    assert "2 rounds after 1 of warm-up" in text
    assert "| time of an operation as threads grow" in text
    assert "1.05 from 1 to 8" in text
    assert "absent: left out" in text
    assert {one.name for one in (tmp_path / "page").iterdir()} >= {"wall.svg", "threads_time.svg"}
