# SPDX-License-Identifier: MIT
"""check_symbols names what would keep a program from starting: an old glibc, musl, exports that an older hew had."""

from pathlib import Path

import check_symbols
import pytest

TABLE = "# names\nGLIBC_2.2.5 abort\nweak GLIBC_2.2.5 pthread_create dlsym\nunversioned _dl_find_object\n"
SOUND = """
 0x0000000000000001 (NEEDED)             Shared library: [libc.so.6]
 0x000000000000000e (SONAME)             Library soname: [libhew.so.0]
     0: 0000000000000000     0 NOTYPE  LOCAL  DEFAULT  UND
     1: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND abort@GLIBC_2.2.5 (2)
     2: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND clock_gettime@GLIBC_2.17 (3)
     3: 0000000000000000     0 FUNC    WEAK   DEFAULT  UND pthread_create@GLIBC_2.2.5 (2)
     4: 0000000000000000     0 FUNC    WEAK   DEFAULT  UND _dl_find_object
     5: 0000000000001000     9 FUNC    GLOBAL DEFAULT   12 malloc
"""
EXPORTS = "# kind, name, version\nFUNC malloc 0.1.0\nSONAME libhew.so.0 0.1.0\n"


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


@pytest.mark.parametrize(
    ("symbol", "planted", "word"),
    [
        ("12 malloc\n", "12 malloc@@HEW_2\n", "malloc is not exported: programs linked to hew 0.1.0 would not start"),
        ("12 malloc\n", "12 calloc\n", "calloc is exported and not in exports.txt"),
        ("FUNC    GLOBAL DEFAULT", "OBJECT  GLOBAL DEFAULT", "malloc is OBJECT, and was FUNC since hew 0.1.0"),
        ("libhew.so.0]", "libhew.so.1]", "libhew.so.0 is not exported"),
    ],
)
def test_a_lost_export_is_named(symbol: str, planted: str, word: str) -> None:
    recorded = check_symbols.recorded_symbols(EXPORTS)
    assert check_symbols.missing_exports(check_symbols.exported_symbols(SOUND), recorded) == []
    assert symbol in SOUND
    exported = check_symbols.exported_symbols(SOUND.replace(symbol, planted))
    assert any(word in line for line in check_symbols.missing_exports(exported, recorded))


def test_the_exit_status_says_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, exports = tmp_path / "glibc.txt", tmp_path / "exports.txt"
    table.write_text(TABLE)
    exports.write_text(EXPORTS)
    lost = SOUND.replace("12 malloc", "12 calloc")
    for text, status in ((SOUND, 0), (SOUND.replace("2.17", "2.28"), 1), (lost, 1), ("", 1)):
        monkeypatch.setattr(check_symbols, "describe", lambda _, text=text: text)
        assert check_symbols.main(["--table", str(table), "--exports", str(exports)]) == status


def test_an_update_adds_what_is_new_and_keeps_what_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, exports = tmp_path / "glibc.txt", tmp_path / "exports.txt"
    table.write_text(TABLE)
    exports.write_text("FUNC malloc 0.0.9\nFUNC gone 0.0.9\n")
    monkeypatch.setattr(check_symbols, "describe", lambda _: SOUND)
    assert check_symbols.main(["--table", str(table), "--exports", str(exports), "--update"]) == 1
    recorded = check_symbols.recorded_symbols(exports.read_text())
    assert recorded["malloc"] == ("FUNC", "0.0.9")
    assert recorded["gone"] == ("FUNC", "0.0.9")
    assert recorded["libhew.so.0"][0] == "SONAME"


def test_the_table_of_the_project_names_what_is_absent_somewhere() -> None:
    weak, unversioned = check_symbols.absent_somewhere((check_symbols.ROOT / "cmake" / "glibc.txt").read_text())
    assert {"pthread_create", "dlsym", "__register_atfork"} <= weak - unversioned
    assert {"_dl_find_object", "__libc_single_threaded"} <= unversioned
