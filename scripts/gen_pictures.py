#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draw what the tool prints, as pictures for the pages: docs/img/NAME.svg.

    .venv/bin/python scripts/gen_pictures.py [NAME...]

Each picture is a short session in a terminal: its commands really run, on small programs of this checkout, on sqlite3
and on redis-server; what they print is drawn with its colors. Look at each before it is committed.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs/img"
WIDTH = 100  # characters
LINE, CHARACTER, EDGE = 24.4, 12.2, 12  # units of the picture: as Rich sets them, and the space around all
COLORS = [(180, 35, 35), (20, 125, 100), (150, 95, 0), (20, 95, 150), (125, 60, 140), (15, 110, 125)]
THEME = TerminalTheme(
    (255, 255, 255),
    (36, 41, 46),
    [(36, 41, 46), *COLORS, (90, 99, 110)],
    [(110, 119, 129), *COLORS, (60, 66, 72)],
)
# Rich's own form names fonts of another host, and draws the frame of a window.
FORM = """\
<svg viewBox="0 0 SIZE" xmlns="http://www.w3.org/2000/svg">
<style>.{unique_id}-matrix {{ font: {char_height}px/{line_height}px ui-monospace, "DejaVu Sans Mono", monospace; }}
{styles}</style>
<defs>{lines}</defs>
<rect width="100%" height="100%" rx="6" fill="#ffffff" stroke="#d0d7de"/>
<g transform="translate(12, 12)">{backgrounds}<g class="{unique_id}-matrix">{matrix}</g></g>
</svg>
"""
TWICE = "#include <stdlib.h>\nint main(void) { void *p = malloc(60), *q = malloc(60); free(p); free(q); free(p); }\n"
REDIS = "redis-server --port 6398 --save '' --dir . >/dev/null"
LOAD = "redis-benchmark -p 6398 -n 100000 -r 50000 -d 200 -t set -q >/dev/null"
SQL = (
    "create table t(a integer primary key, b text); with recursive c(x) as (select 1 union all select x+1 from c where "
    "x<100000) insert into t select x, hex(x*x) from c; create index i on t(b); select count(*) from t;"
)

PYTHON = """
def read(count):
    return [str(number) * 10 for number in range(count)]

def count(lines):
    return {line: len(line) for line in lines}

lines = read(200000)
table = count(lines)
"""
# Each thread keeps what it has allocated.
THREADS = """
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
static void *volatile last;
__attribute__((noinline)) static void take(int count) { while (count-- > 0) last = malloc(1000); }
static void *run(void *name) { pthread_setname_np(pthread_self(), name); take(3000); return NULL; }
int main(void) {
    char *names[] = {"reader", "parser", "writer"};
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, run, names[i]);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    take(500);
}
"""


class Session:
    """Commands for one picture: what is run unseen before them, and the lines that are shown of each."""

    def __init__(self, *commands: str, before: str = "", most: int = 24) -> None:
        self.commands, self.before, self.most = commands, before, most


