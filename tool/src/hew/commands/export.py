# SPDX-License-Identifier: MIT
"""`hew export`: exports metrics of the hew processes on this host, and of dumps."""

import os
import re
import socket
import stat
import sys
import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click

from hew.analysis.metrics.families import RESERVED
from hew.commands.exporting import Exporting, push, say, server_of
from hew.commands.options import told
from hew.commands.pushing import OPTIONS as PUSH_OPTIONS
from hew.commands.pushing import SERVICES, Pushing, stores
from hew.model.address import Guard, checked_token, read_address
from hew.model.lazy_dataclass import dataclass
from hew.sources.export.dumps import Dumps
from hew.sources.export.queue import Queue
from hew.sources.export.remote_write import Engine
from hew.sources.export.watch import Wanted, Watch

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def _size(_context: click.Context, parameter: click.Parameter, text: str) -> int:
    match = re.fullmatch(r"(\d+)([KMG]?)", text.upper())
    if match is None or int(match[1]) * UNITS[match[2]] < 1 << 20:
        raise click.BadParameter(f"{text!r} is not a size of 1M or more, such as 256M", param=parameter)
    return int(match[1]) * UNITS[match[2]]


def _labels(_context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    found = {"job": "hew", "instance": socket.gethostname()}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_]*", name) or name.startswith("__") or name in RESERVED:
            raise click.BadParameter(f"{text!r} is not NAME=VALUE with a name that is free", param=parameter)
        found[name] = value
    return found


def read_token(path: Path | None, who: str = "hew export") -> str:
    """What a token file holds; nothing without one."""
    if path is None:
        return ""
    if stat.S_IMODE(path.stat().st_mode) & stat.S_IROTH:
        click.echo(f"{who}: {path} can be read by every user of this machine", err=True)
    return checked_token(path.read_text(errors="replace"), str(path))


def _queue_folder() -> Path:
    """systemd's place for what a service keeps, else the user's."""
    given = os.environ.get("STATE_DIRECTORY", "").partition(":")[0]
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(given) if given else Path(home) / "hew" / "export"


file_option = click.Path(exists=True, dir_okay=False, path_type=Path)


seconds_option = click.FloatRange(min=0.1)
positive_option = click.FloatRange(min=0)
OPTIONS = (
    click.option("--once", is_flag=True, help="Print one scrape as OpenMetrics text, and end."),
    click.option("--listen", metavar="HOST:PORT", help="Serve /metrics there, for instance at 127.0.0.1:9464."),
    click.option("--token-file", type=file_option, help="Who scrapes must send this (Bearer); needed beyond loopback."),
    click.option("--allow-host", "hosts", multiple=True, metavar="NAME", help="A further name requests may be for."),
    click.option("--remote-write", "url", metavar="URL", help="Send samples there (Prometheus remote write 1.0)."),
    click.option("--remote-write-token-file", "url_token", type=file_option, help="A token to send along (Bearer)."),
    click.option("--label", "labels", multiple=True, callback=_labels, metavar="NAME=VALUE", help="Is sent along."),
    click.option("--every", type=seconds_option, default=15.0, show_default=True, help="Seconds between samples."),
    click.option("--queue", type=click.Path(file_okay=False, path_type=Path), help="Folder for what waits to be sent."),
    click.option("--queue-size", default="256M", show_default=True, callback=_size, help="The most it may hold."),
    click.option(
        "--replay",
        type=positive_option,
        default=0.0,
        metavar="SECONDS",
        help="When the connection broke, send again what was acknowledged so recently; for engines that "
        "acknowledge before their data is safe, and drop duplicates.",
    ),
    click.option("--dumps", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Statistics in files."),
    click.option("--per-arena", is_flag=True, help="Series of each arena as well."),
    click.option("--per-bin", is_flag=True, help="Series of each small size class as well."),
    click.option("--timeout", type=seconds_option, default=5.0, show_default=True, help="Seconds for all answers."),
    click.option("--most", type=click.IntRange(1), default=1000, show_default=True, help="Processes: the largest."),
    click.option("--older-than", type=positive_option, default=0.0, help="Leave out processes younger than that."),
)


def _with_options(function: Callable[..., None]) -> Callable[..., None]:
    for option in reversed((*OPTIONS, *PUSH_OPTIONS)):
        function = option(function)
    return function


@dataclass(frozen=True)
class ExportOptions:
    """What the user asks for: a field for each option."""

    once: bool
    listen: str | None
    token_file: Path | None
    hosts: tuple[str, ...]
    url: str | None
    url_token: Path | None
    labels: dict[str, str]
    every: float
    queue: Path | None
    queue_size: int
    replay: float
    dumps: Path | None
    per_arena: bool
    per_bin: bool
    timeout: float
    most: int
    older_than: float
    profiles_every: float
    pushes: Mapping[str, Any]  # the options about profiles


@click.command("export")
@_with_options
def command(**options: Any) -> None:
    """Hand out metrics of all hew processes of this host that we may ask, and of statistics in a folder.

    --once prints them, --listen serves them, --remote-write sends them; --pyroscope, --parca and --otlp-profiles send
    heap profiles of processes with prof:true. All but --once go together. A process is asked
    through its control socket: `hew run` gives it one, and HEW_CONF=control:auto does.
    """
    pushes = {name: options.pop(name) for name in (*SERVICES, "profiles_token", "tenant")}
    asked = ExportOptions(**options, pushes=pushes)
    if asked.once == bool(asked.listen or asked.url or any(map(pushes.get, SERVICES))):
        places = "--listen, --remote-write, --pyroscope, --parca, --otlp-profiles"
        raise click.UsageError(f"give --once, or one or more of {places}")
    with told("hew export", programs=True):
        wanted = Wanted(asked.timeout, asked.most, asked.older_than, asked.per_arena)
        watch = Watch(wanted, Dumps(asked.dumps) if asked.dumps else None)
        exporting = Exporting(watch, asked.per_arena, asked.per_bin)
        if asked.once:
            sys.stdout.write(exporting.text())
        else:
            _work(exporting, asked)


def _work(exporting: Exporting, asked: ExportOptions) -> None:
    """Serve, send, or both, until a signal comes."""
    engine = Engine(asked.url, read_token(asked.url_token)) if asked.url else None
    server = None
    folder = asked.queue or _queue_folder()
    found = stores(asked.pushes, read_token(asked.pushes["profiles_token"]), folder, asked.queue_size)
    pushing = Pushing(exporting, found, asked.labels, say) if found else None
    if asked.listen:
        server = server_of(exporting, Guard(read_address(asked.listen), read_token(asked.token_file), asked.hosts))
    work = [server.serve_forever] if server is not None else []
    if pushing is not None:
        work.append(partial(pushing.run, asked.profiles_every))
    if engine is not None:
        exporting.queue = Queue(folder, asked.queue_size, asked.replay)
        work.append(partial(push, exporting, engine, exporting.queue, asked.labels, asked.every))
    for one in work[:-1]:
        threading.Thread(target=one, name="work", daemon=True).start()
    work[-1]()
