# SPDX-License-Identifier: MIT
"""What the Debian packages have inside does not depend on the interpreter that built them."""

from pathlib import Path

import build_debs


def test_programs_that_name_their_interpreter_leave_no_trace(tmp_path: Path) -> None:
    record = tmp_path / "idna-3.20.dist-info/RECORD"
    record.parent.mkdir()
    record.write_text("../../bin/idna,sha256=AAAA,224\nidna/core.py,sha256=BBBB,13239\n")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/idna").write_text("#!/the/folder/of/this/checkout/.venv/bin/python\n")
    build_debs.leave_programs_out(tmp_path)
    assert not (tmp_path / "bin").exists()
    assert record.read_text() == "idna/core.py,sha256=BBBB,13239\n"
