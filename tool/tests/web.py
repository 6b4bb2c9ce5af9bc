# SPDX-License-Identifier: MIT
"""A `hew serve` in this process: a made-up site behind the real server, and clients for it."""

import json
import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from conftest import PATIENCE, schemas, wait_until
from hew.analysis.details import details, point
from hew.analysis.fleet.rollout import RSS
from hew.analysis.live import live_view
from hew.analysis.profile.rows import rows
from hew.analysis.profile.tree import tree
from hew.model.address import Guard, read_address
from hew.model.advice import Advice, Evidence, Setting
from hew.model.figures import Unit
from hew.model.fleet import Cost, FleetState, Group, Kind, LimitDay, Mixed, Rollout, ServiceState, Span
from hew.model.live import Moment, Outside
from hew.model.live_samples import Pin, Pins
from hew.model.profile import Frame, Location, Profile, Sample
from hew.model.profile import Kind as ProfileKind
from hew.model.profile_view import Shown
from hew.model.report import Ratio, Verdict
from hew.model.serving import KeptProfile, Seen
from hew.model.statistics import Thread
from hew.sources.serve.app import Asset, Site, application
from hew.sources.serve.listen import listen, server_of
from hew.sources.statistics.stream import read_statistics
from hew.views.profile.pins_text import pins_document
from hew.views.serve_document import flame_document, seen_document
from hew.views.serve_fleet_document import ranking_page, rollout_page
from hew.views.web_assets import web_assets

DATA = Path(__file__).parent / "data" / "statistics"
TOKEN = "a-token-of-some-length"
HOSTILE = "<img src=x onerror=document.title='taken'><script>document.title='taken'</script>"
HUGE = (1 << 63) - 1


def made_up(pid: int = 4242, name: str = HOSTILE) -> dict[str, Any]:
    """One process with a recorded report, whose every name comes from an attacker."""
    snapshot = read_statistics(str(DATA / "hew-0.1.0.json.gz")).snapshots[-1]
    threads = (Thread(1, name, "0", HUGE, HUGE), Thread(2, name, name, 1, 1))
    arenas = tuple(replace(one, name=name) for one in snapshot.arenas)
    outside = Outside(resident=HUGE, anonymous=HUGE, files=0, shared=0)
    moment = Moment(
        pid, name, name, name, {name: 2}, 1.0, 1, 1.0, outside, replace(snapshot, threads=threads, arenas=arenas), name
    )
    view = live_view(moment, None)
    points = [point(view, 1e9 + second) for second in range(5)]
    document = seen_document(Seen(pid, view, details(moment, None), points, name))
    return {**document, "profiles": {"prof": True, "prof_format": HOSTILE, "prof_accum": True}}


def hostile_profile(times: int) -> Profile:
    """Two stacks of functions whose names mean harm."""
    places = tuple(Location(0x1000 + at, None, (Frame(f"{HOSTILE}{at}", HOSTILE),)) for at in range(3))
    samples = (Sample([0, 2], (4, 400, 2, 200 * times)), Sample([1, 2], (4, 800, 2, 600)))
    return Profile(HOSTILE, samples, places, (), True, 4096, notes=(HOSTILE,))


def made_up_fleet() -> FleetState:
    """Three services: one with all there is, one near its limit, one with nothing; a hostile name for each name."""
    advice = Advice(
        "a-rule", HOSTILE, HOSTILE, (Evidence(HOSTILE, 1.5, Unit.BYTES, HOSTILE),),
        (Setting("dirty_decay_ms", "1000"),), HOSTILE, HOSTILE, HOSTILE, HOSTILE,
    )  # fmt: skip
    costs = (
        Cost(Kind.LOCKS, cores=12.5, about=HOSTILE, worst=(HOSTILE, "7")),
        Cost(Kind.FRAGMENTATION, bytes=3e9, about=HOSTILE, worst=(HOSTILE, HOSTILE)),
    )
    mixed = (Mixed("dirty_decay_ms", math.inf, ((HOSTILE, 1000.0), ("b", 2.0))),)
    day = LimitDay(HOSTILE, 1e9, 2e9, 1e8, 1.8e9, 1.7e9, None, 1.5)
    near = replace(day, a_day=0.0, latest=1.8e9)
    services = (
        ServiceState(HOSTILE, 10, 5, 1.5, 1e10, costs, (advice,), mixed, day, 14.0),
        ServiceState("", 1, 1, None, None, (), (), (), near),
        ServiceState("calm", 1, 1, 0.0, 0.0, (), ()),
    )
    return FleetState(HOSTILE, 1.7e9, 1.7e9 + 3600, services, 4.0, 0.5, (HOSTILE,))


def made_up_rollout(service: str, at: float, setting: str | None) -> Rollout:
    """Less memory on six hosts; one has not picked it up."""
    ratio = Ratio(0.8, 0.79, 0.81, 6, Verdict.BETTER, ())
    group = Group(HOSTILE, 6, {RSS.key: 2e9}, {RSS.key: 1.6e9}, {RSS.key: ratio})
    spans = (Span(at - 3600, at), Span(at, at + 3600))
    return Rollout(service, (RSS,), (group,), *spans, setting or "", ((HOSTILE, HOSTILE),), (HOSTILE,))


