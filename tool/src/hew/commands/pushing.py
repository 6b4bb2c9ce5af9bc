# SPDX-License-Identifier: MIT
"""Sends heap profiles to profile stores, for `hew export`. Each store has its own queue and sender."""

import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from hew.analysis.profile.names import Wanted, selected
from hew.commands.exporting import Exporting
from hew.model.errors import HewError
from hew.model.lazy_dataclass import dataclass
from hew.model.metric import Observed
from hew.model.profile import Profile
from hew.sources.export.heap import live_profile
from hew.sources.export.queue import Queue
from hew.sources.export.remote_write import Engine, Sender
from hew.views.profile.otlp import to_otlp
from hew.views.profile.profile_proto import to_pprof
from hew.views.profile.pushed import OTLP, PARCA, PYROSCOPE, Service, to_parca, to_pyroscope

MOST_BODY = 16 << 20  # bytes of a request: stores refuse larger ones
PATIENCE = 2.0  # seconds for a sender to end
SERVICES = {"pyroscope": PYROSCOPE, "parca": PARCA, "otlp_profiles": OTLP}
seconds_option = click.FloatRange(min=1)
token_option = click.Path(exists=True, dir_okay=False, path_type=Path)
OPTIONS = (
    click.option("--pyroscope", metavar="URL", help="Send heap profiles there, for instance to http://127.0.0.1:4040."),
    click.option("--parca", metavar="URL", help="Send heap profiles there, for instance to http://127.0.0.1:7070."),
    click.option(
        "--otlp-profiles", metavar="URL", help="Send heap profiles there, by OpenTelemetry's interface, which is alpha."
    ),
    click.option("--profiles-token-file", "profiles_token", type=token_option, help="A token to send along (Bearer)."),
    click.option("--profiles-tenant", "tenant", default="", metavar="NAME", help="Is sent as X-Scope-OrgID."),
    click.option(
        "--profiles-every", type=seconds_option, default=60.0, show_default=True, help="Seconds between profiles."
    ),
)
Say = Callable[[str], None]


@dataclass(frozen=True)
class _Store:
    service: Service
    engine: Engine
    queue: Queue

    def body(self, profile: Profile, labels: Mapping[str, str]) -> bytes:
        """The request for one profile."""
        if self.service is OTLP:
            named = {"service.name" if name == "service_name" else name: text for name, text in labels.items()}
            return to_otlp(profile, named, uuid.uuid4().bytes)
        packed = to_pprof(profile)
        return to_parca(labels, packed) if self.service is PARCA else to_pyroscope(labels, packed, str(uuid.uuid4()))


def stores(asked: Mapping[str, Any], token: str, folder: Path, most: int) -> list[_Store]:
    """Those that were asked for, by the names of their options. Each has `most` bytes in a folder of its own."""
    found = []
    for name, service in SERVICES.items():
        url = asked[name]
        if url:
            option = f"--{name.replace('_', '-')}"
            if "?" in url or "#" in url:
                raise HewError(f"{option}: {url}: an address without ?… or #…")
            headers = {"Content-Type": service.content, "User-Agent": "hew-export"}
            if asked["tenant"]:
                headers["X-Scope-OrgID"] = asked["tenant"]
            whole = url.rstrip("/") + service.path
            engine = Engine(whole, token, headers=headers, called=service.title, things="profiles", option=option)
            found.append((service, engine, folder / "profiles" / name))
    return [_Store(service, engine, Queue(place, most)) for service, engine, place in found]


class Pushing:
    """Takes profiles of all processes that sample, in rounds, for all stores."""

    def __init__(self, exporting: Exporting, found: Sequence[_Store], labels: Mapping[str, str], say: Say) -> None:
        self._exporting, self._stores, self._labels, self._say = exporting, found, labels, say
        self._refused: dict[int, str] = {}

    def run(self, every: float) -> None:
        """Until the process ends; what waits then stays on disk."""
        senders = [Sender(one.engine, one.queue, self._say) for one in self._stores]
        threads = [threading.Thread(target=one.run, name="profiles", daemon=True) for one in senders]
        for store, thread in zip(self._stores, threads, strict=True):
            self._say(f"heap profiles every {every:g} s to {store.engine.url}")
            thread.start()
        try:
            due = time.monotonic()
            while True:
                self.take_all()
                due = max(due + every, time.monotonic())
                time.sleep(max(due - time.monotonic(), 0))
        finally:
            for sender in senders:
                sender.stop()
            for thread, store in zip(threads, self._stores, strict=True):
                thread.join(PATIENCE)
                store.queue.close()

    def take_all(self) -> None:
        """One round."""
        look, _ = self._exporting.now()
        seen = [one for one in look.observed if one.pid is not None and one.snapshot.option("prof") is True]
        self._refused = {pid: why for pid, why in self._refused.items() if pid in {one.pid for one in seen}}
        for one in seen:
            try:
                self._take(one)
            except (HewError, OSError) as error:
                self._say_once(one.pid or 0, str(error))

    def _take(self, one: Observed) -> None:
        pid = one.pid or 0
        profile = selected(live_profile(pid), Wanted())
        if not profile.samples:
            return
        labels = {**self._labels, "service_name": one.service, "pid": str(pid)}
        for store in self._stores:
            body = store.body(profile, labels)
            if len(body) > MOST_BODY:
                self._say_once(
                    pid, f"process {pid}: its profile has {len(body)} bytes, {MOST_BODY} are sent at the most"
                )
            else:
                store.queue.put(body, 1)

    def _say_once(self, pid: int, text: str) -> None:
        """Of a process what hinders, until it is something else."""
        if self._refused.get(pid) != text:
            self._refused[pid] = text
            self._say(f"no profile: {text}")
