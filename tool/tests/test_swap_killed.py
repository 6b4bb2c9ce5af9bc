# SPDX-License-Identifier: MIT
"""SIGKILL to `hew swap` at any of its steps leaves a process that runs right, and that can be swapped afterwards."""

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from conftest import PATIENCE
from hew.model.errors import HewError
from hew.sources.library import find_hew
from hew.sources.swap import held
from hew.sources.swap.held import Holder
from hew.sources.swap.swapping import swap, swap_back
from swapped import LONG, MARKS
from waiting import waiting

KILLS = Path(__file__).resolve().parents[2] / "scripts" / "swap_kills.py"
HOLDER = str(Path(__file__).parent / "killed_holder.py")
# Every so many steps, of some hundreds. `make swap-soak` takes all of them.
STRIDE = int(os.environ.get("HEW_KILL_STRIDE", "27"))
pytestmark = MARKS


def is_killed(monkeypatch: pytest.MonkeyPatch, stage: int, step: int, change: Callable[[], object]) -> bool:
    """Whether the change had not ended before that step of that plan."""
    with monkeypatch.context() as patch:
        patch.setattr(held, "HOLDER", Holder([sys.executable, HOLDER, str(stage), str(step)]))
        try:
            change()
        except HewError as error:
            if "has been killed" not in str(error):
                raise
            return True
        finally:
            held.HOLDER.end()
    return False


def finish(pid: int, library: Path) -> None:
    """The swap once more. The one before may have been killed after its last write."""
    try:
        swap(pid, library, timeout=LONG)
    except HewError as error:
        if "has been swapped already" not in str(error):
            raise


def test_hew_may_be_killed_at_random_moments() -> None:
    words = [sys.executable, str(KILLS), "--kills", "4", "--library", str(find_hew(None, os.environ))]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (0, "")
    assert "killed at 4 random moments" in done.stdout


@pytest.mark.parametrize("stage", [0, 1, 2], ids=["loading", "starting", "switching"])
def test_a_first_swap_may_be_killed_at_any_step(
    stage: int, monkeypatch: pytest.MonkeyPatch, programs: Callable[[str], list[str]]
) -> None:
    library = find_hew(None, os.environ)
    for step in range(0, 10_000, STRIDE):
        with waiting(programs("swaps 2"), {}) as program:
            killed = is_killed(monkeypatch, stage, step, partial(swap, program.pid, library, timeout=LONG))
            if killed:
                finish(program.pid, library)
            output, _ = program.communicate("\n", timeout=LONG)
            assert (program.returncode, output.split()[:2]) == (0, ["wrong", "0"])
        if not killed:
            assert step > 0
            return


@pytest.mark.parametrize("back", [True, False], ids=["back", "again"])
def test_later_swaps_may_be_killed_at_any_step(
    back: bool, monkeypatch: pytest.MonkeyPatch, programs: Callable[[str], list[str]]
) -> None:
    library = find_hew(None, os.environ)

    def change(to_hew: bool) -> None:
        swap(program.pid, library, timeout=LONG) if to_hew else swap_back(program.pid, timeout=LONG)

    with waiting(programs("swaps 2"), {}) as program:
        change(to_hew=True)
        if not back:
            change(to_hew=False)
        for step in range(0, 10_000, STRIDE):
            killed = is_killed(monkeypatch, 0, step, lambda: change(not back))
            with suppress(HewError):  # what is left of it, if anything is
                change(not back)
            change(back)
            if not killed:
                break
        assert step > 0
        output, _ = program.communicate("\n", timeout=LONG)
        assert (program.returncode, output.split()[:2]) == (0, ["wrong", "0"])
