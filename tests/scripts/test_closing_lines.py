# SPDX-License-Identifier: MIT
"""What CI prints at its end: a runner's last line, what failed, and what passed at its second try only."""

from pathlib import Path

import closing_lines
import pytest

LOG = """\
prepare: making .venv
check_format: 3 files, 0 not as they should be
a line of a compiler
Test project /somewhere/build/release
    Start 1: preload.stress
1/3 Test #1: preload.stress ...................***Failed    0.01 sec
bad
    Start 1: preload.stress
    Test #1: preload.stress ...................   Passed    0.01 sec
2/3 Test #2: preload.fork .....................Subprocess aborted***Exception:   0.01 sec
    Test #2: preload.fork .....................Subprocess aborted***Exception:   0.02 sec
3/3 Test #3: unit.os.clock ....................   Passed    0.00 sec
67% tests passed, 1 tests failed out of 3
\t  2 - preload.fork (Subprocess aborted)
Test project /somewhere/build/dev
1/1 Test #2: preload.fork .....................   Passed    0.00 sec
2/2 Test #4: preload.exit .....................***Timeout   1.00 sec
    Test #4: preload.exit .....................   Passed    0.00 sec
3/3 Test #5: preload.locked ...................***Skipped   0.00 sec
100% tests passed, 0 tests failed out of 1

The following tests did not run:
\t  5 - preload.locked (Skipped)
7 passed, 0 failed, 2 skipped
pytest tool/tests
RERUN tool/tests/test_top.py::test_a_list[of - two words]
E       assert 1 == 2
PASSED tool/tests/test_top.py::test_a_list[of - two words]
RERUN tool/tests/test_live.py::test_rows
RERUN tool/tests/test_live.py::test_gone
FAILED tool/tests/test_live.py::test_rows - assert 1 == 2
ERROR tool/tests/test_live.py::test_gone
1 failed, 2 passed, 4 skipped, 3 rerun in 2.54s
make: *** [Makefile:164: test-python] Error 1
"""
SAID = """\
prepare: making .venv
check_format: 3 files, 0 not as they should be
67% tests passed, 1 tests failed out of 3
\t  2 - preload.fork (Subprocess aborted)
100% tests passed, 0 tests failed out of 1
\t  5 - preload.locked (Skipped)
7 passed, 0 failed, 2 skipped
1 failed, 2 passed, 4 skipped, 3 rerun in 2.54s
make: *** [Makefile:164: test-python] Error 1
flaky: preload.stress (release)
flaky: preload.exit (dev)
flaky: tool/tests/test_top.py::test_a_list[of - two words]
skipped: 7
"""


def test_the_runners_last_lines_come_first_and_then_what_needed_a_second_try(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "log").write_text(LOG)
    assert closing_lines.main([str(tmp_path / "log")]) == 0
    assert capsys.readouterr().out == SAID


def test_a_log_in_which_all_passed_at_once_has_no_flaky_one() -> None:
    assert list(closing_lines.flaky(["1/1 Test #3: unit.os.clock ....   Passed    0.00 sec", "4 passed in 1 s"])) == []


@pytest.mark.parametrize(("most", "status"), [("7", 0), ("6", 1)])
def test_more_skipped_tests_than_may_be_are_a_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], most: str, status: int
) -> None:
    (tmp_path / "log").write_text(LOG)
    assert closing_lines.main(["--most-skipped", most, str(tmp_path / "log")]) == status
    assert capsys.readouterr().out.endswith(f"skipped: 7, {most} at most\n")


def test_a_log_that_is_not_there_is_told_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert closing_lines.main([str(tmp_path / "log")]) == 1
    assert capsys.readouterr().err == f"closing_lines: {tmp_path}/log: No such file or directory\n"
