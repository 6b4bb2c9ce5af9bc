# SPDX-License-Identifier: MIT
"""Attaching to a process on jemalloc: it writes its statistics, and notices nothing; and when it is not done."""

import json
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import pytest

from conftest import HewRunner, build, is_as_described, may_attach, wait_until
from hew.model.errors import HewError
from hew.sources.attach import reading
from hew.sources.attach.reading import allowed, attach
from hew.sources.attach.target import find_target
from hew.sources.discovery import find_library, library_folders
from hew.sources.processes import stat_fields, value_of
from posing import LIBRARY, PROGRAM
from waiting import waiting

Programs = Callable[[str], list[str]]
Pose = Callable[..., "list[str]"]
LONG = 60.0  # seconds in which a moment is found, however busy the machine is
STOP = 1.0  # seconds: what is tested here must hold on a machine with too much to do, where 20 ms are not enough
SLOW = "did not stop in time"  # what a refusal says where the machine is too busy
WELL = r"wrong 0, signals lost 0, interrupted 0, short naps 0; rounds \d{3,}, signals \d+, threads ended \d+"
pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="a running jemalloc is read on x86-64 only")


@pytest.fixture
def jemalloc() -> str:
    """Debian's."""
    library = find_library("jemalloc", library_folders({}))
    if library is None:
        pytest.skip("jemalloc is not here: apt-get install libjemalloc2")
    return str(library)


@pytest.fixture
def pose(compiler: str, tmp_path: Path) -> Pose:
    """Words to run a program whose jemalloc misbehaves."""

    def built(fault: int, *words: str) -> list[str]:
        library = build(compiler, tmp_path / "libposing.so", LIBRARY, "-shared", "-fPIC", "-O1", f"-DFAULT={fault}")
        text = (tmp_path / "posing.c").write_text(PROGRAM)
        assert text
        program = tmp_path / "posing"
        flags = ["-O1", "-pthread", "-Wl,-export-dynamic", f"-Wl,-rpath,{tmp_path}", str(tmp_path / "posing.c")]
        subprocess.run([compiler, "-o", str(program), *flags, str(library)], check=True)
        return [str(program), *words]

    return built


@contextmanager
def started(words: list[str], **changes: str) -> Iterator[subprocess.Popen[str]]:
    """A program that has said "ready"."""
    if not may_attach():
        pytest.skip("kernel.yama.ptrace_scope lets only root attach")
    clean: dict[str, str | None] = {name: None for name in os.environ if "MALLOC" in name or name == "LD_PRELOAD"}
    with waiting(words, clean | changes) as program:
        yield program


def ended(program: "subprocess.Popen[str]") -> str:
    """What it says when it is told to end."""
    output, _ = program.communicate("\n", timeout=LONG)
    assert program.returncode == 0
    return output.strip()


def switches(pid: int) -> int:
    """How often its first thread has given up its processor by itself."""
    return int(value_of(f"/proc/{pid}/status", "voluntary_ctxt_switches") or "0")


def planned(pid: int) -> str:
    """What the process that holds it is told."""
    place, filtered = allowed(pid)
    return json.dumps({**asdict(place), "pid": pid, "timeout": LONG, "stop": STOP, "filtered": filtered})


def hold(pid: int, text: str) -> int:
    """How such a process with a text of our own ends."""
    return subprocess.run([sys.executable, "-c", text], input=planned(pid).encode(), check=False).returncode


def nameless_code(pid: int) -> int:
    """Areas of code that belong to no file: none is left."""
    lines = [line.split() for line in Path(f"/proc/{pid}/maps").read_text().splitlines()]
    return sum("x" in line[1] and len(line) == 5 for line in lines)


