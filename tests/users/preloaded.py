#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs that meet jemalloc only by LD_PRELOAD, with LIBRARY: MariaDB, which asks mallctl for the version and shows
it, and Python wheels that bring a jemalloc of their own under other names (polars, pyarrow; fetched with pip).
"""

import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from place import Failure, check, main, running, wait_for

WHEELS = """
import pyarrow as pa, pyarrow.compute as pc, polars as pl
frame = pl.DataFrame({"key": [i % 97 for i in range(300_000)], "value": [float(i) for i in range(300_000)]})
sums = frame.group_by("key").agg(pl.col("value").sum()).sort("key")
assert sums["value"].sum() == 300_000 * 299_999 / 2
pool = pa.jemalloc_memory_pool() if "jemalloc" in pa.supported_memory_backends() else pa.system_memory_pool()
array = pa.array(range(1_000_000), memory_pool=pool)
assert pc.sum(array).as_py() == 999_999 * 1_000_000 // 2
assert pool.bytes_allocated() >= 8_000_000
table = frame.to_arrow()
assert pl.from_arrow(table).equals(frame)
print("wheels:", pl.__version__, pa.__version__, pool.backend_name)
"""


def output_of(command: list[str], environment: dict[str, str]) -> str:
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    if result.returncode != 0:
        raise Failure(f"{command[0]}: status {result.returncode}: {result.stderr[-500:]}")
    return result.stdout.strip()


def mariadb(library: Path, folder: Path) -> None:
    data, socket = folder / "data", folder / "socket"
    install = ["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--auth-root-authentication-method=normal"]
    output_of([*install, "--user=root", "--skip-test-db"], dict(os.environ))
    command = ["mariadbd", "--no-defaults", f"--datadir={data}", f"--socket={socket}", "--skip-networking"]
    client = ["mariadb", "--no-defaults", f"--socket={socket}", "--user=root", "--batch", "--skip-column-names", "-e"]
    preloaded = {**os.environ, "LD_PRELOAD": str(library.resolve())}
    with running([*command, "--user=root"], preloaded, folder / "log") as process:
        wait_for("mariadbd", socket.exists, process)
        found = output_of([*client, "SELECT @@version_malloc_library"], dict(os.environ))
        check(found.startswith("jemalloc 5."), f"version_malloc_library is {found}")
        rows = output_of([*client, "SELECT COUNT(*), SUM(seq) FROM mysql.seq_1_to_100000"], dict(os.environ))
        check(rows.split() == ["100000", "5000050000"], "a query has the right answer")


def wheels(library: Path, folder: Path) -> None:
    venv.create(folder / "venv", with_pip=True)
    python = str(folder / "venv/bin/python")
    output_of([python, "-m", "pip", "install", "--quiet", "polars", "pyarrow"], dict(os.environ))
    words = output_of([python, "-c", WHEELS], {**os.environ, "LD_PRELOAD": str(library.resolve())})
    check("wheels:" in words, words)


def run(library: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="compat-") as folder:
        if shutil.which("mariadbd") is None:
            print("  mariadbd is not installed, left out")
        else:
            mariadb(library, Path(folder))
        wheels(library, Path(folder))


if __name__ == "__main__":
    sys.exit(main(run, "preloaded"))
