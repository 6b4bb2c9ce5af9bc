# SPDX-License-Identifier: MIT
"""check_symbols: whatever would keep a program from starting on an old glibc or on musl is noticed."""

from pathlib import Path

import check_symbols
import pytest

TABLE = "# names\nGLIBC_2.2.5 abort\nweak GLIBC_2.2.5 pthread_create dlsym\nunversioned _dl_find_object\n"
SOUND = """
 0x0000000000000001 (NEEDED)             Shared library: [libc.so.6]
 0x000000000000000e (SONAME)             Library soname: [libhew.so]
     0: 0000000000000000     0 NOTYPE  LOCAL  DEFAULT  UND
     1: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND abort@GLIBC_2.2.5 (2)
     2: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND clock_gettime@GLIBC_2.17 (3)
     3: 0000000000000000     0 FUNC    WEAK   DEFAULT  UND pthread_create@GLIBC_2.2.5 (2)
     4: 0000000000000000     0 FUNC    WEAK   DEFAULT  UND _dl_find_object
     5: 0000000000001000     9 FUNC    GLOBAL DEFAULT   12 malloc@@HEW_9.9
"""


def test_a_library_that_starts_everywhere_passes() -> None:
    assert check_symbols.faults(SOUND, TABLE) == []
    assert len(check_symbols.needed_symbols(SOUND)) == 4


@pytest.mark.parametrize(
    ("symbol", "planted", "word"),
    [
        ("GLOBAL DEFAULT  UND abort@GLIBC_2.2.5", "GLOBAL DEFAULT  UND abort@GLIBC_2.34", "abort@GLIBC_2.34"),
        ("clock_gettime@GLIBC_2.17", "clock_gettime@GLIBC_2.18", "newer than glibc 2.17"),
        ("clock_gettime@GLIBC_2.17", "__popcountdi2@GCC_3.4", "GCC_3.4"),
        ("WEAK   DEFAULT  UND pthread_create", "GLOBAL DEFAULT  UND pthread_create", "pthread_create is not weak"),
        ("UND _dl_find_object", "UND _dl_find_object@GLIBC_2.35 (4)", "has a version"),
        ("WEAK   DEFAULT  UND _dl_find_object", "GLOBAL DEFAULT  UND _dl_find_object", "_dl_find_object is not weak"),
        ("[libc.so.6]", "[libpthread.so.0]", "libpthread.so.0"),
    ],
)
def test_each_planted_fault_is_named(symbol: str, planted: str, word: str) -> None:
    assert symbol in SOUND
    said = check_symbols.faults(SOUND.replace(symbol, planted), TABLE)
    assert len(said) == 1
    assert word in said[0]


def test_the_exit_status_says_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tmp_path / "glibc.txt"
    table.write_text(TABLE)
    for text, status in ((SOUND, 0), (SOUND.replace("2.17", "2.28"), 1), ("", 1)):
        monkeypatch.setattr(check_symbols, "describe", lambda _, text=text: text)
        assert check_symbols.main(["--table", str(table)]) == status


def test_the_table_of_the_project_names_what_is_absent_somewhere() -> None:
    weak, unversioned = check_symbols.absent_somewhere((check_symbols.ROOT / "cmake" / "glibc.txt").read_text())
    assert {"pthread_create", "dlsym", "__register_atfork"} <= weak - unversioned
    assert {"_dl_find_object", "__libc_single_threaded"} <= unversioned
