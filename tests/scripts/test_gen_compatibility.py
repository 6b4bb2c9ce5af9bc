# SPDX-License-Identifier: MIT
"""gen_pages compatibility: the page says what the tables say, and a stale page is noticed."""

from pathlib import Path

import gen_pages
import pytest

NAMES = """HEW_NAME(free, STANDARD, "")
HEW_NAME(mallocx, JEMALLOC, "every flag")
HEW_NAME(_Znwm, CXX, "operator new(size_t)")
#undef HEW_NAME
"""
OPTIONS = """
/* Pages */
HEW_OPTION(retain, BOOL, true, 0, 1, EXACT, CORE, WORKS, "keeps address space", "")
HEW_OPTION(hpa, BOOL, true, 0, 1, EXACT, CORE, ACCEPTED, "second allocator", "there is one")
HEW_OLD_OPTION(purge, "use decay_ms")
"""
MACROS = '#define HEW_CTL_PAIR(name, leaf) HEW_CTL(name ".num", U64, READ, leaf, (1) << 3)\n'
CONTROLS = """
HEW_CTL("version", TEXT, READ, hew_ctl_version, 0)
HEW_CTL("opt.retain", BOOL, READ, hew_ctl_opt, 0)
HEW_CTL("opt.hpa", BOOL, READ, hew_ctl_opt, 1)
HEW_CTL("arena.<i>", INDEX, NONE, hew_ctl_arena_index, 0)
HEW_CTL("arena.<i>.purge", VOID, NONE, hew_ctl_arena_purge, 0)
HEW_CTL("prof.dump", TEXT, WRITE_PROF, hew_ctl_prof_dump, 0)
HEW_CTL("hooks.install", POINTER, BOTH, hew_ctl_absent, 0)
HEW_CTL_PAIR("stats.arenas.<i>.hpa_shard", hew_ctl_stats)
HEW_CTL("stats.later", SIZE, READ, hew_ctl_stats_absent, 0)
#undef HEW_CTL
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    files = {
        "api/names.def": NAMES,
        "base/options.def": OPTIONS,
        "base/options.h": "",
        "base/option_choices.def": "",
        "control/mallctl/ctl_names_macros.h": MACROS,
        "control/mallctl/ctl_names.def": CONTROLS,
    }
    for name, text in files.items():
        path = tmp_path / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    "row",
    [
        "- `mallocx`: every flag",
        "- `_Znwm`: `operator new(size_t)`",
        "- `free`",
        "- the setting is accepted without effect: `opt.hpa`",
        "- ENOENT: see mallctl.md: `hooks.install`",
        "- always 0: hew has one page allocator: `stats.arenas.<i>.hpa_shard.num`",
        "- not yet: ENOENT: `stats.later`",
        "6 of 8 answer. These differ:",
    ],
)
def test_each_row_has_its_state(root: Path, row: str) -> None:
    assert gen_pages.main(["compatibility", "--root", str(root)]) == 0
    assert row in (root / "docs" / "compatibility.md").read_text().splitlines()


def test_a_stale_page_is_noticed(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert gen_pages.main(["compatibility", "--root", str(root)]) == 0
    assert gen_pages.main(["compatibility", "--root", str(root), "--check"]) == 0
    table = root / "src" / "api" / "names.def"
    table.write_text(table.read_text().replace("every flag", "no flag"))
    assert gen_pages.main(["compatibility", "--root", str(root), "--check"]) == 1
    assert "not up to date" in capsys.readouterr().err


def test_a_table_that_is_missing_is_told(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "src" / "control" / "mallctl" / "ctl_names.def").unlink()
    assert gen_pages.main(["compatibility", "--root", str(root)]) == 2
    assert "gen_pages: compatibility: " in capsys.readouterr().err
