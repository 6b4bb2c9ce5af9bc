# SPDX-License-Identifier: MIT
"""scripts/soak.py: which programs it runs, and what it says of a run that ends badly."""

from pathlib import Path

import pytest
import soak

SUITES = """
[[workloads]]
name = "good"
group = "threads"
command = ["{programs}/apps/good"]
in = { quick = [], nightly = ["--long"] }

[[workloads]]
name = "bad"
group = "hand-over"
command = ["{programs}/apps/bad", "--threads", "8"]
in = { nightly = ["--long"] }

[[workloads]]
name = "alone"
group = "one thread"
command = ["{programs}/apps/good"]
in = { quick = [] }

[[workloads]]
name = "a curve"
group = "threads"
curve = true
command = ["{programs}/apps/good"]
in = { quick = [] }

[[workloads]]
name = "another's"
group = "threads"
command = ["true"]
in = { quick = [] }
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A table of workloads, their programs, and a library that the loader leaves out with a word on stderr."""
    (tmp_path / "suites.toml").write_text(SUITES)
    (tmp_path / "apps").mkdir()
    for name, script in {"good": "exit 0", "bad": 'echo "broken here" >&2; exit 3'}.items():
        (tmp_path / "apps" / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "apps" / name).chmod(0o755)
    (tmp_path / "library.so").write_text("")
    return tmp_path


def words(place: Path, *more: str) -> list[str]:
    library = ["--library", str(place / "library.so")]
    return ["--rounds", "2", "--suites", str(place / "suites.toml"), "--programs", str(place), *library, *more]


def test_our_own_programs_are_run_with_the_words_of_the_shortest_suite(place: Path) -> None:
    good, bad = [str(place / "apps/good")], [str(place / "apps/bad"), "--threads", "8", "--long"]
    assert soak.commands(place / "suites.toml", place, threads_only=False) == [good, bad, good]
    assert soak.commands(place / "suites.toml", place, threads_only=True) == [good, bad]


def test_a_bad_end_is_told_with_what_repeats_it(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert soak.main(words(place, "--threads-only")) == 1
    said = capsys.readouterr().out
    settings = len(soak.SETTINGS)
    assert said.count("soak: status 3: broken here") == 2 * settings
    assert f"  LD_PRELOAD={place}/library.so MALLOC_CONF=narenas:4 {place}/apps/bad --threads 8 --long\n" in said
    assert f"soak: {2 * settings} of {4 * settings} runs ended badly" in said


def test_a_run_that_hangs_is_told(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak, "LIMIT", 0.2)
    found = soak.run(["sleep", "60"], place / "library.so", "")
    assert found is not None
    assert "did not end within 0.2 s" in str(found)


def test_good_ends_give_a_good_status(place: Path) -> None:
    (place / "apps/bad").write_text("#!/bin/sh\nexit 0\n")
    assert soak.main(words(place)) == 0


def test_a_library_that_is_not_there_is_told(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        soak.main([*words(place), "--library", str(place / "none.so")])
    assert "none.so is not there: make release dev" in capsys.readouterr().err
