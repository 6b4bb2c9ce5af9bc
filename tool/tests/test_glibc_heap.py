# SPDX-License-Identifier: MIT
"""glibc's heap read from outside, held against malloc_info(3), mallinfo(3) and what malloc_trim(3) then returns.

On this machine's glibc, and on those that `scripts/other_glibcs.py` has brought into build/glibcs.
"""

import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from conftest import PATIENCE, PROGRAMS, HewRunner, is_as_described
from hew.model.errors import HewError
from hew.model.glibc_heap import GlibcHeap
from hew.model.process import ProcessFacts
from hew.sources.glibc import heap as reader
from hew.sources.glibc.heap import read_heap
from hew.sources.glibc.memory import ChangedError
from hew.sources.process_facts import read_process
from hew.sources.processes import memory_status
from stubs import PREFIXED, running

OTHERS = Path(__file__).parents[2] / "build" / "glibcs"
TOTAL = re.compile(
    r"</heap>\s*(?:<total type=\"fast\" count=\"(\d+)\" size=\"(\d+)\"/>\s*)?<total type=\"rest\" .*size=\"(\d+)\""
)
CURRENT = re.compile(r'<system type="current" size="(\d+)"/>')
NOISE = 1 << 20  # bytes of RSS that come and go besides

pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="this machine's libc is not glibc")


class Plateau:
    """The program plateau: its process, and what it tells of itself."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self.told = self._told()

    @property
    def pid(self) -> int:
        return self.process.pid

    def trim(self) -> None:
        """Have it call malloc_trim."""
        assert self.process.stdin is not None
        self.process.stdin.write("x\n")
        self.process.stdin.flush()
        self.told = self._told()

    def _told(self) -> str:
        assert self.process.stdout is not None
        lines = iter(self.process.stdout.readline, "")
        text = ""
        for line in lines:
            if line == "end\n":
                return text
            text += line
        raise AssertionError(f"plateau ended: {text}")


def built(folder: Path) -> Path:
    """plateau for a glibc of another release, which lies in `folder`."""
    loader = next(folder.rglob("ld-linux-*.so.*"))
    library = next(folder.rglob("libc.so.6")).parent
    target = folder / "plateau"
    words = [
        "cc",
        "-O1",
        "-fno-builtin",
        "-pthread",
        "-w",
        "-o",
        str(target),
        str(PROGRAMS / "plateau.c"),
        "-nodefaultlibs",
    ]
    words += [str(library / "libc.so.6"), str(library / "libpthread.so.0"), f"-Wl,-rpath,{library}"]
    subprocess.run([*words, f"-Wl,--dynamic-linker={loader}", "-Wl,--disable-new-dtags"], check=True)
    return target


@pytest.fixture(params=["here", "2.31", "2.41", "2.43"], scope="module")
def plateau(request: pytest.FixtureRequest, compiler: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, on each glibc there is."""
    if request.param != "here":
        folder = OTHERS / request.param
        if not folder.is_dir() or platform.machine() != "x86_64":
            pytest.skip(f"glibc {request.param} is not here: python3 scripts/other_glibcs.py brings it (Debian)")
        return built(folder)
    target = tmp_path_factory.mktemp("plateau") / "plateau"
    subprocess.run(
        [compiler, "-O1", "-fno-builtin", "-pthread", "-w", "-o", str(target), str(PROGRAMS / "plateau.c")], check=True
    )
    return target


