#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write docs/tool_output.md: what each command of the tool prints of real programs.

    make tool-output

Runs a Redis under load on hew, and sqlite3, and every command of `hew` on them. Figures are those of the machine it
runs on. Needs redis-server, redis-benchmark and sqlite3; a fleet is played from recorded processes (bench/fleet).
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "tool_output.md"
HEW = ROOT / ".venv" / "bin" / "hew"
MOST = 28  # lines that are shown of an answer
PORT = 6399
SQL = (
    "create table t(a integer primary key, b text);"
    "with recursive c(x) as (select 1 union all select x+1 from c where x<200000) "
    "insert into t select x, hex(x*x) from c; create index i on t(b); select count(*) from t where b>'5';"
)
HEAD = """<!-- SPDX-License-Identifier: MIT -->
# What each command prints

Of real programs: a Redis (`hew run -- redis-server`) while redis-benchmark writes to it, and sqlite3 with 200,000 rows
in memory. Made by `make tool-output`; [tool.md](tool.md) says what the commands do. Long answers end at `…`.
"""
COMMANDS = (
    "hew doctor $PID",
    "hew stats $PID",
    "hew advise $PID",
    "hew top --json $PID",
    "hew ctl $PID stats.allocated",
    "hew ctl $PID --conf dirty_decay_ms:1000",
    "timeout --signal=INT 5 hew watch --every 1 -o redis.watch $PID",
    "hew stats redis.watch",
    "hew profile $PID",
    "hew export --once",
    "hew serve $PID",
    "hew fleet --store figures",
    "hew record -o sql.trace -- sqlite3 :memory: $SQL",
    "hew replay --runs 3 sql.trace",
    "hew simulate sql.trace",
    "hew cut --save sql.conf sql.trace",
    "hew run --conf conf_file:sql.conf -- sqlite3 :memory: $SQL",
    "hew compare --runs 3 -- sqlite3 :memory: $SQL",
    "hew search --trials 2 --try narenas --runs 3 -- sqlite3 :memory: $SQL",
    "hew advise --verify --alloc hew --runs 3 -- sqlite3 :memory: $SQL",
    "hew pools suggest $PID",
    "hew bench --help",
    "hew completion bash",
)


@contextmanager
def redis(folder: Path) -> Iterator[int]:
    """A Redis on hew that is written to, for as long as it is wanted."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    words = [HEW, "run", "--conf", "prof:true", "--", "redis-server", "--port", str(PORT), "--save", ""]
    load = ["redis-benchmark", "-p", str(PORT), "-n", "100000000", "-r", "200000", "-d", "200", "-t", "set", "-q"]
    with subprocess.Popen(words, **quiet) as server:  # type: ignore[call-overload]
        time.sleep(1)
        with subprocess.Popen(load, **quiet) as client:  # type: ignore[call-overload]
            time.sleep(8)
            try:
                yield server.pid
            finally:
                client.terminate()
                server.terminate()


def shown(command: str, folder: Path, pid: int) -> str:
    """The command and what it printed; what serves is ended after some seconds."""
    path = f"{HEW.parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PID": str(pid), "SQL": SQL, "COLUMNS": "110", "PATH": path}
    line = re.sub(r"\$SQL", '"$SQL"', command)
    limit = 6 if command.startswith("hew serve") else 200
    done = subprocess.run(
        ["timeout", "--signal=INT", str(limit), "sh", "-c", line],
        cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    here = done.stdout.replace(str(folder), ".").replace(str(ROOT), ".")
    lines = [re.sub(r"/tmp/hew-\S+/", "", one).rstrip() for one in here.split("\n")]  # noqa: S108
    while lines and not lines[-1]:
        lines.pop()
    lines = [re.sub(r"token=\S+", "token=…", one) for one in lines]
    cut = [*lines[:MOST], "…"] if len(lines) > MOST else lines
    told = command.replace("$PID", str(pid)).replace("$SQL", '"…"')
    name = re.search(r"hew [a-z]+", command)
    assert name is not None  # noqa: S101 - they stand above
    answer = [f"    {one}".rstrip() for one in cut]
    return "\n".join(["", f"## `{name.group()}`", "", f"    $ {told}", *answer, ""])


def main() -> int:
    """Returns the exit status."""
    sys.path.insert(0, str(ROOT / "bench" / "fleet"))
    from load import to_store  # noqa: PLC0415
    from play import Fleet  # noqa: PLC0415

    from hew.sources.fleet.store import NAME, StoreSource  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "figures").mkdir()
        store = StoreSource(folder / "figures" / NAME)
        to_store(Fleet(16, 300.0, time.time()), store)
        store.close()
        with redis(folder) as pid:
            parts = [shown(command, folder, pid) for command in COMMANDS]
    PAGE.write_text(HEAD + "".join(parts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
