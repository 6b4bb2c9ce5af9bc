# SPDX-License-Identifier: MIT
"""planted: a row that cannot be planted is told; the level of what found a fault is read where it stands."""

import importlib.util
import sys
from pathlib import Path

import pytest

PATH = Path(__file__).parents[1] / "planted" / "run.py"
SPEC = importlib.util.spec_from_file_location("planted_run", PATH)
assert SPEC is not None
assert SPEC.loader is not None
planted = importlib.util.module_from_spec(SPEC)
sys.modules["planted_run"] = planted
SPEC.loader.exec_module(planted)


def fault(old: str, new: str) -> object:
    return planted.Fault("a name", "page/heap.c", old, new, 1, "words")


def test_a_fault_keeps_the_numbers_of_the_lines_behind_it() -> None:
    assert planted.planted("a;\nb;\nc;\n", fault("a;\nb;", "b;")) == "b;\n\nc;\n"


@pytest.mark.parametrize("old", ["absent", "b"])
def test_text_that_does_not_stand_there_once_is_refused(old: str) -> None:
    with pytest.raises(planted.PlantError, match=r"times in page/heap\.c"):
        planted.planted("a; b; b;\n", fault(old, "c"))


def test_every_row_can_be_planted_and_changes_something() -> None:
    faults = planted.read_faults(PATH.parent / "faults.toml")
    assert len(faults) >= 12
    for row in faults:
        text = (planted.ROOT / "src" / row.file).read_text()
        assert planted.planted(text, row) != text


def test_the_level_is_the_one_of_the_check_or_of_locks() -> None:
    text = (planted.ROOT / "src" / "page" / "heap.c").read_text().splitlines()
    number = next(at for at, line in enumerate(text, 1) if "HEW_ASSERT(3," in line)
    assert planted.level_of(f"<hew>: hew_page_take(): check failed: heap.c:{number}: x") == 3
    assert planted.level_of("<hew>: hew_mutex_lock(0x1): lock taken twice by one thread: x") == 1
    assert planted.level_of("<hew>: free(0x1): double free") is None
