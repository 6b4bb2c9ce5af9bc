# SPDX-License-Identifier: MIT
"""What a command really is."""

import os
import struct
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import build
from hew.model.errors import CommandNotExecutableError, CommandNotFoundError
from hew.sources.executable import find_command, libraries_of, preload_obstacle, program_behind, read_elf

ENVIRONMENT = {"PATH": "/usr/bin:/bin"}
EMPTY_PROGRAM = "int main(void) { return 0; }\n"


def script(path: Path, first: str) -> Path:
    path.write_text(first + "\n")
    path.chmod(0o755)
    return path


def test_a_command_is_found_on_the_path_in_order(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    (tmp_path / "one" / "tool").write_text("not executable")
    wanted = script(tmp_path / "two" / "tool", "#!/bin/sh")
    assert find_command("tool", {"PATH": f"{tmp_path}/one:{tmp_path}/two"}) == wanted


def test_a_missing_command_has_the_shells_status(tmp_path: Path) -> None:
    with pytest.raises(CommandNotFoundError) as caught:
        find_command("no-such-command", {"PATH": str(tmp_path)})
    assert caught.value.exit_status == 127


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_may_not_be_executed_has_the_shells_status(tmp_path: Path, kind: str) -> None:
    target = tmp_path / "thing"
    if kind == "file":
        target.write_text("text")
    else:
        target.mkdir()
    with pytest.raises(CommandNotExecutableError) as caught:
        find_command(str(target), {})
    assert caught.value.exit_status == 126


def test_the_program_behind_a_script_is_its_interpreter(tmp_path: Path) -> None:
    inner = script(tmp_path / "inner", "#!/bin/sh -e")
    outer = script(tmp_path / "outer", f"#!{inner}")
    by_env = script(tmp_path / "by-env", "#!/usr/bin/env -S NAME=value sh -e")
    assert {program_behind(path, ENVIRONMENT).resolve() for path in (inner, outer, by_env)} == {
        Path("/bin/sh").resolve()
    }


def test_a_dynamic_program_has_an_interpreter_and_a_static_one_has_none(compiler: str, tmp_path: Path) -> None:
    dynamic = read_elf(build(compiler, tmp_path / "dynamic", EMPTY_PROGRAM))
    static = read_elf(build(compiler, tmp_path / "static", EMPTY_PROGRAM, "-static"))
    assert dynamic is not None
    assert dynamic.interpreter is not None
    assert dynamic.interpreter.is_file()
    assert static is not None
    assert static.interpreter is None


def test_nothing_is_in_the_way_of_an_ordinary_program(library: Path) -> None:
    assert preload_obstacle(Path("/bin/sh"), library, ENVIRONMENT) is None


def test_a_setuid_program_of_another_user_cannot_be_reached(
    compiler: str, library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = build(compiler, tmp_path / "program", EMPTY_PROGRAM)
    program.chmod(0o4755)
    assert preload_obstacle(program, library, ENVIRONMENT) is None
    monkeypatch.setattr(os, "getuid", lambda: program.stat().st_uid + 1)
    assert "setuid" in (preload_obstacle(program, library, ENVIRONMENT) or "")


def test_a_program_for_another_architecture_cannot_be_reached(compiler: str, library: Path, tmp_path: Path) -> None:
    program = build(compiler, tmp_path / "program", EMPTY_PROGRAM)
    image = bytearray(program.read_bytes())
    struct.pack_into("<H", image, 18, 0x1234)
    program.write_bytes(image)
    assert "another architecture" in (preload_obstacle(program, library, ENVIRONMENT) or "")


def test_the_loader_lists_a_programs_libraries_without_running_it(compiler: str, tmp_path: Path) -> None:
    source = f'#include <stdio.h>\nint main(void) {{ fopen("{tmp_path}/ran", "w"); return 0; }}\n'
    program = build(compiler, tmp_path / "program", source)
    assert "libc.so.6" in [path.name for path in libraries_of(program, ENVIRONMENT)]
    assert not (tmp_path / "ran").exists()


@given(st.binary(max_size=200))
def test_any_bytes_behind_the_magic_are_read_without_an_error(body: bytes) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"\x7fELF" + body)
        file.flush()
        read_elf(Path(file.name))
