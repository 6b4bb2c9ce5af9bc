# SPDX-License-Identifier: MIT
"""`hew record --stacks`: which allocations have a stack, and how stacks stand in the file."""

import signal
import struct
from pathlib import Path

import pytest

from conftest import HewRunner
from hew.model.errors import HewError
from hew.sources.library import find_part
from hew.sources.trace.blocks import MODULES, NODES, decoded, read_blocks, read_header
from test_trace_commands import OBJECTS, Programs, operations, recorded


@pytest.fixture(scope="module", autouse=True)
def _built() -> None:
    try:
        find_part("libhewtrace.so"), find_part("hew-replay")
    except HewError as error:
        pytest.skip(str(error))


def payloads(trace: Path, kind: int) -> bytes:
    """What blocks of a kind have, one after the other."""
    with trace.open("rb") as file:
        blocks = list(read_blocks(file, read_header(file, trace)))
    return b"".join(decoded(block, payload) for block, payload in blocks if block.kind == kind)


def test_stacks_are_sampled(hew: HewRunner, programs: Programs, tmp_path: Path) -> None:
    recorded(hew, programs("passes_on"), tmp_path / "t", "--stacks", "100")
    stacks = [line for line in operations(tmp_path / "t", tmp_path) if " stack " in line]
    assert len(stacks) > OBJECTS // 200
    assert max(len(line.split()) for line in stacks) > 3


def test_every_allocation_has_its_stack_and_stacks_are_written_once(
    hew: HewRunner, programs: Programs, tmp_path: Path
) -> None:
    recorded(hew, programs("passes_on"), tmp_path / "t", "--stacks", "all")
    frames: dict[str, int] = {}
    depths = []
    for line in operations(tmp_path / "t", tmp_path):
        thread, what, *rest = line.split()
        if what == "stack":
            frames[thread] = len(rest)
        elif what in ("malloc", "calloc", "realloc"):
            depths.append(frames.get(thread, 0))
    assert len(depths) > OBJECTS
    assert min(depths) >= 2
    written = list(struct.iter_unpack("<QII", payloads(tmp_path / "t", NODES)))
    assert 5 < len(written) < OBJECTS // 10  # two threads that meet a stack at once may write it twice
    assert b"/passes_on" in payloads(tmp_path / "t", MODULES)


def test_the_stacks_of_a_process_that_is_killed_have_their_modules(
    hew: HewRunner, programs: Programs, tmp_path: Path
) -> None:
    done = hew("record", "-o", str(tmp_path / "t"), "--stacks", "all", "--", *programs("passes_on kill"))
    assert done.returncode == -signal.SIGKILL
    assert b"/passes_on" in payloads(tmp_path / "t", MODULES)


def test_a_number_of_stacks_that_is_none_is_refused(hew: HewRunner, tmp_path: Path) -> None:
    done = hew("record", "-o", str(tmp_path / "t"), "--stacks", "most", "--", "true")
    assert done.returncode == 2
    assert "'most' is neither all nor a number" in done.stderr
