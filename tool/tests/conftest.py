# SPDX-License-Identifier: MIT
"""What tests share: running `hew` as a user does, small libraries to preload, made-up runs and reports.

Skips say what is missing. Nothing else may skip.
"""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from jsonschema import Draft202012Validator
from playwright.sync_api import Browser, sync_playwright
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from forking import Forker
from hew import views
from hew.analysis.summary import summarise
from hew.model.allocator import Allocator, Unusable
from hew.model.errors import HewError
from hew.model.report import Machine, Report, Setup
from hew.model.run import Failure, RssPoint, Run
from hew.sources.library import find_hew
from hew.sources.swap import plans

# A shell that runs the tests in the background has them ignore it, and with them whatever they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# However busy the machine is, and the same examples each time.
hypothesis.settings.register_profile(
    "calm", deadline=None, derandomize=True, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("calm")

# What ends a command that starts programs: the signal, the status, the word.
SIGNALS = [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
PATIENCE = 250.0  # seconds: what takes longer, on a busy machine too, is stuck; pytest gives a test 300
PROGRAMS = Path(__file__).parent / "programs"
HewRunner = Callable[..., subprocess.CompletedProcess[str]]

# Made in the session's own folder: a library that only exists, so that it can be seen in a process's memory map.
EMPTY_LIBRARY = "int hew_test_marker = 1;\n"


def environment(changes: Mapping[str, str | None]) -> dict[str, str]:
    """Our environment with changes; None removes."""
    kept = {name: value for name, value in os.environ.items() if changes.get(name, value) is not None}
    return kept | {name: value for name, value in changes.items() if value is not None}


@pytest.fixture(scope="session")
def forker() -> Iterator[Forker]:
    """What starts processes of `hew` in a hundredth of a second."""
    with closing(Forker()) as one:
        yield one


@pytest.fixture
def ours() -> Path:
    """libhew.so."""
    return find_hew(None, os.environ)


@pytest.fixture
def patient_swaps(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is tested of swaps must hold on a machine with too much to do, where 20 ms are not enough for a stop."""
    monkeypatch.setattr(plans, "LONGEST_STOP", 2.0)


@pytest.fixture
def hew(forker: Forker) -> HewRunner:
    """Run `hew` in a process of its own; keywords change the environment."""

    def run(*words: str, stdin: str = "", **changes: str | None) -> subprocess.CompletedProcess[str]:
        clean = {"LD_PRELOAD": None, "MALLOC_CONF": None, "HEW_CONF": None, "HEW_LIBRARY": None}
        return forker.run(words, environment(clean | changes), stdin, PATIENCE)

    return run


def wait_until(holds: Callable[[], object], what: str = "") -> None:
    """Look again and again until it holds."""
    until = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < until, what or "what was waited for has not happened"
        time.sleep(0.01)


@pytest.fixture(scope="session")
def compiler() -> str:
    """A C compiler."""
    found = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if found is None:
        pytest.skip("no C compiler (cc, gcc or clang) on this machine")
    return found


@pytest.fixture(scope="session")
def library(compiler: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A shared library that changes nothing."""
    folder = tmp_path_factory.mktemp("library")
    return build(compiler, folder / "libmarker.so", EMPTY_LIBRARY, "-shared", "-fPIC")


def build(compiler: str, target: Path, source: str, *flags: str) -> Path:
    """Compile a C text into `target`."""
    text = target.with_suffix(".c")
    text.write_text(source)
    subprocess.run([compiler, *flags, "-o", str(target), str(text)], check=True, capture_output=True)
    return target


@pytest.fixture(scope="session")
def programs(compiler: str, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[str]]:
    """Words to run, with the program built when it is first wanted."""
    folder = tmp_path_factory.mktemp("programs")

    @cache
    def built(name: str) -> str:
        source = (PROGRAMS / f"{name}.c").read_text()
        return str(build(compiler, folder / name, source, "-O1", "-fno-builtin", "-pthread"))

    def words(line: str) -> list[str]:
        name, *rest = line.split()
        return [built(name), *rest]

    return words


@pytest.fixture
def hew_library() -> Path:
    """The real libhew.so."""
    try:
        return find_hew(None, os.environ)
    except HewError as error:
        pytest.skip(f"libhew.so is not built: {error}")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium, without its sandbox where root runs the tests."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no chromium on this machine (package chromium)")
    with sync_playwright() as playwright:
        flags = ["--no-sandbox"] if os.geteuid() == 0 else []
        found = playwright.chromium.launch(executable_path=chromium, args=flags)
        yield found
        found.close()


def may_attach() -> bool:
    """Whether the system lets us attach to a process that is not our child's child."""
    scope = Path("/proc/sys/kernel/yama/ptrace_scope")
    return os.geteuid() == 0 or not scope.exists() or scope.read_text().strip() == "0"


def schemas() -> tuple[dict[str, Any], Registry[Any]]:
    """Every schema of the tool by its file's name, and what finds those that others point to."""
    found = {path.name: json.loads(path.read_text()) for path in Path(views.__file__).parent.glob("*.schema.json")}
    return found, Registry().with_resources((one, DRAFT202012.create_resource(each)) for one, each in found.items())


def is_as_described(text: str, name: str) -> Any:
    """The document, once its schema has been held against it."""
    document = json.loads(text)
    found, known = schemas()
    Draft202012Validator(found[f"{name}.schema.json"], registry=known).validate(document)
    return document


def good_run(allocator: str, number: int, **changes: object) -> Run:
    """A run that took a second and 10 MiB, with changes."""
    figures = {"wall_seconds": 1.0, "cpu_seconds": 0.5, "peak_rss_bytes": 10 * 2.0**20, "page_faults": 2000.0}
    line = tuple(RssPoint(at / 10, int(at * 2**20)) for at in range(1, 11))
    plain = Run(allocator, number, figures, line, output="same")
    return Run(**{**vars(plain), **changes})


MACHINE = Machine("a CPU", 2, 2**33, "Linux 6", "glibc 2.36", 0.5)
SETUP = Setup(("work", "it's <hard>"), None, 8, 1, "2026-01-02T03:04:05+00:00", MACHINE)


@pytest.fixture
def report() -> Report:
    """glibc, a hew that is faster and leaner, a `slow` one with a note-worthy output, a `broken` one, an absent one."""
    runs = [Run("broken", 0, failure=Failure("killed by SIGSEGV", "line one\n<b>line two</b>"))]
    for number in range(1, 9):
        noise = 1 + number / 1000
        fast = {"wall_seconds": 0.8 * noise, "cpu_seconds": 0.5, "peak_rss_bytes": 7e6, "page_faults": 900.0}
        slow = {"wall_seconds": 1.5 * noise, "cpu_seconds": 0.51, "peak_rss_bytes": 5e7, "page_faults": 9000.0}
        runs += [
            good_run("glibc", number),
            good_run("hew", number, figures=fast),
            good_run("slow", number, figures=slow, output="other"),
        ]
    allocators = [Allocator("glibc"), Allocator("hew", Path("/x/libhew.so")), Allocator("slow", Path("/x/libslow.so"))]
    allocators.append(Allocator("broken", Path("/x/libbroken.so")))
    return summarise(SETUP, allocators, [Unusable("scudo", "not installed")], runs, ["a remark"])
