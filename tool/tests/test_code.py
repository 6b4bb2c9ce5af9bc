# SPDX-License-Identifier: MIT
"""What a file brings of memory management, and that no file can do harm to its reader."""

import os
import random
import subprocess
from pathlib import Path

import pytest

from conftest import build
from hew.sources.code import knows_setting, read_code
from stubs import PREFIXED, SLEEPER


@pytest.mark.parametrize("flags", [(), ("-static",), ("-m32",)])
def test_a_damaged_program_is_read_as_something_or_as_nothing(
    compiler: str, tmp_path: Path, flags: tuple[str, ...]
) -> None:
    try:
        program = build(compiler, tmp_path / "program", SLEEPER, *flags)
    except subprocess.CalledProcessError:
        pytest.skip(f"cannot compile with {flags}")
    whole = program.read_bytes()
    generator = random.Random(1)  # noqa: S311
    for _ in range(60):
        image = bytearray(whole)
        for _ in range(40):
            where = generator.choice(
                (generator.randrange(1024), generator.randrange(len(image)), -generator.randrange(4096))
            )
            image[where] = generator.randrange(256)
        program.write_bytes(image[: generator.choice((len(image), generator.randrange(len(image))))])
        read_code(program)


def test_what_is_no_regular_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert read_code(tmp_path / "pipe") is None
    assert read_code(Path("/dev/zero")) is None
    assert knows_setting(tmp_path / "pipe", "narenas")


def test_the_prefix_is_told_by_functions_and_by_the_variable_where_those_are_stripped(
    compiler: str, tmp_path: Path
) -> None:
    named = read_code(build(compiler, tmp_path / "named", PREFIXED))
    stripped = read_code(build(compiler, tmp_path / "stripped", PREFIXED, "-s"))
    for code in (named, stripped):
        assert code is not None
        assert (code.kind, code.prefix, code.variable, code.serves) == ("jemalloc", "je_", "JE_MALLOC_CONF", False)


def test_a_program_that_exports_its_own_malloc_serves_it_and_one_that_hides_it_is_told(
    compiler: str, tmp_path: Path
) -> None:
    source = (
        "#include <stddef.h>\nvoid *malloc(size_t size) { return size ? NULL : NULL; }\nint main(void) { return 0; }\n"
    )
    open_one = read_code(build(compiler, tmp_path / "open", source, "-rdynamic"))
    hiding = read_code(build(compiler, tmp_path / "hiding", source, "-fvisibility=hidden"))
    assert open_one is not None
    assert (open_one.serves, open_one.hidden) == (True, False)
    assert hiding is not None
    assert (hiding.serves, hiding.hidden) == (False, True)
