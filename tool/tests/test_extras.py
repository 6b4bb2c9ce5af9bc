# SPDX-License-Identifier: MIT
"""What an installation without extras can do, what it weighs, and what it says of the rest."""

import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from conftest import PATIENCE, HewRunner, environment
from hew.cli import COMMANDS
from hew.sources.extras import EXTRA_OF, lacking

MOST = 40_000_000  # bytes of the core with all that it needs
MODULES = sorted(EXTRA_OF)
# hew, where none of them can be imported.
WITHOUT = f"""
import importlib.util
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {MODULES}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name.partition(".")[0] in {MODULES} else found(name, *rest)
sys.meta_path.insert(0, Absent())
from hew.cli import COMMANDS, main
for one in sys.argv.pop(1).split(","):
    main([one, "--help"] if one in COMMANDS else sys.argv[1:], prog_name="hew", standalone_mode=one not in COMMANDS)
"""
OF_EXTRAS = {"cut", "search", "top"}


def without(*words: str, first: str = "-") -> subprocess.CompletedProcess[str]:
    """Runs `hew` as an installation without extras has it."""
    changes = {"LD_PRELOAD": None, "MALLOC_CONF": None, "HEW_CONF": None}
    return subprocess.run(
        [sys.executable, "-c", WITHOUT, first, *words],
        env=environment(changes), capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip


def needed(name: str, extra: str = "", known: set[str] | None = None) -> set[str]:
    """A distribution's requirements, and theirs."""
    known = set() if known is None else known
    for text in distribution(name).requires or ():
        one = Requirement(text)
        if one.name not in known and (one.marker is None or one.marker.evaluate({"extra": extra})):
            known.add(one.name)
            needed(one.name, next(iter(one.extras), ""), known)
    return known


def test_the_core_is_small() -> None:
    sizes = {
        name: sum(
            place.stat().st_size
            for file in distribution(name).files or ()
            if (place := Path(str(file.locate()))).is_file()
        )
        for name in needed("hewmalloc")
    }
    assert "numpy" not in sizes
    assert sum(sizes.values()) < MOST, sorted(sizes.items(), key=lambda pair: -pair[1])


def test_commands_of_the_core_need_no_extra() -> None:
    done = without(first=",".join(sorted(set(COMMANDS) - OF_EXTRAS)))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("Usage: ") == len(set(COMMANDS) - OF_EXTRAS)


def test_the_core_compares_and_looks_at_processes(library: Path) -> None:
    compared = without("compare", "--alloc", f"marker={library}", "--runs", "2", "--", "true")
    assert compared.returncode == 0, compared.stderr
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        looked = without("doctor", str(process.pid))
        heap = without("advise", str(process.pid))
    assert "glibc" in looked.stdout, looked.stderr
    assert "Traceback" not in heap.stderr
    assert "pip install" in heap.stderr + heap.stdout


@pytest.mark.parametrize(
    ("words", "module", "extra"),
    [
        (("top",), "textual", "top"),
        (("search", "--", "true"), "optuna", "search"),
        (("cut", "x.trace"), "numpy", "inspect"),
        (("profile", "ZSTD"), "zstandard", "heaptrack"),
        (("fleet", "--store", "FOLDER"), "duckdb", "fleet"),
    ],
)
def test_a_missing_extra_is_one_line_with_the_command_that_brings_it(
    words: tuple[str, ...], module: str, extra: str, tmp_path: Path
) -> None:
    (tmp_path / "packed").write_bytes(b"\x28\xb5\x2f\xfd and more")
    places = {"ZSTD": str(tmp_path / "packed"), "FOLDER": str(tmp_path)}
    done = without(*(places.get(word, word) for word in words))
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1, done.stderr
    assert module in done.stderr
    assert "pip install " in done.stderr
    assert f"[{extra}]" in done.stderr


def test_what_is_no_extra_has_no_cure() -> None:
    assert lacking("no_such_module") is None


def test_a_mistyped_command_gets_a_suggestion(hew: HewRunner) -> None:
    done = hew("comapre", "--", "true")
    assert done.returncode == 2
    assert "'comapre' (did you mean compare?)" in done.stderr
    assert "did you mean" not in hew("quantum").stderr


def test_statistics_of_a_process_on_glibc_are_not_asked_for_by_settings_that_it_does_not_read(hew: HewRunner) -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        done = hew("stats", str(process.pid))
    assert done.returncode == 1
    assert "is on glibc, which has no statistics to ask for: hew advise" in done.stderr
    assert "MALLOC_CONF" not in done.stderr
