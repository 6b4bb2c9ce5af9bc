# SPDX-License-Identifier: MIT
"""From a program to classes of its own and back: `hew cut` writes what the library takes."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from conftest import HewRunner, build, is_as_described
from traces import MALLOC, trace_of

HOLDS = """
#include <stdlib.h>
int main(void) {
    for (int i = 0; i < 4000; i++) {
        char *volatile one = malloc(584), *volatile other = malloc(1168); /* above halfway: hew cuts no class to them */
        one[0] = other[0] = 1;
    }
    return 0;
}
"""


def at_exit(program: Path, library: Path, setting: str) -> Any:
    """The program's statistics, under hew with a setting."""
    settings = f"{setting},stats_print:true,stats_print_opts:J".lstrip(",")
    environment = {**os.environ, "LD_PRELOAD": str(library), "HEW_CONF": settings}
    done = subprocess.run([program], env=environment, capture_output=True, text=True, check=True)
    assert "<hew>" not in done.stderr
    return json.loads(done.stderr)["jemalloc"]


def test_a_program_is_recorded_cut_and_run_with_its_classes(
    hew: HewRunner, hew_library: Path, compiler: str, tmp_path: Path
) -> None:
    program = build(compiler, tmp_path / "holds", HOLDS, "-O1", "-fno-builtin")
    trace, saved = tmp_path / "t", tmp_path / "holds.conf"
    assert hew("record", "-o", str(trace), "--", str(program)).returncode == 0
    done = hew("cut", "--json", "--save", str(saved), str(trace))
    assert done.returncode == 0, done.stderr
    document = is_as_described(done.stdout, "cut")
    assert document["worth_it"]
    assert saved.read_text().splitlines()[-1] == document["setting"]
    before, after = (at_exit(program, hew_library, one) for one in ("", f"conf_file:{saved}"))
    assert [one["size"] for one in after["arenas"]["bin"]] == [one["size"] for one in document["classes"]]
    assert after["arenas"]["nbins"] == len(document["classes"])
    least = 4000 * (592 + 1168)
    assert least <= after["stats"]["allocated"] < 1.03 * least < before["stats"]["allocated"]
    assert at_exit(program, hew_library, document["setting"])["arenas"]["bin"] == after["arenas"]["bin"]


def test_what_puts_the_classes_in_force_is_printed_as_a_shell_takes_it(hew: HewRunner, tmp_path: Path) -> None:
    trace = str(trace_of(tmp_path / "t", [(MALLOC, size) for _ in range(2000) for size in (520, 1040)]))
    assert "\nHEW_CONF='classes:8|16|" in hew("cut", trace).stdout
    saved = tmp_path / "a file"
    assert f"\nHEW_CONF='conf_file:{saved}'\n" in hew("cut", "--save", str(saved), trace).stdout
    comma = tmp_path / "a,b"
    assert "HEW_CONF='classes:8|16|" in hew("cut", "--save", str(comma), trace).stdout
    assert comma.read_text() == saved.read_text()


def test_classes_that_are_not_worth_it_leave_a_file_without_a_setting(hew: HewRunner, tmp_path: Path) -> None:
    saved = tmp_path / "file"
    done = hew("cut", "--save", str(saved), str(trace_of(tmp_path / "t", [(MALLOC, 64) for _ in range(5000)])))
    assert done.returncode == 0
    assert "HEW_CONF" not in done.stdout
    lines = saved.read_text().splitlines()
    assert "leave them" in lines[0]
    assert all(line.startswith("# ") for line in lines)


def test_a_name_with_a_newline_brings_no_setting_into_the_file(hew: HewRunner, tmp_path: Path) -> None:
    trace = trace_of(tmp_path / "t", [(MALLOC, size) for _ in range(2000) for size in (520, 1040)])
    hostile = trace.rename(tmp_path / "t\nnarenas:1\x1b[2J")
    saved = tmp_path / "file"
    assert hew("cut", "--save", str(saved), str(hostile)).returncode == 0
    *comments, setting = saved.read_text().splitlines()
    assert all(line.startswith("# ") for line in comments)
    assert setting.startswith("classes:")
    assert "\x1b" not in saved.read_text()


@pytest.mark.parametrize("count", ["0", "64"])
def test_more_classes_than_the_library_has_codes_are_refused(hew: HewRunner, tmp_path: Path, count: str) -> None:
    done = hew("cut", "--count", count, str(trace_of(tmp_path / "t", [(MALLOC, 64)])))
    assert done.returncode == 2
    assert "1<=x<=63" in done.stderr
