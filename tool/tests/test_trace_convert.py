# SPDX-License-Identifier: MIT
"""`hew record --from`: the recordings of heaptrack and mtrace, and traces whose processes ran on."""

import gzip
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from conftest import HewRunner, build, wait_until
from hew.model.errors import HewError
from hew.sources.library import find_part
from hew.sources.trace.converting import convert
from hew.sources.trace.plain import plain_trace
from hew.sources.trace.writing import TraceWriter

RAW = b"""v 10400 3
x 7 ./a.out
X ./a.out
I 1000 5e298d
t 7f0dfac3db9f 0
+ 64 1 55a127f4d1d0
- 55a127f4d1d0
c 3
+ 1388 1 55a127f4d300
+ 15 1 55a127f4e6f0
- 55a127f4e6f0
- 7777
+ 80 1 55a127f4e6f0
"""
INTERPRETED = b"""v 10400 3
s 6 ab\n+ 9
X ./a.out
t 1 0
a 64 1
+ 0
+ 0
a 15 1
- 0
+ 1
- 1
- 1
c 7
"""
MTRACE = b"""= Start
@ ./a - b:(main+0x11)[0x11a0] + 0x55c6473ba4a0 0x64
@ ./a:[0x11b5] < 0x55c6473ba4a0
@ ./a:[0x11b5] > 0x55c6473ba4f0 0x1388
@ ./a:[0x11b5] ! (nil) 0x7fffffffffff
+ 0x55c6473ba2a0 0x15
@ ./a:[0x11d8] - 0x55c6473ba2a0
@ ./a:[0x11d8] - 0x1234
= End
"""
READ = {
    "raw": (
        RAW, 1,
        ["malloc 100 = 0.0", "free 0.0", "malloc 5000 = 0.1", "malloc 21 = 0.2", "free 0.2", "malloc 128 = 0.3"],
    ),
    "interpreted": (
        INTERPRETED, 1,
        ["malloc 100 = 0.0", "malloc 100 = 0.1", "free 0.1", "malloc 21 = 0.2", "free 0.2"],
    ),
    "mtrace": (MTRACE, 1, ["malloc 100 = 0.0", "realloc 0.0 5000 = 0.1", "malloc 21 = 0.2", "free 0.2"]),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _built() -> None:
    try:
        find_part("hew-replay")
    except HewError as error:
        pytest.skip(str(error))


def listed(trace: Path) -> list[str]:
    """Its operations as text, of thread 0 alone."""
    with plain_trace(trace) as plain:
        done = subprocess.run([find_part("hew-replay"), "list", plain], capture_output=True, text=True, check=True)
    assert all(line.startswith("0 ") for line in done.stdout.splitlines())
    return [line.removeprefix("0 ") for line in done.stdout.splitlines()]


@pytest.mark.parametrize("name", READ)
def test_what_others_record_becomes_a_trace(hew: HewRunner, tmp_path: Path, name: str) -> None:
    data, unknown, operations = READ[name]
    for packed in (data, gzip.compress(data), zstandard.compress(data)):
        (tmp_path / "in").write_bytes(packed)
        (tmp_path / "out").unlink(missing_ok=True)
        done = hew("record", "--from", str(tmp_path / "in"), "-o", str(tmp_path / "out"))
        assert done.returncode == 0, done.stderr
        assert f"{unknown} free of objects that are not in it: left out" in done.stderr
        assert listed(tmp_path / "out") == operations
    assert {path.name for path in tmp_path.iterdir()} == {"in", "out"}


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "no recording of hew, heaptrack or mtrace"),
        (b"what is this\n", "no recording of hew, heaptrack or mtrace"),
        (b"v 10400 3\n", "there is no allocation in it"),
        (b"v 10400 3\n+ 0\n", "it is damaged"),
        (b"v 10400 3\na 8 1\n+ -1\n", "it is damaged"),
        (b"v 10400 3\n+ -8 1 77\n", "it is damaged"),
        (b"v 10400 3\n+ 10000000000000000 1 77\n", "it is damaged"),
        (b"v 10400 3\n+ 8 1 77\nc ffffffffffffffffffff\n", "it is damaged"),
        (b"v 10400 3\n+ " + b"1" * 70_000, "it is damaged: it has a line of 65,536 bytes"),
        (b"= Start\n@ ./a:[0x1] + 0x10 words\n", "is no line of mtrace"),
        (gzip.compress(RAW * 50)[:-20], "it is damaged"),
        (zstandard.compress(RAW)[:-5] + b"wrong", "it is damaged"),
    ],
)
def test_what_is_none_is_refused_in_one_line_and_leaves_nothing(
    hew: HewRunner, tmp_path: Path, data: bytes, says: str
) -> None:
    (tmp_path / "in").write_bytes(data)
    done = hew("record", "--from", str(tmp_path / "in"), "-o", str(tmp_path / "out"))
    assert done.returncode == 1
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} == {"in"}


def test_a_command_and_a_file_are_not_both_given(hew: HewRunner, tmp_path: Path) -> None:
    for words in ((), ("--from", "x", "--", "true")):
        done = hew("record", "-o", str(tmp_path / "out"), *words)
        assert done.returncode == 2
        assert "give a COMMAND or a PID to record, or --from FILE" in done.stderr