@contextmanager
def started(program: Path, *words: int) -> Iterator[Plateau]:
    """It runs, and waits for a line."""
    process = subprocess.Popen(
        [str(program), *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={}
    )
    try:
        yield Plateau(process)
    finally:
        process.kill()
        process.wait()


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look at small chunks takes as long as it takes: on a busy machine, longer than a user is to wait for it."""
    monkeypatch.setattr(reader, "PATIENCE", PATIENCE)


def look(pid: int) -> tuple[ProcessFacts, GlibcHeap]:
    facts = read_process(pid)
    return facts, read_heap(facts)


@pytest.mark.parametrize("words", [(30000, 1000, 10, 1000000, 3), (30000, 100, 3, 0, 2), (50000, 3000, 50000, 0)])
def test_the_sums_are_those_that_malloc_tells_of_itself(plateau: Path, words: tuple[int, ...]) -> None:
    with started(plateau, *words) as program:
        _, heap = look(program.pid)
    arena, free, fast, top, mapped = map(int, program.told.splitlines()[0].split())
    main = next(one for one in heap.arenas if one.main)
    total = TOTAL.search(program.told)
    assert total is not None
    assert heap.system == int(CURRENT.findall(program.told)[-1])
    assert (main.system, heap.system) == (int(CURRENT.findall(program.told)[0]), arena)
    assert sum(one.unused.fast for one in heap.arenas) == fast == int(total[2] or 0)
    assert (heap.free, main.unused.top, heap.mapped) == (free, top, mapped)
    assert abs(heap.free - fast - int(total[3])) <= 16 * sum(one.unused.chunks for one in heap.arenas)
    assert (heap.moving, heap.complete) == (False, True)


@pytest.mark.parametrize("words", [(300000, 1000, 100000), (20000, 1000, 30, 0, 3)])
def test_malloc_trim_gives_back_what_was_said(plateau: Path, words: tuple[int, ...]) -> None:
    with started(plateau, *words) as program:
        before, heap = look(program.pid)
        resident = memory_status(program.pid)[0]
        program.trim()
        gone = resident - memory_status(program.pid)[0]
        _, after = look(program.pid)
    assert abs(gone - heap.trimmable) <= NOISE
    assert heap.trimmable > before.memory.resident / 3
    assert after.trimmable <= NOISE


def test_a_process_that_allocates_all_the_time_is_read_or_refused_with_a_reason(plateau: Path) -> None:
    """It may change too fast; what is said of it must hold together."""
    with started(plateau, 0, 0, 0) as program:
        refusals = []
        for _ in range(20):
            facts = read_process(program.pid)
            try:
                heap = read_heap(facts)
            except HewError as error:
                refusals.append(str(error))
                continue
            assert 0 <= heap.free <= heap.system
            assert heap.trimmable <= facts.memory.resident + NOISE
        assert program.process.poll() is None
    assert all("without a pause" in one for one in refusals)  # how many there are is chance


def test_a_process_that_ends_meanwhile_is_said_to_have(plateau: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with started(plateau, 1000, 100, 10, 0) as program:
        facts = read_process(program.pid)

        def ends(*_: object) -> None:
            program.process.kill()
            program.process.wait()
            raise ChangedError("a page is gone")

        monkeypatch.setattr(reader, "_read", ends)
        with pytest.raises(HewError, match=r"^it has ended meanwhile$"):
            read_heap(facts)


def test_a_heap_that_never_holds_together_is_tried_for_some_time_and_said_in_words(
    plateau: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    tries = 0

    def changes(*_: object) -> None:
        nonlocal tries
        tries += 1
        raise ChangedError("its top chunk does not lie in its heap")

    def passes(seconds: float) -> None:
        nonlocal now
        now += seconds

    with started(plateau, 1000, 100, 10, 0) as program:
        facts = read_process(program.pid)
        monkeypatch.setattr(reader, "_read", changes)
        monkeypatch.setattr(reader, "time", SimpleNamespace(monotonic=lambda: now, sleep=passes))
        with pytest.raises(HewError) as refused:
            read_heap(facts)
    assert tries > 10
    assert f"({tries} looks in 3 s)" in str(refused.value)
    assert "top chunk" not in str(refused.value)


def test_a_heap_that_malloc_trim_would_empty_is_advised(hew: HewRunner, plateau: Path) -> None:
    with started(plateau, 310000, 1000, 100000) as program:
        done = hew("advise", str(program.pid), "--json")
        text = hew("advise", str(program.pid))
        program.trim()
        after = hew("advise", str(program.pid))
    document = is_as_described(done.stdout, "advice")
    assert (done.returncode, text.returncode, after.returncode) == (3, 3, 0)
    [advice] = document["advice"]
    assert advice["rule"] == "glibc-trim"
    assert advice["settings"] == []  # an object at the end keeps all before it: no threshold would help
    assert "malloc_trim(0)" in advice["change"]
    assert re.search(r"hew swap --trim \d+ \(about 29\d MiB come back at once\)", advice["change"])
    [arena] = document["looked_at"]["glibc_heap"]["arenas"]
    assert arena["trimmable"] == advice["evidence"][0]["value"] > 300e6
    assert re.search(r"malloc_trim would return 29\d MiB", text.stdout)
    assert "none spoke; " in after.stdout


def test_a_jemalloc_with_a_prefix_beside_glibc_is_named(hew: HewRunner, compiler: str, tmp_path: Path) -> None:
    program = tmp_path / "prefixed"
    source = PREFIXED.replace("volatile char *object = je_malloc(1000);", MAPS)
    (tmp_path / "prefixed.c").write_text(source)
    subprocess.run([compiler, "-O1", "-w", "-o", str(program), str(tmp_path / "prefixed.c")], check=True)
    with running(program) as pid:
        done = hew("advise", str(pid))
    assert done.returncode == 4
    assert re.search(r"not seen: 9\d.* MiB of private memory", done.stdout)
    assert "prefixed je_" in done.stdout
    assert "JE_MALLOC_CONF=stats_print:true" in done.stdout


MAPS = """
    volatile char *object = je_malloc(1000);
    void *mmap(void *, size_t, int, int, int, long);
    char *held = mmap(NULL, 96 << 20, 3, 0x22, -1, 0);
    for (size_t at = 0; at < 96 << 20; at += 4096)
        held[at] = 1;
"""


def test_the_heap_of_node_is_explained(hew: HewRunner) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not here: apt-get install nodejs")
    code = "let held = []; for (let i = 0; i < 3e6; i++) held.push({i}); console.log('r'); setInterval(() => held, 1e6)"
    with subprocess.Popen([node, "-e", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        done = hew("advise", str(process.pid))
        process.kill()
    assert "V8's heap" in done.stdout
    assert done.returncode == 4
