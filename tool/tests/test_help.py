# SPDX-License-Identifier: MIT
"""`hew --help`: the commands by what one wants, a line each."""

import re
from pathlib import Path

from click.testing import CliRunner

from hew.cli import COMMANDS, GROUPS, main


def test_it_groups_the_commands_by_what_one_wants_a_line_each() -> None:
    said = CliRunner().invoke(main, ["--help"], terminal_width=80).output
    _, title, listed = said.partition("Run and compare:")
    said = title + listed
    assert re.findall(r"^(\w[\w ]*):$", said, re.MULTILINE) == list(GROUPS)
    shown = dict(re.findall(r"^  ([a-z]+) +(\S.*\.)$", said, re.MULTILINE))
    assert shown == COMMANDS
    assert sum(len(group) for group in GROUPS.values()) == len(COMMANDS)


def test_the_manual_page_has_the_same_words() -> None:
    page = (Path(__file__).parents[2] / "packaging/man/hew.1").read_text(encoding="utf-8")
    assert dict(re.findall(r"^\.TP\n\.B ([a-z]+)\n(.*)$", page, re.MULTILINE)) == COMMANDS
    assert re.findall(r"^\.SS (.*)$", page, re.MULTILINE) == list(GROUPS)
