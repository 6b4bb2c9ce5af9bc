# SPDX-License-Identifier: MIT
"""What is printed for pasting into a shell is a command there, and means what it says."""

import io
import re
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import click
import pytest
from rich.console import Console

from hew.analysis.advice.rules import advise
from hew.cli import main
from hew.model.advice import MALLOC_CONF, Advice, Case, Setting
from hew.sources.statistics.stream import read_statistics
from hew.views.advice_text import show_advice

DATA = Path(__file__).parent / "data" / "statistics"
DOCUMENTS = Path(__file__).parents[2] / "docs"
MADE = {"tool_output.md"}  # what the commands print, not what is typed
PAGES = [one for top in ("docs/**/*.md", "*.md") for one in sorted(DOCUMENTS.parent.glob(top)) if one.name not in MADE]
# After `$`, in a block, or between backticks; `hew x:` is an answer.
NAMED = re.compile(r"(?:^ {4,}(?:\$ )?|^\$ |`)((?:[A-Z_]+=\S+ +)*(?:\S*/)?hew [a-z]+\b(?![:-])[^`\n]*)", re.MULTILINE)
END = {";", "|", "&&", ">", "…"}


def shown(found: list[Advice]) -> str:
    """As a terminal shows it."""
    console = Console(file=io.StringIO(), width=200)
    show_advice(found, [], console)
    text = console.file
    assert isinstance(text, io.StringIO)
    return text.getvalue()


def tried(text: str) -> list[str]:
    """The lines that say what to set."""
    return [line.split(maxsplit=1)[1] for line in text.splitlines() if line.split()[:1] == ["try"]]


def reaches_a_program(line: str) -> str:
    """What a program that a shell starts with these settings has in its environment."""
    done = subprocess.run(
        ["sh", "-c", f"{line} env"], capture_output=True, text=True, check=True, env={"PATH": "/bin:/usr/bin"}
    )
    return done.stdout


@pytest.mark.parametrize("path", sorted(DATA.glob("*.gz")), ids=lambda path: path.name)
def test_every_setting_of_recorded_reports_reaches_a_program_as_it_was_meant(path: Path) -> None:
    found = [one for snapshot in read_statistics(str(path)).snapshots for one in advise(Case(snapshot))]
    lines = tried(shown(found))
    assert len(lines) == sum(bool(one.settings) for one in found)
    for line, advice in zip(lines, (one for one in found if one.settings), strict=True):
        assert f"{MALLOC_CONF}={advice.conf()}\n" in reaches_a_program(line)


@pytest.mark.parametrize("value", ["1-1:2|3-3:4", "a b", "$(exit)", "it's", "x;y", "*", "&"])
def test_a_value_of_any_letters_is_one_word_of_the_shell(value: str) -> None:
    (plain,) = [
        one
        for snapshot in read_statistics(str(DATA / "provoked-5.3.1-slab-sizes.json.gz")).snapshots
        for one in advise(Case(snapshot))
        if one.rule == "slab-sizes"
    ]
    settings = (Setting("slab_sizes", value), Setting("arena_max", value, variable="MALLOC_ARENA_MAX"))
    (line,) = tried(shown([replace(plain, settings=settings)]))
    has = reaches_a_program(line)
    assert f"{MALLOC_CONF}=slab_sizes:{value}\n" in has
    assert f"MALLOC_ARENA_MAX={value}\n" in has


def commands(path: Path) -> list[str]:
    """A document's indented lines that begin with one of our commands, joined; `hew x:` is an answer."""
    text = path.read_text().replace("\\\n", " ")
    return re.findall(r"^ {4}((?:[A-Z_]+=\S+ +)*(?:\.venv/bin/)?hew [a-z]+\b(?!:).*)$", text, re.MULTILINE)


@pytest.mark.parametrize(
    "path", sorted([*DOCUMENTS.glob("*.md"), DOCUMENTS.parent / "README.md"]), ids=lambda path: path.name
)
def test_every_command_of_the_documents_is_one_for_the_shell(path: Path) -> None:
    for line in commands(path):
        if {"[", "|", "…", "<"} & set(line):  # a line of usage, not of use
            continue
        subprocess.run(["sh", "-n", "-c", line], check=True, capture_output=True)
        assert "hew" in {Path(word).name for word in shlex.split(line)}


def unknown(line: str) -> str:
    """What the tool's own parser does not know in a command line: a command or an option; nothing: it knows all."""
    typed = re.split(r"\s{2,}|\s#\s", line)[0]  # what it does stands behind
    words = [word for word in shlex.split(typed) if not re.match(r"[A-Z_]+=", word)][1:]
    words = words[: next((at for at, word in enumerate(words) if word in END), len(words))]
    command: click.Command = main
    context = click.Context(main, info_name="hew")
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        found = command.get_command(context, words[0])
        if found is None:
            return words[0]
        command, context = found, click.Context(found, info_name=words.pop(0))
    try:
        command.make_parser(context).parse_args(words)
    except click.NoSuchOption as error:
        return error.option_name
    except click.UsageError:  # an option is only named, without its value
        pass
    return ""


def test_a_command_or_an_option_that_is_gone_is_found() -> None:
    assert unknown("hew nonsense 1") == "nonsense"
    assert unknown(".venv/bin/hew watch --often PID") == "--often"
    assert unknown("A=b hew pools suggest report # text") == ""


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_commands_and_options_that_a_page_names_are_there(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"\s*\\\n\s*", " ", text)
    found = {line: wrong for line in NAMED.findall(text) if (wrong := unknown(line))}
    assert not found
