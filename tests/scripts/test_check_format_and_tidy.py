# SPDX-License-Identifier: MIT
"""check_format finds what is laid out otherwise; check_tidy looks at what a change concerns."""

import json
from pathlib import Path

import check_format
import check_tidy
import pytest


@pytest.fixture
def formatter() -> str:
    found = check_format.find_formatter(check_format.wanted_version())
    if found is None:
        pytest.skip("no clang-format of the pinned version")
    return found


def test_only_a_crooked_file_is_found_and_fixed(formatter: str, tmp_path: Path) -> None:
    (tmp_path / ".clang-format").write_text((check_format.ROOT / ".clang-format").read_text())
    straight, crooked = tmp_path / "straight.c", tmp_path / "crooked.c"
    straight.write_text("int one;\n")
    crooked.write_text("int   two;\n")
    assert check_format.crooked(formatter, [straight, crooked]) == [crooked]
    assert check_format.main([str(straight)]) == 0
    assert check_format.main([str(straight), str(crooked)]) == 1
    assert check_format.main(["--fix", str(crooked)]) == 0
    assert crooked.read_text() == "int two;\n"


def test_another_version_is_not_taken() -> None:
    assert check_format.find_formatter("1.2.3") is None


def test_a_change_concerns_its_files_and_one_that_includes_its_header() -> None:
    source = check_tidy.ROOT / "src"
    files = [source / "page" / "heap.c", source / "page" / "stock.c", source / "os" / "clock.c"]
    assert check_tidy.changed(files, ["src/os/clock.c"]) == [files[2]]
    assert check_tidy.changed(files, ["src/page/stock.h"]) == [files[1]]
    assert check_tidy.changed(files, ["include/hew/hew.h"]) == []
    assert check_tidy.changed(files, [".clang-tidy"]) == files


def test_where_the_commit_is_unknown_everything_has_changed(capsys: pytest.CaptureFixture[str]) -> None:
    files = [check_tidy.ROOT / "src" / "os" / "clock.c"]
    assert check_tidy.changed(files, check_tidy.changed_since("no-such-commit")) == files
    assert "no commit no-such-commit here" in capsys.readouterr().out


def test_the_commands_for_clang_leave_out_what_only_gcc_knows(tmp_path: Path) -> None:
    file = check_tidy.ROOT / "src" / "os" / "clock.c"
    (tmp_path / "compile_commands.json").write_text(
        f'[{{"directory": "/", "command": "cc -O2 -fno-tree-slsr -DHEW_CHECK_LEVEL=0 -c {file}", "file": "{file}"}},'
        f'{{"directory": "/", "command": "cc -c x.c", "file": "/x.c"}}]'
    )
    assert check_tidy.write_database(tmp_path, tmp_path / "tidy") == [file]
    text = (tmp_path / "tidy" / "compile_commands.json").read_text()
    assert "-O2 -DHEW_CHECK_LEVEL=1" in text
    assert "slsr" not in text
    assert "x.c" not in text


def test_a_file_that_a_test_compiles_its_own_way_is_looked_at_once_and_as_the_library_has_it(tmp_path: Path) -> None:
    file = check_tidy.ROOT / "src" / "os" / "clock.c"
    commands = [
        f"cc -DTEST -o tests/x.dir/clock.c.o -c {file}",
        f"cc -o CMakeFiles/hew_os_objects.dir/clock.c.o -c {file}",
    ]
    commands += [commands[0]]
    entries = [{"directory": "/", "command": command, "file": str(file)} for command in commands]
    (tmp_path / "compile_commands.json").write_text(json.dumps(entries))
    assert check_tidy.write_database(tmp_path, tmp_path / "tidy") == [file]
    kept = json.loads((tmp_path / "tidy" / "compile_commands.json").read_text())
    assert [entry["command"] for entry in kept] == [commands[1]]
