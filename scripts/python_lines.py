#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The share of bytes that have a line of Python, in ten programs: hew record beside memray.

    make python-lines    # brings the programs and memray into build/python-lines, prints a table for whole_run.md

Both look at the peak of a run. hew counts objects of malloc and of the interpreter's own allocator. Of memray's records
the same are taken: its maps of pages would count the interpreter's arenas once more. memray begins when the program
does. Of hew the table says the share of all bytes, and of those after the interpreter's start, which has no line. The
last column says how many of the ten places (file, function, line) with most bytes both name.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = (
    "memray pygments docutils markdown pylint yapf sympy networkx sqlalchemy pandas beautifulsoup4".split()  # noqa: SIM905
)
LINE = re.compile(r"(?:\.py|>):[^;]+:\d+$")
TOP = 10
PARAGRAPH = "Title {0}\n========\n\nSome *text* with `code` and a [link](page/{0}).\n"
TEXT = "\n".join(PARAGRAPH.format(number) for number in range(400))
PROGRAMS = {
    "pygments": """
import inspect, pygments, pygments.lexers, pygments.formatters, typing
kept = pygments.highlight(inspect.getsource(typing), pygments.lexers.PythonLexer(), pygments.formatters.HtmlFormatter())
""",
    "docutils": """
import docutils.core, pathlib
text = pathlib.Path("text").read_text()
kept = docutils.core.publish_string(text, writer="html", settings_overrides={"report_level": 5})
""",
    "markdown": """
import markdown, pathlib
kept = markdown.markdown(pathlib.Path("text").read_text())
""",
    "pylint": """
import argparse, io, pylint.lint, pylint.reporters.text
report = pylint.reporters.text.TextReporter(io.StringIO())
kept = pylint.lint.Run([argparse.__file__, "--disable=all", "--enable=E"], reporter=report, exit=False)
""",
    "yapf": """
import inspect, textwrap, yapf.yapflib.yapf_api
kept = yapf.yapflib.yapf_api.FormatCode(inspect.getsource(textwrap))
""",
    "sympy": """
import sympy
x = sympy.symbols("x")
kept = [sympy.integrate(sympy.exp(-x) * x ** n, x) for n in range(6)]
""",
    "networkx": """
import networkx
graph = networkx.gnm_random_graph(3000, 12000, seed=1)
kept = dict(networkx.all_pairs_shortest_path_length(graph.subgraph(range(600))))
""",
    "sqlalchemy": """
import sqlalchemy as sa
engine = sa.create_engine("sqlite://")
table = sa.Table("t", sa.MetaData(), sa.Column("i", sa.Integer, primary_key=True), sa.Column("s", sa.String))
table.create(engine)
with engine.begin() as connection:
    connection.execute(table.insert(), [{"i": i, "s": "x" * (i % 50)} for i in range(20000)])
    kept = connection.execute(sa.select(table)).fetchall()
""",
    "pandas": """
import numpy, pandas
frame = pandas.DataFrame({"key": numpy.arange(500000) % 1000, "value": numpy.random.default_rng(1).random(500000)})
kept = frame.groupby("key").agg(["mean", "std"])
""",
    "beautifulsoup4": """
import bs4
kept = bs4.BeautifulSoup("<html>" + "<p class=a>some <b>bold</b> text</p>" * 5000, "html.parser")
""",
}
READ = """
import json, sys, memray
counted = [0, 0, {}]
for one in memray.FileReader(sys.argv[1]).get_high_watermark_allocation_records(merge_threads=True):
    if memray.AllocatorType(one.allocator).name in ("MMAP", "MUNMAP"):
        continue
    counted[0] += one.size
    stack = one.stack_trace()
    if stack:
        function, file, line = stack[0]
        counted[1] += one.size
        place = f"{file.rpartition('/')[2]}:{function}:{line}"
        counted[2][place] = counted[2].get(place, 0) + one.size
print(json.dumps(counted))
"""


def of_hew(python: Path, program: Path, folder: Path) -> tuple[float, float, Counter[str]]:
    """The shares of all bytes and of those after the start that have a line of Python, and the bytes of each innermost
    line."""
    hew: list[str | Path] = [sys.executable, "-m", "hew"]
    trace = folder / "trace"
    subprocess.run(
        [*hew, "record", "--stacks", "all", "-o", trace, "--", python, program],
        check=True, capture_output=True, cwd=folder,
    )  # fmt: skip
    said = subprocess.run([*hew, "profile", "--collapsed", trace], check=True, capture_output=True, text=True).stdout
    whole, started, named, places = 0, 0, 0, Counter[str]()
    for line in said.splitlines():
        stack, _, amount = line.rpartition(" ")
        names = stack.split(";")
        found = [name for name in names if LINE.search(name)]
        whole += int(amount)
        started += int(amount) if found or "Py_RunMain" in names else 0
        if found:
            named += int(amount)
            places[_plain(found[-1])] += int(amount)
    return named / whole, named / started, places


def of_memray(python: Path, program: Path, folder: Path) -> tuple[float, Counter[str]]:
    """The same."""
    file = folder / "memray.bin"
    words: list[str | Path] = [python, "-m", "memray", "run", "-q", "--trace-python-allocators", "-o", file, program]
    subprocess.run(words, check=True, capture_output=True, cwd=folder)
    said = subprocess.run([python, "-c", READ, file], check=True, capture_output=True, text=True).stdout
    whole, named, places = json.loads(said)
    found = Counter[str]()
    for place, size in places.items():
        found[_plain(place)] += size
    return named / whole, found


def _plain(place: str) -> str:
    """hew names a function by its class as well, memray does not."""
    file, function, line = re.fullmatch(r"(.*):([^:]+):(\d+)", place).groups()  # type: ignore[union-attr]
    return f"{file}:{function.rpartition('.')[2]}:{line}"


def environment(folder: Path, packages: Sequence[str]) -> Path:
    """The Python of a virtual environment with these packages, which is made if it is not there."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True)
    return python


def measured(python: Path) -> Iterator[str]:
    """A row for each program."""
    yield "| program | hew, of all bytes | hew, after the start | memray | same of the ten largest places |"
    yield "|---|---:|---:|---:|---:|"
    for name, source in PROGRAMS.items():
        with tempfile.TemporaryDirectory(prefix="hew-python-lines-") as place:
            folder = Path(place)
            (folder / "text").write_text(TEXT)
            (folder / "program.py").write_text(source)
            of_all, ours, here = of_hew(python, folder / "program.py", folder)
            theirs, there = of_memray(python, folder / "program.py", folder)
        same = {place for place, _ in here.most_common(TOP)} & {place for place, _ in there.most_common(TOP)}
        yield f"| {name} | {of_all:.2%} | {ours:.2%} | {theirs:.2%} | {len(same)} |"


def main() -> int:
    """Brings what is needed, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--environment", type=Path, default=ROOT / "build" / "python-lines")
    python = environment(parser.parse_args().environment, PACKAGES)
    os.environ.pop("PYTHONMALLOC", None)
    for row in measured(python):
        print(row, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
