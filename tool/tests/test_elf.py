# SPDX-License-Identifier: MIT
"""Our reader of ELF files, against readelf and against files whose numbers do not fit their header."""

import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from conftest import build
from hew.sources.elf import MALFORMED, SYMBOLS, Elf

PROGRAM = "int main(void) { return 0; }\n"


def readelf(option: str, path: Path) -> str:
    found = shutil.which("readelf")
    if found is None:
        pytest.skip("no readelf on this machine (package binutils)")
    return subprocess.run([found, "--wide", option, str(path)], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("flags", [(), ("-static",), ("-m32",), ("-shared", "-fPIC")])
def test_it_reads_what_readelf_reads(compiler: str, tmp_path: Path, flags: tuple[str, ...]) -> None:
    try:
        path = build(compiler, tmp_path / "program", PROGRAM, *flags)
    except subprocess.CalledProcessError:
        if "-m32" not in flags:
            raise
        pytest.skip("no C library of 32 bits on this machine")
    elf = Elf(path.read_bytes())
    rows = re.findall(r"^ +\[ *\d+\] (\S*) +\S+ +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+)", readelf("-S", path), re.MULTILINE)
    sections = [(one.name, one.offset, one.size) for one in elf.sections]
    assert sections[1:] == [(name, int(at, 16), int(size, 16)) for name, at, size in rows[-len(sections) + 1 :]]
    rows = re.findall(r"^  LOAD +0x(\w+) 0x(\w+) 0x\w+ 0x(\w+) 0x(\w+)", readelf("-l", path), re.MULTILINE)
    loaded = [(one.offset, one.address, one.file_size, one.memory_size) for one in elf.segments if one.kind == 1]
    assert loaded == [tuple(int(number, 16) for number in row) for row in rows]
    assert list(elf.needed()) == re.findall(r"Shared library: \[(.*)\]", readelf("-d", path))
    assert re.findall(r"program interpreter: (.*)\]", readelf("-l", path)) == [elf.interpreter()] * (
        elf.interpreter() is not None
    )


def test_numbers_that_do_not_fit_the_header_are_in_the_first_section() -> None:
    count = 70_000
    names = b"\0last\0"
    head = struct.pack("<HHIQQQIHHHHHH", 1, 62, 1, 0, 0, 64, 0, 64, 0, 0, 64, 0, 0xFFFF)
    first = struct.pack("<IIQQQQIIQQ", 0, 0, 0, 0, 0, count, count - 2, 0, 0, 0)
    place = 64 + 64 * count
    strings = struct.pack("<IIQQQQIIQQ", 0, 3, 0, 0, place, len(names), 0, 0, 0, 0)
    last = struct.pack("<IIQQQQIIQQ", 1, SYMBOLS, 0, 0, place, 3, 0, 0, 0, 0)
    data = b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + head + first + bytes(64 * (count - 3)) + strings + last + names
    elf = Elf(data)
    found = elf.named("last")
    assert len(elf.sections) == count
    assert found is not None
    assert elf.content(found) == b"\0la"


def test_rows_of_another_size_are_no_file_of_ours() -> None:
    ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    elf = Elf(ident + struct.pack("<HHIQQQIHHHHHH", 1, 62, 1, 0, 64, 64, 0, 64, 0, 9, 0, 9, 1) + bytes(200))
    for part in ("sections", "segments"):
        with pytest.raises(MALFORMED):
            getattr(elf, part)


def test_a_file_of_a_big_endian_machine_is_refused() -> None:
    with pytest.raises(ValueError, match="little-endian"):
        Elf(b"\x7fELF\x02\x02\x01".ljust(64, b"\0"))
