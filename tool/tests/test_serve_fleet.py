# SPDX-License-Identifier: MIT
"""The ranking of a fleet in `hew serve`: from a store, from an engine that fails or hangs, for many pages at a time."""

import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from conftest import PATIENCE, HewRunner, wait_until

BENCH = Path(__file__).resolve().parents[2] / "bench" / "fleet"
sys.path[:0] = [str(BENCH)]

from load import to_store  # noqa: E402
from play import Fleet  # noqa: E402

from hew.commands import served_fleet  # noqa: E402
from hew.commands.exporting import Exporting  # noqa: E402
from hew.commands.served_fleet import Ranking  # noqa: E402
from hew.commands.served_reports import Keeper  # noqa: E402
from hew.commands.serving import Serving  # noqa: E402
from hew.model.errors import HewError  # noqa: E402
from hew.model.fleet import Line, Query, Span  # noqa: E402
from hew.sources.export.watch import Wanted, Watch  # noqa: E402
from hew.sources.fleet.store import NAME, StoreSource  # noqa: E402
from hew.sources.live import Processes  # noqa: E402
from web import is_an_answer, served  # noqa: E402

END = 1_700_000_000.0
DAY = 86400.0


def site(found: Ranking | None) -> Serving:
    """As the command makes it."""
    return Serving(Processes(), Exporting(Watch(Wanted()), False, False), Keeper(()), (), found)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy the machine is."""
    monkeypatch.setattr(served_fleet, "FIRST_LOOK", PATIENCE)


def test_a_played_fleet_is_shown_as_hew_fleet_ranks_it(tmp_path: Path) -> None:
    fleet = Fleet(60, 300.0, END)
    store = StoreSource(tmp_path / NAME)
    to_store(fleet, store)
    with served(site(Ranking(store, lambda: ["a file is left out"] * 30))) as web:
        assert is_an_answer(web.ask("/api/processes"), "processes")["fleet"] is True
        page = is_an_answer(web.ask("/api/fleet"), "fleet")
        assert (page["services"], page["error"]) == (len(fleet.services), "")
        assert page["ranking"]["services"][0]["name"] in {name for name, _ in fleet.truth.costs}
        assert page["ranking"]["notes"][-1] == "and 10 more files are left out"
        at, name = END - DAY / 2, fleet.truth.rollout
        path = f"/api/fleet/rollout?service={name}&at={at}&setting=dirty_decay_ms:1000"
        told = is_an_answer(web.ask(path), "rollout")
        assert {one["host"] for one in told["rollout"]["missing"]} == fleet.truth.kept
        for words, status in (
            ("", 400),
            (f"?service={name}&at=nan", 400),
            (f"?service={name}&at=1e300", 400),
            (f"?service={name}&at=-1", 400),
            (f"?service={name}&at=x", 400),
            (f"?service={'x' * 2000}&at=1", 400),
            (f"?service={name}&at={at}&setting=tcache:false", 409),
            (f"?service=nobody&at={at}", 409),
            (f"?service=%ff&at={at}", 409),
        ):
            answer = web.ask(f"/api/fleet/rollout{words}")
            assert answer.status == status, (words, answer.body)
            is_an_answer(answer, "error")
    store.close()


def test_without_a_fleet_nothing_is_offered() -> None:
    with served(site(None)) as web:
        assert web.ask("/api/processes").document["fleet"] is False
        for path in ("/api/fleet", "/api/fleet/rollout?service=a&at=1"):
            assert web.ask(path).status == 404
            assert "--fleet URL" in web.ask(path).document["error"]


class Moody:
    """A source that waits for a word, fails as it is told, and counts what it is asked."""

    name = "moody"

    def __init__(self) -> None:
        self.go = threading.Event()
        self.fails: Exception | None = None
        self.asked = 0

    def ask(self, query: Query, span: Span) -> Sequence[Line]:
        """One service with a process."""
        if self.fails is not None:
            raise self.fails
        labels = tuple("web" if name == "service_name" else "1" for name in query.by)
        return [Line(labels, ((span.end, 1.0),))]

    def newest(self) -> float:
        """Waits."""
        self.asked += 1
        assert self.go.wait(PATIENCE)
        return END


def test_an_engine_that_hangs_holds_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served_fleet, "FIRST_LOOK", 0.1)
    source = Moody()
    with served(site(Ranking(source, list))) as web:
        for _ in range(5):
            assert web.ask("/api/fleet").status == 503
        busy = web.ask(f"/api/fleet/rollout?service=web&at={END}")
        assert (busy.status, "again in a moment" in busy.document["error"]) == (503, True)
        assert web.ask("/api/processes").status == 200
        source.go.set()
        wait_until(lambda: web.ask("/api/fleet").status == 200)
        assert source.asked == 1, "one ranking for all pages"


def test_an_engine_that_fails_is_said_and_what_was_known_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served_fleet, "FRESH", 0.0)
    monkeypatch.setattr(served_fleet, "AGAIN", 0.0)
    source = Moody()
    source.go.set()
    source.fails = HewError("it is down")
    with served(site(Ranking(source, list))) as web:
        first = web.ask("/api/fleet")
        assert (first.status, first.document["error"]) == (503, "it is down")
        source.fails = None
        wait_until(lambda: web.ask("/api/fleet").status == 200)
        source.fails = ZeroDivisionError("a fault of ours")
        wait_until(lambda: "could not be judged: ZeroDivisionError" in web.ask("/api/fleet").document["error"])
        assert is_an_answer(web.ask("/api/fleet"), "fleet")["ranking"]["services"][0]["name"] == "web"


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("--fleet", "http://x", "--store", "/tmp"), 2, "not both"),
        (("--fleet-token-file", "/dev/null"), 2, "is for the engine of --fleet"),
        (("--fleet", "nonsense"), 1, "an engine is at http://HOST:PORT"),
        (("--fleet", "http://me:secret@x"), 1, "no password in the address"),
        (("--store", "/nowhere"), 1, "/nowhere is no folder"),
    ],
)
def test_wrong_use_is_said(hew: HewRunner, words: tuple[str, ...], status: int, said: str) -> None:
    done = hew("serve", "--listen", "127.0.0.1:0", *words)
    assert (done.returncode, said in done.stderr) == (status, True), done.stderr
    assert "Traceback" not in done.stderr
