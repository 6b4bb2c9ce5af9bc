# SPDX-License-Identifier: MIT
"""`hew record PID`: a process on hew is recorded while it runs, and runs on as before."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from conftest import PATIENCE, HewRunner, build, wait_until
from hew.model.errors import HewError
from hew.sources.control import connect
from hew.sources.library import find_part
from hew.sources.simulation import simulate
from hew.sources.trace.recorder import LIBRARY

# Two threads replace random objects of known sizes and look whether each holds what was written; one frees by an
# address that it has looked up itself. What lives at once is known: 2 x 256 objects of 64 to 319 bytes.
WORKS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static volatile int over;
static void *run(void *argument) {
    unsigned long random = (unsigned long)argument;
    void (*release)(void *) = random == 1 ? (void (*)(void *))dlsym(RTLD_DEFAULT, "free") : free;
    static __thread unsigned char *object[256];
    while (!over) {
        random = random * 6364136223846793005ul + 1442695040888963407ul;
        unsigned at = (random >> 33) % 256, size = 64 + (random >> 45) % 256;
        if (object[at] != NULL && object[at][0] != object[at][63]) abort();
        release(object[at]);
        object[at] = malloc(size);
        memset(object[at], (int)size, size);
        if (at == 0) usleep(1000);
    }
    return NULL;
}
int main(void) {
    pthread_t thread[2];
    for (long i = 0; i < 2; i++) pthread_create(&thread[i], NULL, run, (void *)(i + 1));
    puts("works"); fflush(stdout);
    getchar();
    over = 1;
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
    puts("done");
    return 0;
}
"""


@pytest.fixture
def works(compiler: str, tmp_path: Path) -> Path:
    """The program."""
    return build(compiler, tmp_path / "works", WORKS, "-O1", "-fno-builtin", "-pthread", "-ldl")


