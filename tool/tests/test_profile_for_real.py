# SPDX-License-Identifier: MIT
"""hew profile with programs that know what they hold."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import PROGRAMS, HewRunner, build, environment, is_as_described, wait_until
from hew.model.profile import Kind
from hew.sources.control import find_socket
from hew.sources.profile.read import read_profile

# The last is what libstdc++ keeps for exceptions that are thrown when there is no memory.
NODES, BUFFERS, REST = 100_000 * 112, 64 * 40960, 100_000 * 8 + 80 * 1024
HELD = NODES + BUFFERS + REST
SAMPLED = "lg_prof_sample:8"  # so that chance is 0.4 %


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("holds") / "holds"
    subprocess.run(["c++", "-O2", "-g", str(PROGRAMS / "holds.cpp"), "-o", str(path)], check=True)
    return path


@pytest.fixture
def running(program: Path, hew_library: Path, tmp_path: Path) -> Iterator[int]:
    conf = f"control:{tmp_path}/socket.%p,prof:true,{SAMPLED}"
    with subprocess.Popen(
        [str(program), "waits"],
        env=environment({"LD_PRELOAD": str(hew_library), "MALLOC_CONF": conf}),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        wait_until(lambda: find_socket(child.pid) is not None, "no control socket has come up")
        yield child.pid
        child.kill()


def flat(document: Any, name: str) -> int:
    """What functions with that in their names hold themselves; of a static one addr2line leaves the namespace out."""
    return sum(one["flat"]["inuse_space"] for one in document["functions"] if name in one["name"])


def held_as_known(document: Any) -> None:
    """Within 2 %, in all and in each function."""
    assert document["totals"]["inuse_space"] == pytest.approx(HELD, rel=0.02)
    cum = {one["name"]: one["cum"]["inuse_space"] for one in document["functions"]}
    nodes = next(size for name, size in cum.items() if name.startswith("app::keep_nodes"))
    assert nodes == pytest.approx(NODES, rel=0.02)
    assert flat(document, "inlined_buffer") == pytest.approx(BUFFERS, rel=0.02)


def test_a_running_process_holds_what_it_says(running: int, hew: HewRunner, tmp_path: Path) -> None:
    words = ("--json", "--html", str(tmp_path / "page.html"), "--pprof", str(tmp_path / "out.pb.gz"), "--rows", "100")
    done = hew("profile", str(running), *words)
    assert done.returncode == 0, done.stderr
    held_as_known(is_as_described(done.stdout, "profile"))
    assert "app::keep_buffers" in (tmp_path / "page.html").read_text()
    again = read_profile(tmp_path / "out.pb.gz")
    assert again.total(Kind.INUSE_SPACE) == pytest.approx(HELD, rel=0.02)
    names = {frame.name: frame for place in again.locations for frame in place.frames}
    inlined = next(frame for name, frame in names.items() if "inlined_buffer" in name)
    assert inlined.inlined
    assert inlined.file.endswith("holds.cpp")
    assert inlined.line == PROGRAMS.joinpath("holds.cpp").read_text().splitlines().index("    return malloc(size);") + 1


def test_a_command_is_looked_at_at_its_end(program: Path, hew_library: Path, hew: HewRunner, tmp_path: Path) -> None:
    keep = tmp_path / "kept"
    done = hew(
        "profile", "--json", "--conf", SAMPLED, "--keep", str(keep), "--", str(program), HEW_LIBRARY=str(hew_library)
    )
    assert done.returncode == 0, done.stderr
    document = is_as_described(done.stdout, "profile")
    assert document["totals"]["inuse_space"] >= BUFFERS * 0.9  # the nodes were freed by main's end
    assert document["totals"]["alloc_space"] == pytest.approx(HELD, rel=0.02)
    assert list(keep.glob("hew.*"))
    bad = hew("profile", "--", str(program), "waits", "no end", HEW_LIBRARY=str(hew_library))
    assert "left no profile: it ended with status 3" in bad.stderr or "left no profile" in bad.stderr


def test_of_a_program_that_frees_all_it_made_the_page_shows_what_it_allocated(
    compiler: str, hew_library: Path, hew: HewRunner, tmp_path: Path
) -> None:
    source = "#include <stdlib.h>\nint main(void) { for (int i = 0; i < 5000; i++) { volatile char *object = "
    source += "malloc(2000); object[0] = 1; free((void *)object); } return 0; }\n"
    frees = build(compiler, tmp_path / "frees", source, "-O0")
    page = tmp_path / "page.html"
    words = ("profile", "--conf", SAMPLED, "--html", str(page), "--", str(frees))
    done = hew(*words, HEW_LIBRARY=str(hew_library))
    assert done.returncode == 0, done.stderr
    assert "are live, so this is what was allocated" in done.stderr
    assert "peak resident memory: " in done.stderr
    assert "allocated bytes" in page.read_text()
    asked = hew("profile", "--inuse_space", *words[1:], HEW_LIBRARY=str(hew_library))
    assert "are live, so" not in asked.stderr


def test_a_stripped_program_says_so(
    program: Path, hew_library: Path, hew: HewRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    stripped = tmp_path / "stripped"
    shutil.copy(program, stripped)
    subprocess.run(["strip", str(stripped)], check=True)
    done = hew("profile", "--conf", SAMPLED, "--", "./stripped", HEW_LIBRARY=str(hew_library))
    assert re.search(r"places in stripped have no name: it is stripped", done.stderr), done.stderr
    assert "[stripped+0x" in done.stdout


def test_a_process_that_does_not_profile_says_how_it_would(hew: HewRunner, hew_library: Path, tmp_path: Path) -> None:
    conf = f"control:{tmp_path}/socket.%p"
    with subprocess.Popen(
        ["sleep", "60"], env=environment({"LD_PRELOAD": str(hew_library), "MALLOC_CONF": conf})
    ) as child:
        wait_until(lambda: find_socket(child.pid) is not None)
        done = hew("profile", str(child.pid))
        child.kill()
    assert done.returncode != 0
    assert "was started without heap profiling" in done.stderr
    assert "hew run --conf prof:true" in done.stderr


def test_sampling_that_was_off_is_off_again(program: Path, hew: HewRunner, hew_library: Path, tmp_path: Path) -> None:
    conf = f"control:{tmp_path}/socket.%p,prof:true,prof_active:false"
    with subprocess.Popen(
        [str(program), "waits"],
        env=environment({"LD_PRELOAD": str(hew_library), "MALLOC_CONF": conf}),
        stdin=subprocess.PIPE,
    ) as child:
        wait_until(lambda: find_socket(child.pid) is not None)
        done = hew("profile", str(child.pid), "--seconds", "0.1")
        active = hew("ctl", str(child.pid), "prof.active").stdout
        child.kill()
    assert done.returncode == 0, done.stderr
    assert "did not sample: what it allocated in 0.1 s of sampling is shown" in done.stderr
    assert "false" in active