ON_HEW = f"hew run --conf prof:true,lg_prof_sample:12 -- {REDIS} & PID=$!; sleep 1; {LOAD}"
FILES = {"twice.c": TWICE, "job.sql": SQL, "job.py": PYTHON, "threads.c": THREADS}
C = "cc -O1 -fno-builtin -pthread -o"
RECORDED = f"{C} job programs/whole.c; hew record --stacks all -o job.trace -- ./job"
CHANGED = f"sed '/i < 1000;/s/1000/3000/' programs/whole.c > new.c; {C} new new.c"
OTHER = f"{CHANGED}; hew record --stacks all -o new.trace -- ./new"
LOST = f"{C} job programs/lost.c; hew record --stacks all -o job.trace -- ./job"
BY_THREAD = f"{C} job threads.c; hew record --stacks all -o job.trace -- ./job"
SESSIONS = {
    "hardening": Session("LD_PRELOAD=$HEW ./twice", "MALLOC_CONF=hardening:check LD_PRELOAD=$HEW ./twice",
                         before="cc -O0 -o twice twice.c"),
    "control": Session("hew ctl $PID stats.allocated", "hew ctl $PID --purge",
                       "hew ctl $PID --conf dirty_decay_ms:1000,narenas:2",
                       before=ON_HEW),
    "doctor": Session("hew doctor $PID", before="hew run -- sleep 30 & PID=$!; sleep 2"),
    "heap_profile": Session("hew profile $PID 2>/dev/null", before=ON_HEW, most=16),
    "run_reachable": Session("hew profile --leaks --cum --rows 10 job.trace", before=LOST),
    "run_count": Session("hew profile --count --rows 4 job.trace", before=RECORDED),
    "run_at": Session("hew profile --at 0.01 --rows 3 job.trace", "hew profile --between 0 1 --rows 3 job.trace",
                      before=RECORDED),
    "run_sizes": Session("hew profile --sizes job.trace", before=RECORDED, most=40),
    "run_diff": Session("hew profile --leaks --diff job.trace --rows 3 new.trace", before=f"{RECORDED}; {OTHER}"),
    "run_forms": Session("hew profile --leaks --collapsed job.trace", "hew profile --pprof job.pb.gz job.trace",
                         "hew profile --json --rows 1 job.trace | head -n 12", before=RECORDED),
    "run_threads": Session("hew profile --leaks --by thread --collapsed job.trace", before=BY_THREAD),
    "run_python": Session("hew record --stacks all -o py.trace -- python3 job.py", "hew profile --rows 5 py.trace"),
    "run_running": Session("hew record --stacks all --seconds 2 -o redis.trace $PID",
                           "hew profile --rows 6 redis.trace", before=f"{ON_HEW}; {LOAD} &"),
    "run_replay": Session("hew replay job.trace 2>/dev/null", before=RECORDED, most=60),
    "cut": Session("hew record -o job.trace -- sqlite3 :memory: < job.sql", "hew cut --save job.conf job.trace"),
}  # fmt: skip


def run_session(session: Session, folder: Path) -> list[tuple[str, str]]:
    """Each command with what it printed, in a shell of its own for all of them."""
    mark = "\x1emark\x1e"
    script = [session.before, *(f"printf '{mark}'; {command}" for command in session.commands)]
    environment = {
        **os.environ, "COLUMNS": str(WIDTH), "FORCE_COLOR": "1", "TERM": "xterm-256color", "HEW": "./libhew.so",
        "PATH": f"{ROOT / '.venv/bin'}:{os.environ['PATH']}",
    }  # fmt: skip
    ended = '\n[ -z "$PID" ] || { kill $PID && wait $PID; } 2>/dev/null\n'
    done = subprocess.run(
        ["sh", "-c", "\n".join(script) + ended], cwd=folder, env=environment, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, check=False,
    )  # fmt: skip
    said = done.stdout.replace(str(folder) + "/", "").replace(str(ROOT), "hew").split(mark)[1:]
    return list(zip(session.commands, said, strict=True))


def draw(name: str, folder: Path) -> str:
    """The picture of a session."""
    session = SESSIONS[name]
    console = Console(record=True, width=WIDTH, file=open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
    for number, (command, said) in enumerate(run_session(session, folder)):
        if number:
            console.print()
        console.print(Text(f"$ {command}", style="bold"))
        lines = said.rstrip("\n").split("\n") if said.strip() else []
        for line in lines[: session.most]:
            console.print(Text.from_ansi(line))
        if len(lines) > session.most:
            console.print("…")
    height = round(console.export_text(clear=False).count("\n") * LINE + 2 * EDGE)
    size = f"{round(WIDTH * CHARACTER + 2 * EDGE)} {height}"
    drawn = console.export_svg(title="", theme=THEME, code_format=FORM, unique_id=f"hew-{name}")
    return re.sub(r"[ \t]+\n", "\n", drawn.replace("SIZE", size, 1))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[[], *SESSIONS])
    for name in parser.parse_args(arguments).names or list(SESSIONS):
        with tempfile.TemporaryDirectory() as path:
            folder = Path(path)
            (folder / "libhew.so").symlink_to(ROOT / "build/release/libhew.so")
            (folder / "programs").symlink_to(ROOT / "tool/tests/programs")
            for file, text in FILES.items():
                (folder / file).write_text(text)
            began = time.monotonic()
            (PICTURES / f"{name}.svg").write_text(draw(name, folder), encoding="utf-8")
            print(f"gen_pictures: docs/img/{name}.svg in {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