@contextmanager
def running(program: Path, library: Path) -> Iterator[subprocess.Popen[str]]:
    """Under hew with a control socket, at work. It must end well."""
    environment = {**os.environ, "LD_PRELOAD": str(library), "HEW_CONF": "control:auto"}
    with subprocess.Popen(
        [program], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "works\n"
        wait_for_socket(process.pid)
        yield process
        out, _ = process.communicate("\n", timeout=PATIENCE)
        assert (out, process.returncode) == ("done\n", 0)


def wait_for_socket(pid: int) -> None:
    """It comes a moment after the first allocations."""

    def answers() -> bool:
        try:
            connect(pid).close()
        except HewError:
            return False
        return True

    wait_until(answers, "there is no control socket")


def words_of(pid: int, request: str) -> int:
    """What `record` answers."""
    with connect(pid) as control:
        return control.record(request)


def test_a_process_is_recorded_more_than_once_and_goes_on(hew_library: Path, works: Path, tmp_path: Path) -> None:
    find_part(LIBRARY)
    with running(works, hew_library) as process:
        for number in (1, 2):
            trace = tmp_path / f"t{number}"
            words = [sys.executable, "-m", "hew", "record", "-o", str(trace), str(process.pid)]
            with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as recorder:
                wait_until(lambda path=trace: path.exists() and path.stat().st_size > 64 << 10)  # type: ignore[misc]
                recorder.send_signal(signal.SIGINT)
                _, said = recorder.communicate(timeout=PATIENCE)
            assert recorder.returncode == 0, said
            assert "what the process made before is not in it" in said
            found = simulate(trace, ("first-fit",), ())
            assert found.trace.operations > 1000
            assert found.trace.threads == 2
            assert found.trace.ended
            assert (found.trace.unknown, found.trace.damaged) == (0, 0)
            # What release() frees is seen to go when its place is used again: not at once, but it does not pile up.
            assert 0.6 * 512 * 191.5 < found.peak_live < 4 * 512 * 191.5
        with pytest.raises(HewError, match="is not being recorded"):
            words_of(process.pid, "look")
        held = [
            one
            for one in Path(f"/proc/{process.pid}/fd").iterdir()
            if one.readlink().name.split(" ")[0] in ("t1", "t2")
        ]
        assert len(held) <= 1


def test_options_stand_before_or_behind_the_process_and_it_may_be_sampled(
    hew: HewRunner, hew_library: Path, works: Path, tmp_path: Path
) -> None:
    pytest.importorskip("numpy")
    find_part(LIBRARY)
    with running(works, hew_library) as process:
        pid, sample = str(process.pid), ("--sample", "1K")
        for number, words in enumerate(((*sample, pid), (pid, *sample))):
            trace = tmp_path / f"t{number}"
            done = hew("record", "-o", str(trace), *words, "--seconds", "1")
            assert done.returncode == 0, done.stderr
            run = json.loads(hew("profile", "--json", "--count", str(trace)).stdout)["run"]
            assert run["sample_bytes"] == 1024
            recorded = int(done.stderr.split(" operation")[0].rsplit(" ", 1)[1].replace(",", ""))
            assert 0 < recorded < run["operations"]
            mean = run["allocations"]["bytes"] / run["allocations"]["objects"]
            assert 0.5 * 191.5 < mean < 2 * 191.5
    assert "COMMAND or a PID" in hew("record", "-o", str(tmp_path / "no")).stderr


def test_a_second_recorder_is_refused_and_nothing_is_left_when_the_first_ends(
    hew: HewRunner, hew_library: Path, works: Path, tmp_path: Path
) -> None:
    library, trace = find_part(LIBRARY), tmp_path / "with a blank"
    with running(works, hew_library) as process:
        words = words_of(process.pid, f"1000000000,1,0,0,0,{len(os.fsencode(library))} {library} {trace}")
        assert words > 0
        done = hew("record", "-o", str(tmp_path / "t"), "--seconds", "1", str(process.pid))
        assert done.returncode == 1
        assert done.stderr == "hew record: the process is being recorded already\n"
        assert words_of(process.pid, "look") > 0
        assert words_of(process.pid, "stop") > 0
        assert trace.stat().st_size > 0


def test_a_recording_that_is_full_ends_and_the_process_does_not(
    hew: HewRunner, hew_library: Path, works: Path, tmp_path: Path
) -> None:
    with running(works, hew_library) as process:
        done = hew("record", "-o", str(tmp_path / "t"), "--max", "1M", str(process.pid))
        assert done.returncode == 0, done.stderr
        assert "it stopped early: --max" in done.stderr


@pytest.mark.parametrize(
    "request_line",
    ["record", "record 1,2,3 /a /b", "record 1,1,0,0,0,2 /a", "record 1,1,0,0,0,2 /a b", "record 1,0,0,0,0,2 /a /b",
     "record 1,1,0,0,0,99999999999999999999 /a /b", "record 1,1,0,0,0,2 a/ /b", "record 1,1,0,0,0,2,3 /a /b"],
)  # fmt: skip
def test_what_is_no_request_changes_nothing(hew_library: Path, works: Path, request_line: str) -> None:
    with running(works, hew_library) as process, connect(process.pid) as control:
        with pytest.raises(HewError, match=r"record"):
            control._ask(request_line)
        with pytest.raises(HewError, match=r"cannot load /nowhere/at/all\.so"):
            control.record("1000000,1,0,0,0,18 /nowhere/at/all.so /tmp/t")


def test_who_cannot_be_recorded_is_told_why(hew: HewRunner, tmp_path: Path) -> None:
    place = str(tmp_path / "t")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        done = hew("record", "-o", place, str(process.pid))
        assert done.returncode == 1
        assert f"process {process.pid} does not run on hew" in done.stderr
        assert "--alloc is for a COMMAND" in hew("record", "-o", place, "--alloc", "glibc", str(process.pid)).stderr
        process.communicate(b"\n")
    assert "there is no process" in hew("record", "-o", place, "--seconds", "1", "4194999").stderr
    assert hew("record", "-o", place, "--seconds", "1", "--", "true").returncode == 2
    assert not Path(place).exists()


def test_stacks_of_a_running_process_open_in_the_views_of_a_whole_run(
    hew: HewRunner, works: Path, hew_library: Path, tmp_path: Path
) -> None:
    trace, page = tmp_path / "t", tmp_path / "page.html"
    with running(works, hew_library) as process:
        done = hew("record", "--seconds", "0.2", "--stacks", "all", "-o", str(trace), str(process.pid))
    assert done.returncode == 0, done.stderr
    document = json.loads(hew("profile", "--count", "--json", str(trace)).stdout)
    made = {one["name"]: one["flat"]["alloc_objects"] for one in document["functions"]}
    assert made["run"] == document["run"]["allocations"]["objects"] > 0
    assert document["run"]["lost"] is None  # not all objects are known
    assert hew("profile", "--html", str(page), str(trace)).returncode == 0
    assert page.read_text().count('"partSeconds"') == 1