class MadeUp:
    """A site that answers the same each time and remembers what it was asked to do."""

    def __init__(self) -> None:
        self.done: list[tuple[object, ...]] = []

    def processes(self) -> dict[str, Any]:
        row = {"pid": 4242, "name": HOSTILE, "user": HOSTILE, "allocator": HOSTILE, "resident": HUGE, "threads": 2}
        return {"processes": [{**row, "asks": True}], "named": [4242], "fleet": True}

    def process(self, pid: int, since: float) -> dict[str, Any]:
        return made_up(pid)

    def advice(self, pid: int) -> dict[str, Any]:
        setting = {"name": "dirty_decay_ms", "value": "1000", "text": "dirty_decay_ms:1000", "live": None}
        evidence = {"label": HOSTILE, "value": 1.5, "unit": "bytes", "where": HOSTILE}
        words = dict.fromkeys(("title", "subject", "cpu", "memory", "risk", "verify", "otherwise", "change"), HOSTILE)
        one = {"rule": "a-rule", "evidence": [evidence], "settings": [setting], "certainty": "sure", **words}
        unseen = [{"what": HOSTILE, "why": HOSTILE, "next": HOSTILE}]
        seen = {"rules": 1, "spoke": 1, "read": [HOSTILE], "unseen": unseen}
        live = {"a-rule": "dirty_decay_ms:1000"}
        return {"advice": [one], "notes": [HOSTILE], "looked_at": seen, "outcome": "advice", "live": live}

    def apply(self, pid: int, rule: str) -> dict[str, Any]:
        self.done.append(("apply", pid, rule))
        result = {"name": "dirty_decay_ms", "value": "1000", "outcome": "applied", "remark": HOSTILE}
        return {"rule": rule, "results": [result]}

    def keep(self, pid: int) -> dict[str, Any]:
        self.done.append(("keep", pid))
        return self.kept()

    def kept(self) -> dict[str, Any]:
        numbers = range(1, 3 + self.done.count(("keep", 4242)))
        return {"kept": [{"number": one, "title": HOSTILE, "at": 1e9, "resident": 1} for one in numbers]}

    def compare(self, before: int, after: int) -> dict[str, Any]:
        first, second = self.kept()["kept"][:2]
        changes = [{"label": HOSTILE, "before": 1, "after": HUGE}]
        return {"before": first, "after": second, "groups": [{"title": HOSTILE, "changes": changes}]}

    def flame(self, pid: int, of: int, base: int, by: str) -> dict[str, Any]:
        by_line = by == "line"
        about = KeptProfile(of, pid, 1e9, HUGE)
        taken, before = (hostile_profile(times) for times in (2, 1))
        shown = Shown(taken, ProfileKind.INUSE_SPACE, by_line, HOSTILE if base else "")
        older = before if base else None
        kept = [KeptProfile(1, pid, 1e9, HUGE)]
        return flame_document(about, kept, shown, tree(taken, older, by_line), rows(taken, by_line))

    def keep_profile(self, pid: int) -> dict[str, Any]:
        self.done.append(("keep_profile", pid))
        return {"number": 1, "pid": pid, "at": 1e9, "bytes": HUGE}

    def pins(self, pid: int, sparse: int) -> dict[str, Any]:
        self.done.append(("pins", pid, sparse))
        pin = Pin((HOSTILE, "main"), 9e8, 1e9, 5.0, 64, 3, 0.5, 90.0, 1e5)
        return pins_document(Pins(HOSTILE, sparse / 100, 9e8, 1e9, (pin,), (HOSTILE,)), 100)

    def fleet(self) -> dict[str, Any]:
        return ranking_page(made_up_fleet(), HOSTILE)

    def rollout(self, service: str, at: float, setting: str | None) -> dict[str, Any]:
        self.done.append(("rollout", service, at, setting))
        return rollout_page(made_up_rollout(service, at, setting))

    def metrics(self, accept: str) -> tuple[str, bytes]:
        return "text/plain", b"metrics\n"

    def profile(self, pid: int | None, allocations: bool, form: str) -> tuple[str, bytes]:
        return "application/octet-stream", b"profile"


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def document(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


@dataclass(frozen=True)
class Served:
    """A server that runs."""

    port: int

    @property
    def url(self) -> str:
        """Where."""
        return f"http://127.0.0.1:{self.port}"

    def ask(self, path: str, method: str = "GET", body: bytes | None = None, **headers: str) -> Answer:
        """One request; `_` in a header's name is `-`."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, named)
            found = connection.getresponse()
            return Answer(found.status, {name.lower(): value for name, value in found.getheaders()}, found.read())
        finally:
            connection.close()

    def post(self, path: str, document: object, **headers: str) -> Answer:
        """A change as the page asks for it; headers change that."""
        plain = {"Content_Type": "application/json", "Origin": self.url, "Authorization": f"Bearer {TOKEN}"}
        kept = {name: value for name, value in {**plain, **headers}.items() if value}
        return self.ask(path, "POST", json.dumps(document).encode(), **kept)


def is_an_answer(answer: Answer, name: str) -> Any:
    """The document, once serve.schema.json has been held against it."""
    found, known = schemas()
    checker = Draft202012Validator({**found["serve.schema.json"], "$ref": f"#/$defs/{name}"}, registry=known)
    checker.validate(answer.document)
    return answer.document


@contextmanager
def served(site: Site, place: str = "127.0.0.1:0", token: str = "", hosts: tuple[str, ...] = ()) -> Iterator[Served]:
    """The site on a free port."""
    guard = Guard(read_address(place), token, hosts)
    assets = {path: Asset(kind, body) for path, kind, body in web_assets()}
    listener, at = listen(guard.address)
    server = server_of(application(site, guard, TOKEN, assets))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    wait_until(lambda: server.started)
    try:
        yield Served(at.port)
    finally:
        server.should_exit = True
        thread.join(30)
        listener.close()
