# SPDX-License-Identifier: MIT
"""The engines that our metrics are tried with, as processes on loopback: Debian's prometheus and victoria-metrics."""

import json
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 60.0


class EngineError(Exception):
    """What does not hold."""


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def wait_until(holds: Callable[[], object], what: str) -> None:
    until = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > until:
            raise EngineError(f"{what}: not within {PATIENCE:.0f} s")
        time.sleep(0.1)


@dataclass
class Engine:
    """One kind of engine: how it is started for a folder, a port and a target to scrape, and where it takes samples."""

    name: str
    write: str
    words: Callable[[Path, int], list[str]]
    replay: float = 0.0
    port: int = 0
    process: subprocess.Popen[bytes] | None = None

    def start(self, folder: Path) -> None:
        self.port = self.port or free_port()
        with (folder / "engine.log").open("ab") as log:
            self.process = subprocess.Popen(self.words(folder, self.port), stdout=log, stderr=log)

    def end(self, number: int) -> None:
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait()

    def ask(self, query: str, at: float | None = None) -> list[dict[str, object]]:
        """Series of an instant query; none while it does not answer."""
        words = {"query": query} | ({} if at is None else {"time": f"{at:.3f}"})
        address = f"http://127.0.0.1:{self.port}/api/v1/query?" + urllib.parse.urlencode(words)
        try:
            with urllib.request.urlopen(address, timeout=10) as answer:
                return list(json.load(answer)["data"]["result"])
        except (urllib.error.URLError, OSError, ValueError):
            return []


def prometheus(folder: Path, port: int) -> list[str]:
    return [
        "prometheus",
        f"--config.file={folder}/scrape.yml",
        f"--storage.tsdb.path={folder}/data",
        f"--web.listen-address=127.0.0.1:{port}",
        "--web.enable-remote-write-receiver",
    ]


def victoria(folder: Path, port: int) -> list[str]:
    return [
        "victoria-metrics",
        f"-promscrape.config={folder}/scrape.yml",
        f"-storageDataPath={folder}/data",
        f"-httpListenAddr=127.0.0.1:{port}",
        "-dedup.minScrapeInterval=1ms",
        "-search.latencyOffset=0s",
        "-search.disableCache",
    ]


ENGINES = (
    Engine("prometheus", "/api/v1/write", prometheus),
    Engine("victoria-metrics", "/api/v1/write", victoria, replay=10.0),
)