def test_a_busy_process_writes_its_statistics_and_notices_nothing(programs: Programs, jemalloc: str) -> None:
    with started(programs("steady 8"), LD_PRELOAD=jemalloc) as program:
        mask = value_of(f"/proc/{program.pid}/status", "SigBlk")
        for _ in range(6):  # a thousand: make attach-soak
            done = attach(program.pid, LONG, STOP)
            assert '"jemalloc"' in done.text
            assert done.whole
        status = f"/proc/{program.pid}/status"
        assert (value_of(status, "TracerPid"), value_of(status, "SigBlk")) == ("0", mask)
        assert nameless_code(program.pid) == 0
        assert re.fullmatch(WELL, ended(program))


def test_stats_and_advise_read_a_running_jemalloc(hew: HewRunner, programs: Programs, jemalloc: str) -> None:
    with started(programs("steady 2"), LD_PRELOAD=jemalloc) as program:
        pid = str(program.pid)
        text = hew("stats", "--timeout", "60", pid)
        told = hew("stats", "--timeout", "60", "--json", pid)
        advice = hew("advise", "--timeout", "60", "--json", pid)
        without = hew("stats", "--no-attach", pid)
        assert re.fullmatch(WELL, ended(program))
    first = (
        rf"• attached to process {pid}: it stood still for \d+\.\d ms(, the last of \d+ tries)?"
        r"(, and the thread that wrote this for \d+\.\d ms)?"
    )
    assert re.fullmatch(first, text.stdout.splitlines()[0])
    document = is_as_described(told.stdout, "stats")
    assert document["attached"].startswith(f"attached to process {pid}: ")
    [snapshot] = document["snapshots"]
    assert (snapshot["allocator"], snapshot["whole"]) == ("jemalloc", True)
    looked = is_as_described(advice.stdout, "advice")["looked_at"]
    assert advice.returncode in {0, 3}
    assert looked["read"][0].startswith("statistics of jemalloc 5")
    assert (without.returncode, "no control socket" in without.stderr) == (1, True)


def test_background_threads_of_the_allocator_are_no_obstacle(programs: Programs, jemalloc: str) -> None:
    with started(programs("steady 2"), LD_PRELOAD=jemalloc, MALLOC_CONF="background_thread:true") as program:
        assert attach(program.pid, LONG, STOP).text
        assert re.fullmatch(WELL, ended(program))


def test_many_arenas_are_left_out_one_by_one(programs: Programs, jemalloc: str) -> None:
    with started(programs("steady 40"), LD_PRELOAD=jemalloc, MALLOC_CONF="narenas:64") as program:
        wait_until(lambda: attach(program.pid, LONG, STOP).arenas > reading.MOST_ARENAS)
        [snapshot] = reading.read_attached(program.pid, LONG, STOP).snapshots
    assert snapshot.all_arenas is not None
    assert snapshot.arenas == ()
    assert any("arenas were left out one by one" in note for note in snapshot.notes)


def test_a_holder_that_is_killed_during_the_call_leaves_a_process_that_goes_on(
    programs: Programs, jemalloc: str
) -> None:
    killed = """
import os
from hew.sources.attach import call, holder
call.Carrier.finished = lambda self, end, until: os.kill(os.getpid(), 9)
holder.main()
"""
    with started(programs("steady 8"), LD_PRELOAD=jemalloc) as program:
        for _ in range(2):
            assert hold(program.pid, killed) == -9
        assert nameless_code(program.pid) == 2  # that much stays
        assert attach(program.pid, LONG, STOP).text
        assert re.fullmatch(WELL, ended(program))


def test_a_signal_that_a_thread_is_about_to_get_outlives_a_holder_that_is_killed(pose: Pose) -> None:
    killed = """
import os
from hew.sources.attach import call, crowd, holder, kernel
seize = crowd.Crowd.seize
def seize_and_signal(self):
    seize(self)
    kernel.send(self.pid, self.pid, 11)
    while crowd._state(self.pid, self.pid) != "t":  # the kernel asks us whether it is to get it
        pass
crowd.Crowd.seize = seize_and_signal
call.Carrier.finished = lambda self, end, until: os.kill(os.getpid(), 9)
holder.main()
"""
    with started(pose(0)) as program:
        assert hold(program.pid, killed) == -9
        assert ended(program) == "read 1, handled 11, blocked 0"


