# SPDX-License-Identifier: MIT
"""`hew serve`: a web page that shows where the memory of processes is; metrics and heap profiles for machines."""

import secrets
from collections.abc import Sequence
from pathlib import Path

import click

from hew.commands.export import file_option, read_token
from hew.commands.exporting import Exporting
from hew.commands.fleet import store_option
from hew.commands.fleet_query import samples_of
from hew.commands.options import told
from hew.commands.served_fleet import Ranking
from hew.commands.served_reports import Keeper, has_reports
from hew.commands.serving import Serving
from hew.model.address import Guard, read_address
from hew.model.errors import HewError
from hew.sources.control import remove_stale_sockets
from hew.sources.export.watch import Wanted, Watch
from hew.sources.fleet.engine import EngineSource
from hew.sources.fleet.files import refresh, store_of
from hew.sources.live import Processes
from hew.sources.processes import stat_fields
from hew.sources.serve.app import Asset, application
from hew.sources.serve.listen import listen, serve
from hew.views.web_assets import web_assets

LISTEN = "127.0.0.1:4390"  # H, E and W on a telephone
MOST_FILES = 200


@click.command("serve")
@click.option("--listen", "place", default=LISTEN, show_default=True, metavar="HOST:PORT", help="Where; port 0: any.")
@click.option("--token-file", type=file_option, help="Who asks must have this token; needed beyond loopback.")
@click.option("--allow-host", "hosts", multiple=True, metavar="NAME", help="A further name requests may be for.")
@click.option("--fleet", metavar="URL", help="Also rank the services in an engine, as hew fleet --engine does.")
@click.option("--store", type=store_option, help="Also rank those in a folder, as hew fleet --store does.")
@click.option("--fleet-token-file", type=file_option, help="A token for the engine of --fleet (Bearer).")
@click.argument("words", metavar="[PID|FILE|DIR]...", nargs=-1)
def command(
    place: str,
    token_file: Path | None,
    hosts: tuple[str, ...],
    fleet: str | None,
    store: Path | None,
    fleet_token_file: Path | None,
    words: tuple[str, ...],
) -> None:
    """Show processes in a browser: where their memory is and was, locks, size classes, threads, advice,
    heap profiles as flame graphs.

    The list has every process that we may look at; PID is shown first. FILE, or each file in DIR, holds statistics, to
    be compared with each other or with a process. /metrics is what hew export says, /debug/pprof/heap and
    /debug/pprof/allocs are heap profiles.

    With --fleet or --store the page also has the ranking of hew fleet: what services can get back, the advice for each,
    limits that will be met, and rollouts compared.

    On loopback every user of this machine may look. Changes need the token in the link that is printed.
    """
    if fleet is not None and store is not None:
        raise click.UsageError("--fleet URL or --store DIR, not both")
    if fleet_token_file is not None and fleet is None:
        raise click.UsageError("--fleet-token-file is for the engine of --fleet")
    with told("hew serve", programs=True):
        guard = Guard(read_address(place), read_token(token_file, "hew serve"), hosts)
        pids, files = _places(words)
        ranking = _ranking(fleet, store, read_token(fleet_token_file, "hew serve"))
        remove_stale_sockets()
        exporting = Exporting(Watch(Wanted()), per_arena=False, per_bin=False)
        site = Serving(Processes(), exporting, Keeper(files), pids, ranking)
        token = guard.token or secrets.token_urlsafe(24)
        assets = {path: Asset(kind, body) for path, kind, body in web_assets()}
        listener, at = listen(guard.address)
        with listener:
            _say(f"open {at.url}/#token={token if not guard.token else '…'}")
            if guard.token:
                _say(f"in place of … what is in {token_file}; without it no process is shown")
            else:
                _say(f"without what is behind the # the page only shows; {at.url}/metrics is for machines")
            serve(application(site, guard, token, assets), listener)


def _ranking(url: str | None, folder: Path | None, token: str) -> Ranking | None:
    """What is to be ranked, if anything is."""
    if url is not None:
        return Ranking(EngineSource(url, token), list)
    if folder is not None:
        kept = store_of(folder)
        return Ranking(kept, lambda: refresh(kept, folder, samples_of))
    return None


def _places(words: Sequence[str]) -> tuple[list[int], list[Path]]:
    """Processes, and files of statistics; what else lies in a folder is passed over."""
    pids: list[int] = []
    files: list[Path] = []
    for word in words:
        path = Path(word)
        if path.is_dir():
            files += [one for one in sorted(path.iterdir())[:MOST_FILES] if has_reports(one)]
        elif path.is_file():
            files.append(path)
        elif word.isdecimal() and stat_fields(int(word)):
            pids.append(int(word))
        else:
            raise HewError(f"{word} is neither a process nor a file nor a folder")
    return pids, files


def _say(text: str) -> None:
    click.echo(f"hew serve: {text}", err=True)
