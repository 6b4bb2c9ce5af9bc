# SPDX-License-Identifier: MIT
"""gen_pages options: the page says what the tables say, and a stale page is noticed."""

from pathlib import Path

import gen_pages
import pytest

CHOICES = 'HEW_CHOICES(dss)\nHEW_CHOICE(HEW_DSS_OFF, "off")\nHEW_CHOICE(HEW_DSS_ON, "on")\nHEW_CHOICES_END(dss)\n'
ROWS = """
/* Pages */
HEW_OPTION(decay_ms, SSIZE, 10000, -1, SSIZE_MAX, REJECT, CORE, WORKS,
           "how long, in ms", "jemalloc's is longer")
HEW_OPTION(dss, CHOICE, HEW_DSS_ON, 0, 1, PREFIX, RARE, ACCEPTED, "use of sbrk", "none here")

/* Threads */
HEW_OPTION(narenas, COUNT, 0, 1, HEW_OPTION_ARENAS_MAX, CLIP_HIGH, CORE, WORKS, "arenas", "")
HEW_OPTION(ratio, FIXED, {1250}, 0, 2000, REJECT, RARE, WORKS, "a ratio", "")
HEW_OPTION(slabs, RANGES, {0}, 1, 16, REJECT, RARE, WORKS, "pages", "")
HEW_OPTION(prefix, TEXT, "heap", 0, 64, EXACT, CORE, WORKS, "names, of files", "")
HEW_LOG2_OPTION(lg_max, max, 0, 23, CLIP, CORE, WORKS, "max as a power", "")
HEW_OLD_OPTION(purge, "use decay_ms")
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    base = tmp_path / "src" / "base"
    base.mkdir(parents=True)
    (base / "option_choices.def").write_text(CHOICES)
    (base / "options.def").write_text(ROWS)
    (base / "options.h").write_text("#define HEW_OPTION_ARENAS_MAX 99\n")
    return tmp_path


@pytest.mark.parametrize(
    "row",
    [
        "| `decay_ms` | how long, in ms (jemalloc's is longer) | number -1 or more | 10000 | core |",
        "- `dss`: none here",
        "| `narenas` | arenas | number 1 to 99, clipped above, or default | default | core |",
        "| `ratio` | a ratio | decimal 0 to 2 | 1.25 | rare |",
        "| `slabs` | pages | default, or LOW-HIGH:NUMBER joined by \\|; number 1 to 16 | default | rare |",
        "| `prefix` | names, of files | text, up to 63 bytes | heap | core |",
        "| `lg_max` | max as a power | number 0 to 23, clipped | as max | core |",
        "- `purge`: use decay_ms",
        "## Threads",
    ],
)
def test_each_kind_of_row_is_put_in_words(root: Path, row: str) -> None:
    assert gen_pages.main(["options", "--root", str(root)]) == 0
    assert row in (root / "docs" / "options.md").read_text().splitlines()


def test_check_notices_a_page_that_is_stale(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert gen_pages.main(["options", "--root", str(root), "--check"]) == 1
    assert "run scripts/gen_pages.py options" in capsys.readouterr().err
    assert gen_pages.main(["options", "--root", str(root)]) == 0
    assert gen_pages.main(["options", "--root", str(root), "--check"]) == 0


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            'HEW_OPTION(log, TEXT, "", 0, 64, EXACT, RARE, ACCEPTED, "a log", "")\n',
            "log is ACCEPTED: the remark must say",
        ),
        ("HEW_OPTION(log, TEXT, 0, 64)\n", "log: 4 columns, 10 expected"),
    ],
)
def test_a_bad_row_is_told_in_one_line(root: Path, capsys: pytest.CaptureFixture[str], row: str, message: str) -> None:
    with (root / "src" / "base" / "options.def").open("a") as table:
        table.write(row)
    assert gen_pages.main(["options", "--root", str(root)]) == 2
    assert message in capsys.readouterr().err
