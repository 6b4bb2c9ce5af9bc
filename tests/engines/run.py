#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`hew export` against real engines, on loopback: scrapes, remote write, and an engine that is killed again and again.

    run.py [--kills N] [--series N] [ENGINE...]        ENGINE: prometheus, victoria-metrics; those that are installed

For each engine: a real process on hew is scraped, and sent by remote write; then, under load, the engine is killed
(SIGKILL) and started again N times, and the sender twice.  Each series must have each sample once.
VictoriaMetrics acknowledges samples some seconds before they are on disk; for it the sender replays what was
acknowledged in the last 10 s, and the engine drops duplicates, as docs/metrics.md says.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from engines import ENGINES, PATIENCE, Engine, EngineError, free_port, wait_until

ROOT = Path(__file__).parent.parent.parent
LIBRARY = ROOT / "build/release/libhew.so"
SCRAPED = "hew_allocated_bytes"
LOADED = "hew_load_total"


def hew(*words: str) -> list[str]:
    return [sys.executable, "-m", "hew", *words]


def checked_scrape(engine: Engine, folder: Path) -> None:
    """A process on hew comes to the engine both ways."""
    port = free_port()
    target = [{"targets": [f"127.0.0.1:{port}"]}]
    jobs = [{"job_name": "scraped", "scrape_interval": "1s", "static_configs": target}]
    (folder / "scrape.yml").write_text(json.dumps({"scrape_configs": jobs}))  # JSON is YAML
    environment = {**os.environ, "LD_PRELOAD": str(LIBRARY), "HEW_CONF": "control:auto", "OTEL_SERVICE_NAME": "subject"}
    subject = subprocess.Popen(["/bin/sh", "-c", "read line"], stdin=subprocess.PIPE, env=environment)
    engine.start(folder)
    url = f"http://127.0.0.1:{engine.port}{engine.write}"
    options = ["--listen", f"127.0.0.1:{port}", "--remote-write", url, "--every", "1", "--queue", str(folder / "own")]
    exporter = subprocess.Popen(hew("export", *options, "--label", "job=sent"))
    try:
        for job in ("scraped", "sent"):
            wanted = f'{SCRAPED}{{job="{job}",service_name="subject"}} > 0'
            wait_until(lambda wanted=wanted: len(engine.ask(wanted)) == 1, f"{engine.name} has no {wanted}")  # type: ignore[misc]
        subject.kill()
        subject.wait()
        gone = f'{SCRAPED}{{service_name="subject"}}'
        wait_until(lambda: not engine.ask(gone), f"{engine.name}: a process that has ended is still there")
    finally:
        for process in (subject, exporter):
            process.kill()
            process.wait()
        engine.end(signal.SIGTERM)


def checked_kills(engine: Engine, folder: Path, kills: int, series: int) -> str:
    """Nothing is missed or doubled while the engine is killed; a sentence with the figures."""
    (folder / "scrape.yml").write_text("{}")
    seconds, looks = 0.2, int((kills * 2.5 + 5) / 0.2)
    engine.start(folder)
    url = f"http://127.0.0.1:{engine.port}{engine.write}"
    words = [str(ROOT / "tests/engines/load.py"), url, str(folder / "queue"), str(series), str(looks)]
    words += [str(time.time()), str(seconds), str(engine.replay)]

    def load() -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE)

    sender = load()
    try:
        for kill in range(kills):
            time.sleep(1.7)
            engine.end(signal.SIGKILL)
            if kill in {kills // 3, 2 * kills // 3}:
                sender.kill()
                sender.wait()
                sender = load()
            time.sleep(0.3)
            engine.start(folder)
        said = sender.communicate(timeout=PATIENCE + looks * seconds)[0].decode().strip()
        wait_until(lambda: len(engine.ask(f"{LOADED}[30m]")) == series, f"{engine.name} has not all series")
        problems = ""
        until = time.monotonic() + 10
        while (problems := compare(engine, series, looks)) and time.monotonic() < until:
            time.sleep(0.5)  # an engine shows what it has taken a moment later
        if problems:
            raise EngineError(f"{engine.name}: {problems} ({said})")
        return f"{kills} kills, {series} series x {looks} samples, each there once ({said})"
    finally:
        sender.kill()
        sender.wait()
        engine.end(signal.SIGKILL)


def compare(engine: Engine, series: int, looks: int) -> str:
    """What is missing or doubled; nothing when all is well."""
    missing = doubled = 0
    found = engine.ask(f"{LOADED}[30m]")
    for row in found:
        values = [int(float(value)) for _, value in row["values"]]  # type: ignore[attr-defined]
        missing += len(set(range(looks)) - set(values))
        doubled += len(values) - len(set(values))
    if len(found) != series:
        return f"{len(found)} series of {series}"
    return f"{missing} samples missing, {doubled} doubled" if missing or doubled else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("engine", nargs="*", choices=[*(one.name for one in ENGINES), []])
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--series", type=int, default=2000)
    given = parser.parse_args()
    status = 0
    for engine in ENGINES:
        if given.engine and engine.name not in given.engine:
            continue
        if shutil.which(engine.name) is None:
            print(f"engines: {engine.name} is not here (package {engine.name}): left out")
            continue
        try:
            with tempfile.TemporaryDirectory() as folder:
                checked_scrape(engine, Path(folder))
            print(f"engines: {engine.name}: scraped, and sent by remote write", flush=True)
            with tempfile.TemporaryDirectory() as folder:
                print(
                    f"engines: {engine.name}: {checked_kills(engine, Path(folder), given.kills, given.series)}",
                    flush=True,
                )
        except EngineError as failure:
            print(f"engines: {engine.name}: FAILED: {failure}", flush=True)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