def test_a_call_that_waits_for_a_stopped_thread_ends_since_the_others_are_let_go(pose: Pose) -> None:
    with started(pose(2)) as program:
        done = attach(program.pid, LONG, STOP)
        assert done.waited
        assert '"jemalloc"' in done.text
        assert ended(program) == "read 1, handled 0, blocked 0"


def test_a_call_that_crashes_is_told_and_the_process_lives(pose: Pose) -> None:
    with started(pose(1)) as program:
        with pytest.raises(HewError, match=r"failed while it wrote statistics \(SIGSEGV"):
            attach(program.pid, LONG, STOP)
        assert nameless_code(program.pid) == 0
        assert ended(program) == "read 1, handled 0, blocked 0"


def test_a_call_that_does_not_return_is_left_to_itself(pose: Pose) -> None:
    with started(pose(3)) as program:
        with pytest.raises(HewError, match="does not return"):
            attach(program.pid, 0.5, STOP)
        assert value_of(f"/proc/{program.pid}/status", "TracerPid") == "0"


def refusal(pid: int, seconds: float) -> str:
    """Why the process is not read; asked again where a busy machine did not let its threads stop in time."""
    said = SLOW
    while SLOW in said:
        with pytest.raises(HewError) as refused:
            attach(pid, seconds, STOP)
        said = str(refused.value)
    return said


def test_a_thread_that_stays_inside_is_named(pose: Pose) -> None:
    with started(pose(0, "inside")) as program:
        assert re.search(r"its thread \d+ is inside the allocator", refusal(program.pid, 0.5))
        assert ended(program) == "read 1, handled 0, blocked 0"


@pytest.mark.parametrize("word", ["forking", "exiting"])
def test_a_thread_in_fork_or_exit_is_waited_for(pose: Pose, word: str) -> None:
    with started(pose(0, word)) as program:
        assert re.search(r"its thread \d+ is in the loader, in fork\(\) or in exit\(\)", refusal(program.pid, 4))
        program.communicate("\n", timeout=LONG)
        assert program.returncode == (0 if word == "forking" else 9)


def test_a_report_of_a_well_behaved_one_is_read(pose: Pose) -> None:
    with started(pose(0)) as program:
        done = attach(program.pid, LONG, STOP)
        assert (done.waited, done.arenas, done.title) == (False, 1, "jemalloc 5.3.0")
        assert ended(program) == "read 1, handled 0, blocked 0"


def test_a_filter_of_system_calls_is_suspended_or_obeyed(pose: Pose) -> None:
    with started(pose(0, "filtered")) as program:
        try:
            assert '"jemalloc"' in attach(program.pid, LONG, STOP).text
        except HewError as error:  # not root, or a kernel that cannot
            assert "a seccomp filter watches its system calls" in str(error)  # noqa: PT017
        assert value_of(f"/proc/{program.pid}/status", "Seccomp") == "2"
        assert ended(program) == "read 1, handled 0, blocked 0"


def test_a_stopped_process_is_refused(programs: Programs, jemalloc: str) -> None:
    with started(programs("steady 1"), LD_PRELOAD=jemalloc) as program:
        program.send_signal(19)
        wait_until(lambda: stat_fields(program.pid)[0] == "T")
        with pytest.raises(HewError, match=r"is stopped \(as by SIGSTOP"):
            attach(program.pid)
        program.send_signal(18)
        assert re.fullmatch(WELL.replace("short naps 0", r"short naps \d+"), ended(program))