@given(st.lists(st.tuples(st.sampled_from("mfr"), st.integers(0, 9), st.integers(0, 9), st.integers(0, 1 << 40))))
def test_what_is_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, asked: list[tuple[str, int, int, int]]
) -> None:
    path = tmp_path_factory.getbasetemp() / "written"
    live: dict[int, int] = {}
    expected: list[str] = []
    with path.open("wb") as to:
        writer = TraceWriter(to)
        made = 0
        for kind, key, other, size in asked:
            writer.at(size % 100_000)
            was = live.pop(key, None)
            if kind == "m":
                writer.made(key, size)
                expected += [f"free 0.{was}"] if was is not None else []
                expected.append(f"malloc {size} = 0.{made}")
            elif kind == "f":
                writer.ended(key)
                expected += [f"free 0.{was}"] if was is not None else []
                continue
            else:
                writer.resized(key, other, size)
                gone = live.pop(other, None)
                expected += [f"free 0.{gone}"] if gone is not None else []
                expected.append(
                    f"realloc 0.{was} {size} = 0.{made}" if was is not None else f"malloc {size} = 0.{made}"
                )
                key = other  # noqa: PLW2901
            live[key] = made
            made += 1
        writer.close()
    assert listed(path) == expected


def test_many_blocks_are_one_trace(tmp_path: Path) -> None:
    lines = [b"v 10400 3"]
    for i in range(60_000):
        lines += [b"+ %x 1 %x" % (i % 5000, i + 1)] + ([b"- %x" % (i - 100)] if i > 100 else [])
        lines += [b"c %x" % (i // 100)] if i % 100 == 0 else []
    (tmp_path / "in").write_bytes(b"\n".join(lines) + b"\n")
    summary, unknown = convert(tmp_path / "in", tmp_path / "out")
    assert (summary.operations, unknown) == (119_899, 0)
    operations = listed(tmp_path / "out")
    assert len(operations) == 119_899
    assert operations[-1] == "free 0.59898"


def test_heaptrack_and_hew_record_the_same(hew: HewRunner, compiler: str, tmp_path: Path) -> None:
    if shutil.which("heaptrack") is None:
        pytest.skip("heaptrack is not installed")
    source = "#include <stdlib.h>\nint main(void) {"
    source += "for (int i = 1; i < 999; i++) { void *p = malloc(70000 + i); if (i % 3) free(p); } }\n"
    program = build(compiler, tmp_path / "makes", source, "-O0")
    recorded = {}
    for option in ((), ("--raw",)):
        place = tmp_path / f"heaptrack{len(option)}"
        subprocess.run(["heaptrack", *option, "-o", place, program], check=True, capture_output=True)
        (file,) = tmp_path.glob(f"{place.name}*.[gz]*")
        convert(file, tmp_path / f"{place.name}.out")
        recorded[option] = listed(tmp_path / f"{place.name}.out")
    done = hew("record", "-o", str(tmp_path / "ours"), "--", str(program))
    assert done.returncode == 0, done.stderr
    recorded["ours",] = listed(tmp_path / "ours")
    sizes = {
        key: [
            int(match[1]) for line in lines if (match := re.match(r"malloc (7\d{4}) ", line)) and int(match[1]) != 72704
        ]
        for key, lines in recorded.items()
    }
    assert list(sizes.values()) == [list(range(70001, 70999))] * 3
    assert {sum(line.startswith("free") for line in lines) > 600 for lines in recorded.values()} == {True}


def test_a_process_that_outlives_the_command_keeps_its_trace(hew: HewRunner, tmp_path: Path) -> None:
    """A daemon: the command ends, its child records on into a file of its own, which must not be closed under it."""
    go, pid_file = tmp_path / "go", tmp_path / "pid"
    daemon = (
        "import os, sys, time\n"
        "if os.fork():\n    os._exit(0)\n"
        "os.setsid()\n"
        f"name = {str(pid_file)!r}\n"
        "open(name + '.new', 'w').write(str(os.getpid())); os.rename(name + '.new', name)\n"
        "null = os.open('/dev/null', os.O_RDWR)\n"
        "for number in (0, 1, 2):\n    os.dup2(null, number)\n"
        f"while not os.path.exists({str(go)!r}):\n    time.sleep(0.01)\n"
        "kept = [bytes(70001) for _ in range(400)]\n"
    )
    trace = tmp_path / "t"
    wait = 'env "$@" & while ! test -e "$0"; do sleep 0.05; done'
    words = ["sh", "-c", wait, str(pid_file), sys.executable, "-S", "-c", daemon]
    done = hew("record", "-o", str(trace), "--", *words)
    pid = int(pid_file.read_text())
    try:
        assert done.returncode == 0, done.stderr
        assert f"t.{pid}: process {pid} still records into it" in done.stderr
        file = tmp_path / f"t.{pid}"
        assert hew("record", "--from", str(file), "-o", str(tmp_path / "early")).returncode == 1
        go.touch()
        wait_until(lambda: _has_ended(pid))
        assert sum(" 70034 " in line for line in plain_lines(file)) == 400  # bytes() asks for 33 more
        packed = hew("record", "--from", str(file), "-o", str(tmp_path / "packed"))
        assert packed.returncode == 0, packed.stderr
        assert plain_lines(tmp_path / "packed") == plain_lines(file)
    finally:
        if not _has_ended(pid):
            os.kill(pid, signal.SIGKILL)


def plain_lines(trace: Path) -> list[str]:
    """All that it lists."""
    with plain_trace(trace) as plain:
        return subprocess.run(
            [find_part("hew-replay"), "list", plain], capture_output=True, text=True, check=True
        ).stdout.splitlines()


def _has_ended(pid: int) -> bool:
    """Whether it is gone, or a zombie, in a container without a parent that waits for it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True
