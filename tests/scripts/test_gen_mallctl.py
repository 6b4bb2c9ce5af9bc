# SPDX-License-Identifier: MIT
"""gen_pages mallctl: the page says what the table says, macros and all, and a stale page is noticed."""

from pathlib import Path

import gen_pages
import pytest

MACROS = """
#define HEW_CTL_PAIR(name, leaf) HEW_CTL_ABOUT("of " name) HEW_CTL(name ".a", U32, READ, leaf, 0) \\
    HEW_CTL(name ".b", BOOL, BOTH, leaf, 1)
"""
NAMES = """
/* a comment */
HEW_CTL_ABOUT("what it is; `1|2`")
HEW_CTL("version", TEXT, READ, hew_ctl_version, 0)
HEW_CTL("arena.<i>", INDEX, NONE, hew_ctl_arena_index, 0)
HEW_CTL("arena.<i>.purge", VOID, NONE, hew_ctl_arena_purge, 0)
HEW_CTL_ABOUT("events")
HEW_CTL("hooks.install", POINTER, BOTH, hew_ctl_absent, 0)
HEW_CTL_ABOUT("a dump")
HEW_CTL("prof.dump", TEXT, WRITE_PROF, hew_ctl_dump, 0)
#include "control/mallctl/more.def"
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    control = tmp_path / "src" / "control" / "mallctl"
    control.mkdir(parents=True)
    (control / "ctl_names_macros.h").write_text(MACROS)
    (control / "ctl_names.def").write_text(NAMES)
    (control / "more.def").write_text('HEW_CTL_PAIR("stats.arenas.<i>.lock", hew_ctl_stats)\n')
    return tmp_path


@pytest.mark.parametrize(
    "row",
    [
        "| `version` | `const char *` | read | what it is; `1\\|2` |",
        "| `arena.<i>` | | index |  |",
        "| `arena.<i>.purge` |  | call |  |",
        "| `hooks.install` | `pointer` | read, write | events (unknown here: `ENOENT`) |",
        "| `stats.arenas.<i>.lock.a` | `uint32_t` | read | of stats.arenas.<i>.lock |",
        "| `stats.arenas.<i>.lock.b` | `bool` | read, write |  |",
        "| `prof.dump` | `const char *` | write | a dump; with `prof:true` |",
        "## stats.arenas.\\<i\\>",
    ],
)
def test_each_kind_of_row_is_put_in_words(root: Path, row: str) -> None:
    assert gen_pages.main(["mallctl", "--root", str(root)]) == 0
    assert row in (root / "docs" / "mallctl.md").read_text().splitlines()


def test_check_notices_a_page_that_is_stale(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert gen_pages.main(["mallctl", "--root", str(root), "--check"]) == 1
    assert "run scripts/gen_pages.py mallctl" in capsys.readouterr().err
    assert gen_pages.main(["mallctl", "--root", str(root)]) == 0
    assert gen_pages.main(["mallctl", "--root", str(root), "--check"]) == 0


def test_a_table_that_does_not_compile_is_told_in_one_line(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "src" / "control" / "mallctl" / "more.def").unlink()
    assert gen_pages.main(["mallctl", "--root", str(root)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("gen_pages: mallctl: ")
    assert error.count("\n") == 1