def test_a_process_that_is_stopped_and_continued_meanwhile_is_read_or_refused(
    programs: Programs, jemalloc: str
) -> None:
    often = """
import json, sys
from hew.sources.attach import holder
plan = json.load(sys.stdin)
holder.shield()
for _ in range(40):
    print(holder.attach(plan)[0]["refusal"] or "read", flush=True)
"""
    with started(programs("steady 4"), LD_PRELOAD=jemalloc) as program:
        plan = planned(program.pid)
        with subprocess.Popen([sys.executable, "-c", often], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
            assert holder.stdin is not None
            assert holder.stdout is not None
            holder.stdin.write(plan.encode())
            holder.stdin.close()
            while holder.poll() is None:
                for number in (19, 18):
                    program.send_signal(number)
                    time.sleep(0.005)
            answers = set(holder.stdout.read().decode().splitlines())
        assert answers <= {"read", "it is stopped (as by SIGSTOP); SIGCONT lets it go on"}
        assert re.fullmatch(WELL.replace("short naps 0", r"short naps \d+"), ended(program))


@pytest.mark.parametrize("continued", [True, False])
def test_a_stop_during_the_call_is_undone_by_what_continues_the_process(pose: Pose, continued: bool) -> None:
    stops = f"""
import os
from hew.sources.attach import call, holder
start, finished = call.Carrier.start, call.Carrier.finished
def stop_and_start(self, wanted):
    os.kill(self.crowd.pid, 19)
    start(self, wanted)
def finish_and_continue(self, end, until):
    done = finished(self, end, until)
    if {continued}:
        os.kill(self.crowd.pid, 18)
    return done
call.Carrier.start, call.Carrier.finished = stop_and_start, finish_and_continue
holder.main()
"""
    with started(pose(0)) as program:
        assert hold(program.pid, stops) == 0
        if not continued:
            wait_until(lambda: stat_fields(program.pid)[0] == "T")
            program.send_signal(18)
        assert ended(program) == "read 1, handled 0, blocked 0"


def test_a_process_that_is_traced_already_is_refused(programs: Programs, jemalloc: str) -> None:
    tracer = """
import sys
from hew.sources.attach import kernel
kernel.request(kernel.SEIZE, int(sys.argv[1]))
print("traces", flush=True)
sys.stdin.read()
"""
    with started(programs("steady 1"), LD_PRELOAD=jemalloc) as program:
        words = [sys.executable, "-c", tracer, str(program.pid)]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
            assert other.stdout is not None
            assert other.stdout.readline() == b"traces\n"
            with pytest.raises(HewError, match=f"is traced already, by process {other.pid}"):
                attach(program.pid)
            other.communicate()
        assert attach(program.pid, LONG, STOP).text


def test_a_process_without_jemalloc_is_refused(programs: Programs) -> None:
    """A new one: the tests' own has another test's modules in it, and of those duckdb's is linked to a jemalloc."""
    with started(programs("steady 1")) as program, pytest.raises(HewError, match="it has no jemalloc"):
        find_target(program.pid)


def test_ourselves_are_refused() -> None:
    with pytest.raises(HewError, match="this is the process that asks"):
        attach(os.getpid())


def test_a_stripped_program_with_jemalloc_inside_is_refused(compiler: str, tmp_path: Path) -> None:
    program = tmp_path / "stripped"
    text = LIBRARY.replace("FAULT", "0") + PROGRAM.replace("extern volatile int je_leave, je_there;", "")
    (tmp_path / "stripped.c").write_text(text)
    subprocess.run(
        [compiler, "-O1", "-w", "-s", "-pthread", "-o", str(program), str(tmp_path / "stripped.c")], check=True
    )
    with started([str(program)]) as one, pytest.raises(HewError, match="it was stripped"):
        attach(one.pid)


def test_a_holder_whose_asker_is_gone_ends_by_itself(programs: Programs, jemalloc: str) -> None:
    with started(programs("steady 1"), LD_PRELOAD=jemalloc) as program:
        plan = planned(program.pid)
        words = [sys.executable, "-m", reading.HOLDER]
        with subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as holder:
            assert holder.stdin is not None
            assert holder.stdout is not None
            holder.stdout.close()
            holder.stdin.write(plan.encode())
            holder.stdin.close()
            holder.send_signal(15)
            holder.wait(LONG)
        assert value_of(f"/proc/{program.pid}/status", "TracerPid") == "0"
        naps = switches(program.pid)
        wait_until(lambda: switches(program.pid) > naps + 10)
        assert re.fullmatch(WELL, ended(program))
