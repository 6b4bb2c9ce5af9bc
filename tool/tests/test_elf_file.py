# SPDX-License-Identifier: MIT
"""Functions of files whose symbols are damaged."""

import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import build
from hew.sources.symbols.elf_file import read_elf_file


def test_hidden_symbols_that_cannot_be_unpacked_are_left_out(compiler: str, tmp_path: Path) -> None:
    objcopy = shutil.which("objcopy")
    if objcopy is None:
        pytest.skip("no objcopy on this machine (package binutils)")
    path = build(compiler, tmp_path / "program", "int main(void) { return 0; }\n")
    (tmp_path / "damaged").write_bytes(b"\xfd7zXZ\0 and no more")
    add = [objcopy, "--add-section", f".gnu_debugdata={tmp_path / 'damaged'}", str(path)]
    subprocess.run(add, check=True)
    file = read_elf_file(path)
    assert file is not None
    assert "main" in [file.function_at(int(start)) for start in file.starts]
