# SPDX-License-Identifier: MIT
"""`hew doctor` on real processes: which malloc, which settings, which arenas."""

import json
import os
import re
import resource
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import HewRunner, build, wait_until
from hew.analysis.doctor import examine
from hew.model.finding import Finding, Level
from hew.model.process import ProcessFacts
from hew.sources import patient
from hew.sources.discovery import find_library, library_folders
from hew.sources.process_facts import read_process
from hew.sources.process_memory import read_areas
from hew.sources.processes import read_text, stat_fields
from stubs import PREFIXED, SLEEPER, THREADS, TITLED, running

Compile = Callable[..., Path]


@pytest.fixture(scope="session")
def stub(compiler: str, tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """Compile a stub, once for each source and set of flags."""
    folder = tmp_path_factory.mktemp("stubs")
    made: dict[tuple[str, ...], Path] = {}

    def compile_stub(source: str, *flags: str) -> Path:
        key = (source, *flags)
        if key not in made:
            before = [flag for flag in flags if not flag.endswith(".a")]
            after = [flag for flag in flags if flag.endswith(".a")]
            target = folder / f"stub{len(made)}"
            target.with_suffix(".c").write_text(source)
            words = [compiler, *before, "-o", str(target), str(target.with_suffix(".c")), *after, "-pthread"]
            subprocess.run(words, check=True, capture_output=True)
            made[key] = target
        return made[key]

    return compile_stub


def peer(name: str) -> Path:
    found = find_library(name, library_folders(os.environ))
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def topic(facts: ProcessFacts, name: str) -> list[Finding]:
    return [finding for finding in examine(facts) if finding.topic == name]


def in_use(facts: ProcessFacts) -> Finding:
    return next(finding for finding in topic(facts, "malloc") if finding.what.startswith("malloc is"))


def test_an_ordinary_program_uses_glibc_and_nothing_is_to_be_changed(stub: Compile) -> None:
    with running(stub(SLEEPER)) as pid:
        facts = read_process(pid)
    found = in_use(facts)
    assert found.evidence["allocator"] == "glibc"
    assert found.evidence["found_by"] == "slot"
    assert re.match(r"2\.\d+", str(found.evidence["version"]))
    assert not [finding for finding in examine(facts) if finding.level is Level.WARNING and finding.topic != "limits"]


@pytest.mark.parametrize(
    ("name", "version"), [("jemalloc", r"5\.\d+\.\d+"), ("tcmalloc", r"gperftools \d"), ("mimalloc", r"2\.|None")]
)
def test_a_preloaded_allocator_is_known_by_its_file(stub: Compile, name: str, version: str) -> None:
    with running(stub(SLEEPER), {"LD_PRELOAD": str(peer(name))}) as pid:
        evidence = in_use(read_process(pid)).evidence
    assert (evidence["allocator"], evidence["preloaded"], evidence["found_by"]) == (name, True, "slot")
    assert re.match(version, str(evidence["version"]))


def test_hew_is_known_preloaded_and_linked_statically(stub: Compile, hew_library: Path) -> None:
    with running(stub(SLEEPER), {"LD_PRELOAD": str(hew_library)}) as pid:
        preloaded = in_use(read_process(pid)).evidence
    archive = str(hew_library.with_suffix(".a"))
    with running(stub(SLEEPER, archive)) as pid:
        inside = in_use(read_process(pid)).evidence
    with running(stub(SLEEPER, "-static", archive)) as pid:
        static = in_use(read_process(pid)).evidence
    assert preloaded["preloaded"] is True
    assert inside["found_by"] == static["found_by"] == "program"
    assert (inside["static"], static["static"]) == (False, True)
    for evidence in (preloaded, inside, static):
        assert evidence["allocator"] == "hew"
        assert re.fullmatch(r"\d+\.\d+\.\d+", str(evidence["version"]))


def test_a_library_that_the_program_is_linked_with_is_no_preload(stub: Compile) -> None:
    library = peer("jemalloc")
    with running(stub(SLEEPER, f"-Wl,--no-as-needed,{library}")) as pid:
        evidence = in_use(read_process(pid)).evidence
    assert (evidence["allocator"], evidence["preloaded"]) == ("jemalloc", False)


@pytest.mark.parametrize("flags", [("-static",), ("-static", "-s"), ("-static-pie",)])
def test_a_static_program_cannot_be_reached_by_a_preload(stub: Compile, flags: tuple[str, ...]) -> None:
    with running(stub(SLEEPER, *flags), {"LD_PRELOAD": "/nowhere/libhew.so"}) as pid:
        facts = read_process(pid)
    assert in_use(facts).evidence["static"] is True
    assert in_use(facts).evidence["allocator"] == "glibc"
    missing = next(finding for finding in topic(facts, "malloc") if "LD_PRELOAD" in finding.what)
    assert "linked statically" in missing.why


@pytest.mark.parametrize("flags", [(), ("-static",)])
def test_musl_is_musl(tmp_path: Path, flags: tuple[str, ...]) -> None:
    compiler = shutil.which("musl-gcc")
    if compiler is None:
        pytest.skip("no musl-gcc (package musl-tools)")
    with running(build(compiler, tmp_path / "program", SLEEPER, *flags)) as pid:
        assert in_use(read_process(pid)).evidence["allocator"] == "musl"


@pytest.mark.parametrize("flags", [(), ("-s",)])
def test_a_prefixed_allocator_is_seen_beside_the_one_in_use(stub: Compile, flags: tuple[str, ...]) -> None:
    with running(stub(PREFIXED, *flags), {"MALLOC_CONF": "narenas:2"}) as pid:
        facts = read_process(pid)
    assert in_use(facts).evidence["allocator"] == "glibc"
    built_in = next(finding for finding in topic(facts, "malloc") if "built into" in finding.what)
    assert built_in.evidence["version"] == "5.3.0"
    assert built_in.evidence["prefix"] == "je_"
    unread = topic(facts, "settings")[0]
    assert unread.level is Level.WARNING
    assert "JE_MALLOC_CONF" in unread.next


def test_its_own_variable_reaches_a_prefixed_allocator(stub: Compile) -> None:
    with running(stub(PREFIXED), {"JE_MALLOC_CONF": "narenas:2"}) as pid:
        assert [finding.level for finding in topic(read_process(pid), "settings")] != [Level.WARNING]


@pytest.mark.parametrize(
    ("alloc", "variable", "value", "level"),
    [
        (None, "MALLOC_CONF", "narenas:2", Level.WARNING),
        (None, "MALLOC_ARENA_MAX", "2", Level.FACT),
        (None, "MALLOC_ARENA_MAX", "two", Level.WARNING),
        (None, "GLIBC_TUNABLES", "glibc.malloc.arena_max=2", Level.FACT),
        ("jemalloc", "MALLOC_CONF", "narenas:2,dirty_decay_ms:100", Level.FACT),
        ("jemalloc", "MALLOC_CONF", "narenas:2,dirty_decay:100", Level.WARNING),
        ("jemalloc", "MALLOC_ARENA_MAX", "2", Level.WARNING),
        ("jemalloc", "_RJEM_MALLOC_CONF", "narenas:2", Level.WARNING),
        ("tcmalloc", "TCMALLOC_RELEASE_RATE", "5", Level.FACT),
        ("mimalloc", "MALLOC_CONF", "narenas:2", Level.WARNING),
    ],
)
def test_a_setting_is_honoured_or_not(
    stub: Compile, alloc: str | None, variable: str, value: str, level: Level
) -> None:
    changes = {variable: value, "LD_PRELOAD": str(peer(alloc)) if alloc else None}
    with running(stub(SLEEPER), changes) as pid:
        (found,) = topic(read_process(pid), "settings")
    assert (found.level, found.evidence["value"]) == (level, value)


def test_every_setting_of_hew_is_known_to_its_own_library(stub: Compile, hew_library: Path) -> None:
    table = Path(__file__).parents[2] / "docs" / "options.md"
    names = re.findall(r"^\| `(\w+)` \|", table.read_text(), re.MULTILINE)
    assert len(names) > 20
    conf = ",".join(f"{name}:x" for name in names)
    with running(stub(SLEEPER), {"LD_PRELOAD": str(hew_library), "MALLOC_CONF": conf}) as pid:
        assert read_process(pid).settings[0].unknown == ()


def test_a_preload_that_is_not_there_is_said(stub: Compile, tmp_path: Path) -> None:
    with running(stub(SLEEPER), {"LD_PRELOAD": f"{tmp_path}/libgone.so"}) as pid:
        facts = read_process(pid)
    assert any("libgone.so" in finding.what and finding.level is Level.WARNING for finding in examine(facts))


def test_the_arenas_of_glibc_are_counted_with_what_they_hold(stub: Compile) -> None:
    with running(stub(THREADS)) as pid:
        facts = read_process(pid)
    (found,) = topic(facts, "arenas")
    most = 8 * facts.limits.cpus_allowed
    assert found.evidence["arenas"] == min(most, 13)
    resident = found.evidence["resident_bytes"]
    assert isinstance(resident, int)
    assert 0.8 * 12 * 800 * 20000 < resident < 1.3 * 12 * 800 * 20000
    assert found.level is Level.WARNING


def test_arenas_stay_within_the_limit_that_was_set(stub: Compile) -> None:
    with running(stub(THREADS), {"MALLOC_ARENA_MAX": "3"}) as pid:
        facts = read_process(pid)
    (found,) = topic(facts, "arenas")
    assert found.evidence["arenas"] == 3
    assert found.level is Level.FACT


def test_no_arenas_of_glibc_are_seen_where_another_malloc_serves(stub: Compile) -> None:
    with running(stub(THREADS), {"LD_PRELOAD": str(peer("jemalloc"))}) as pid:
        assert topic(read_process(pid), "arenas") == []


def test_a_limit_of_address_space_is_said(stub: Compile) -> None:
    with running(stub(SLEEPER)) as pid:
        resource.prlimit(pid, resource.RLIMIT_AS, (1 << 30, 1 << 30))
        facts = read_process(pid)
    assert any("RLIMIT_AS" in finding.what for finding in topic(facts, "limits"))


def test_a_go_program_has_no_malloc() -> None:
    program = shutil.which("gofmt")
    if program is None:
        pytest.skip("no Go")
    with subprocess.Popen([program], stdin=subprocess.PIPE) as waiting:  # for its input
        wait_until(lambda: read_areas(waiting.pid)[0] and "gofmt" in read_text(f"/proc/{waiting.pid}/comm"))
        facts = read_process(waiting.pid)
        waiting.kill()
    assert facts.provider is None
    assert any("Go" in finding.what for finding in topic(facts, "malloc"))
    assert facts.regions == ()


def test_a_command_is_started_looked_at_and_ended(hew: HewRunner, stub: Compile) -> None:
    done = hew("doctor", "--after", "2", "--json", "--", "sh", "-c", f"{stub(SLEEPER)}; true")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["format"] == "hew-doctor/1"
    assert any("glibc" in finding["what"] for finding in found["findings"])


def test_an_environment_that_was_written_over_is_said_or_known_from_the_start(hew: HewRunner, stub: Compile) -> None:
    with running(stub(TITLED), {"MALLOC_CONF": "narenas:2"}) as pid:
        (found,) = topic(read_process(pid), "settings")
    assert "cannot be read" in found.what
    done = hew("doctor", "--after", "2", "--", str(stub(TITLED)), MALLOC_CONF="narenas:2")
    assert "MALLOC_CONF=narenas:2 is not read" in done.stdout


def test_a_command_of_this_folder_is_found(hew: HewRunner, stub: Compile, monkeypatch: pytest.MonkeyPatch) -> None:
    program = stub(SLEEPER)
    monkeypatch.chdir(program.parent)
    done = hew("doctor", "--after", "2", "--json", "--", f"./{program.name}")
    assert done.returncode == 0, done.stderr


def test_a_process_is_told_in_words(hew: HewRunner, stub: Compile) -> None:
    with running(stub(SLEEPER), {"MALLOC_CONF": "narenas:2"}) as pid:
        done = hew("doctor", str(pid))
    assert done.returncode == 0, done.stderr
    assert "MALLOC_CONF=narenas:2 is not read" in done.stdout
    assert "→" in done.stdout


def test_what_is_no_process_is_one_line(hew: HewRunner) -> None:
    done = hew("doctor", "4194304")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)


def test_a_command_stands_still_while_it_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else one that is soon over is gone before its libraries have been read: a JVM had no malloc."""
    states = []

    def looked(pid: int, started_with: object) -> ProcessFacts:
        wait_until(lambda: stat_fields(pid)[0] == "T", "the command goes on")
        states.append(stat_fields(pid)[0])
        return read_process(pid)

    monkeypatch.setattr(patient, "largest", looked)
    facts = patient.look_at_command(["sleep", "600"], dict(os.environ), 0.05)
    assert states
    assert facts.name == "sleep"
