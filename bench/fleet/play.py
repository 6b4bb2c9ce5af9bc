# SPDX-License-Identifier: MIT
"""A fleet that never was: hosts with one process each, played for a simulated day from a few recorded real ones.

Each service is a recorded process made larger, with a rhythm of day and night; each host differs a little; a few
services have a problem planted, of a size that is drawn. Everything follows from the seed. What each planted problem
costs within the last hour is reckoned here, from the values that are handed out, for `check` to compare.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

RECORDED = Path(__file__).parent / "recorded"
LINE = re.compile(r"(hew_\w+)\{(.*)\} (\S+) (\d+)")
LABEL = re.compile(r'(\w+)="([^"]*)",?')
PAGE = 4096
MIB, GIB = 1 << 20, 1 << 30
DAY = 86400.0

Labels = tuple[tuple[str, str], ...]
Floats = NDArray[np.float64]
Key = tuple[str, Labels]

# In the order in which services get them; the others have none.
PROBLEMS = (
    "lock waits",
    "idle pages",
    "page faults",
    "fragmentation",
    "fills",
    "thread caches",
    "holes faulted in again",
    "limit",
    "mixed",
    "rollout",
)
ROLLED_OUT, KEPT = 0.5, 0.1  # when in the day; the share of hosts that do not pick the setting up
LESS = 0.8  # of its memory a service has after the rollout
FEWEST = 8  # hosts of a service, where there are enough: a comparison wants six
SHARE = 0.6  # of a day's beginning usage that a service near its limit has of it

DIRTY: Labels = (("state", "dirty"),)
SMALL: Labels = (("size", "small"),)
DECAY: Key = ("hew_decay_seconds", DIRTY)
# What a problem makes of series: a value, or a share of what is allocated, and how much more with the amount.
CONSTANT: Mapping[str, Mapping[Key, tuple[float, float]]] = {
    "lock waits": {
        ("hew_arenas", ()): (4, 0),
        ("hew_process_threads", ()): (64, 0),
        ("hew_lock_waits_total", ()): (0, 4000),
        ("hew_lock_operations_total", ()): (0, 400_000),
        ("hew_lock_wait_seconds_total", ()): (0, 0.8),
    },
    "idle pages": {DECAY: (math.inf, 0)},
    "page faults": {
        DECAY: (0.1, 0),
        ("hew_purged_bytes_total", DIRTY): (0, 40_000 * PAGE),
        ("hew_process_page_faults_total", (("kind", "minor"),)): (0, 60_000),
    },
    "fills": {("hew_fills_total", SMALL): (0, 150_000), ("hew_requests_total", SMALL): (0, 1_200_000)},
    "holes faulted in again": {("hew_holes_refaulted_bytes_total", ()): (0, 30_000 * PAGE)},
}
OF_ALLOCATED: Mapping[str, Mapping[Key, tuple[float, float]]] = {
    "idle pages": {("hew_idle_bytes", DIRTY): (0, 0.5)},
    "thread caches": {("hew_thread_cache_bytes", ()): (0.3, 0.1)},
    "fragmentation": {("hew_active_bytes", ()): (1.6, 0.2)},
}


@dataclass(frozen=True)
class Recorded:
    """A real process: sizes, and rates a second, by series and labels without pid and service."""

    name: str
    gauges: Mapping[Key, float]
    rates: Mapping[Key, float]
    info: Labels


@dataclass(frozen=True)
class Service:
    """A service of the played fleet. `size` multiplies the recorded process; `amount` is drawn for the problem."""

    name: str
    recorded: Recorded
    problem: str
    size: float
    amount: float
    hosts: tuple[str, ...]


@dataclass
class Truth:
    """What is planted: costs by service and kind, in cores or bytes; hosts that differ; the day of the limit."""

    costs: dict[tuple[str, str], float] = field(default_factory=dict)
    mixed: dict[str, set[str]] = field(default_factory=dict)
    limits: dict[str, float] = field(default_factory=dict)
    rollout: str = ""
    kept: set[str] = field(default_factory=set)


def recorded(path: Path) -> Recorded:
    """A process that was seen twice."""
    seen: dict[Key, list[tuple[float, float]]] = {}
    info: Labels = ()
    for name, text, value, at in LINE.findall(path.read_text()):
        labels = {one: words for one, words in LABEL.findall(text) if one not in {"pid", "service_name"}}
        if name == "hew_process_info":
            info = tuple(sorted(labels.items()))
            continue
        seen.setdefault((name, tuple(sorted(labels.items()))), []).append((float(at), float(value)))
    gauges = {key: points[-1][1] for key, points in seen.items() if not key[0].endswith("_total")}
    rates = {
        key: (points[-1][1] - points[0][1]) / (points[-1][0] - points[0][0])
        for key, points in seen.items()
        if key[0].endswith("_total") and len(points) > 1
    }
    return Recorded(path.stem, gauges, rates, info)


class Fleet:
    """So many hosts over a day that ends at `end`, with a sample every so many seconds."""

    def __init__(self, hosts: int, every: float, end: float, seed: int = 1) -> None:
        self.every, self.seed = every, seed
        count = int(DAY / every)
        self.times: Floats = end - every * np.arange(count, -1, -1, dtype=np.float64)
        self.truth = Truth()
        self._played: dict[int, dict[Key, Floats]] = {}
        self.services = self._services(hosts)
        hour = self.times > end - 3600.5
        for number, service in enumerate(self.services):
            self._tell(service, self._series(number, service), hour)

    def _services(self, hosts: int) -> tuple[Service, ...]:
        """A quarter of the services has a problem where there is room; at least one host each."""
        draw = np.random.default_rng(self.seed)
        kinds = [recorded(path) for path in sorted(RECORDED.glob("*.txt"))]
        count = min(max(2 * len(PROBLEMS), hosts // 50), hosts, 200)
        least = min(hosts // count, FEWEST)
        sizes = least + draw.multinomial(hosts - least * count, draw.dirichlet(np.ones(count)))
        parts = np.split(np.arange(hosts), np.cumsum(sizes)[:-1])
        order = draw.permutation(count)
        found = []
        for number, part in enumerate(parts):
            place = int(order[number])
            problem = PROBLEMS[place] if place < len(PROBLEMS) else ""
            names = tuple(f"host-{one:06d}" for one in part)
            kind = kinds[number % len(kinds)]
            # Between 0.5 and 2 GB of objects.
            size = draw.uniform(0.5, 2.0) * 1e9 / kind.gauges[("hew_allocated_bytes", ())]
            found.append(Service(f"service-{number:03d}", kind, problem, size, float(draw.uniform(1, 4)), names))
        return tuple(found)

    @property
    def series(self) -> int:
        """How many series there are."""
        return sum(len(one.hosts) * len(self._series(number, one)) for number, one in enumerate(self.services))

    def blocks(self, count: int) -> Iterator[tuple[Floats, Iterator[tuple[list[Labels], Floats]]]]:
        """The day in pieces of time, in order: times, and for each service labels and values (series x times)."""
        for piece in np.array_split(np.arange(len(self.times)), count):
            yield self.times[piece], self._block(piece)

    def _block(self, piece: NDArray[np.int64]) -> Iterator[tuple[list[Labels], Floats]]:
        for number, service in enumerate(self.services):
            values = self._series(number, service)
            keys = list(values)
            rows = np.stack([values[key][:, piece] for key in keys])  # series x hosts x times
            labels = [
                tuple(
                    sorted(
                        (
                            *key[1],
                            ("__name__", key[0]),
                            ("instance", host),
                            ("pid", "1"),
                            ("service_name", service.name),
                        )
                    )
                )
                for key in keys
                for host in service.hosts
            ]
            yield labels, rows.reshape(-1, len(piece))

    def _series(self, number: int, service: Service) -> dict[Key, Floats]:
        """The values of all series of a service, hosts x times."""
        if number in self._played:
            return self._played[number]
        draw = np.random.default_rng([self.seed, number])
        hosts, count = len(service.hosts), len(self.times)
        differs = draw.lognormal(0, 0.1, (hosts, 1))
        rhythm = 1 + 0.15 * np.sin(2 * np.pi * (self.times / DAY + draw.uniform()))[None, :]
        # Seeded for all of the day at once: a piece of it is a piece of the same values.
        load = differs * rhythm * (1 + 0.01 * draw.standard_normal((hosts, count)))
        found: dict[Key, Floats] = {}
        for key, value in service.recorded.gauges.items():
            grows = key[0].endswith("_bytes") and not key[0].startswith(("hew_limit", "hew_group"))
            found[key] = load * value * service.size if grows else np.full((hosts, count), value)
        for key, rate in service.recorded.rates.items():
            found[key] = load * max(rate, 0.0) * (1 + 0.05 * draw.standard_normal((hosts, count)))
        self._healthy(found)
        self._plant(service, found, draw)
        if ("hew_group_used_bytes", ()) not in found:
            used = found[("hew_process_resident_bytes", ())]
            found[("hew_group_used_bytes", ())] = used * 1.02
            found[("hew_group_limit_bytes", ())] = np.full((hosts, count), used.max() * 2)
        found[("hew_process_info", service.recorded.info)] = np.ones((hosts, count))
        for key in [key for key in found if key[0].endswith("_total")]:
            found[key] = np.cumsum(found[key] * self.every, axis=1)
        self._played[number] = found
        return found

    def _healthy(self, found: dict[Key, Floats]) -> None:
        """A recorded process may have a problem of its own: it is made smaller than what any rule speaks of."""
        allocated = found["hew_allocated_bytes", ()]
        found["hew_active_bytes", ()] = np.minimum(found["hew_active_bytes", ()], allocated * 1.1)
        for state, share in (("dirty", 0.08), ("muzzy", 0.0)):
            idle = found["hew_idle_bytes", (("state", state),)]
            found["hew_idle_bytes", (("state", state),)] = np.minimum(idle, allocated * share)
        for key in (("hew_thread_cache_bytes", ()), ("hew_holes_bytes", ())):
            found[key] = np.minimum(found[key], allocated * 0.05)
        for key in (("hew_group_used_bytes", ()), ("hew_group_limit_bytes", ())):
            found.pop(key, None)
        self._resident(found)

    def _resident(self, found: dict[Key, Floats]) -> None:
        """What follows from the parts."""
        idle = sum(found["hew_idle_bytes", (("state", state),)] for state in ("dirty", "muzzy"))
        parts = found["hew_active_bytes", ()] - found["hew_holes_bytes", ()] + idle + found["hew_metadata_bytes", ()]
        found["hew_resident_bytes", ()] = parts
        found["hew_process_resident_bytes", ()] = parts * 1.03

    def _plant(self, service: Service, found: dict[Key, Floats], draw: np.random.Generator) -> None:
        allocated, amount = found["hew_allocated_bytes", ()], service.amount
        for key, (first, more) in CONSTANT.get(service.problem, {}).items():
            found[key] = np.full(allocated.shape, first + more * amount)
        for key, (first, more) in OF_ALLOCATED.get(service.problem, {}).items():
            found[key] = allocated * (first + more * amount)
        if service.problem == "mixed":
            self._mix(service, found, draw)
        if service.problem == "rollout":
            self._roll_out(service, found, draw)
        self._resident(found)
        if service.problem == "limit":
            self._limit(service, found)

    def _mix(self, service: Service, found: dict[Key, Floats], draw: np.random.Generator) -> None:
        """A tenth of the hosts has another setting."""
        shape = found["hew_allocated_bytes", ()].shape
        other = draw.permutation(shape[0])[: max(shape[0] // 10, 1)] if shape[0] > 2 else np.array([], dtype=int)
        found[DECAY] = np.full(shape, 10.0)
        found[DECAY][other] = 2.0
        self.truth.mixed[service.name] = {service.hosts[one] for one in other}

    def _roll_out(self, service: Service, found: dict[Key, Floats], draw: np.random.Generator) -> None:
        """A shorter decay and less memory from the middle of the day on, on most hosts."""
        hosts, count = found["hew_allocated_bytes", ()].shape
        kept = draw.permutation(hosts)[: max(round(hosts * KEPT), 1)] if hosts > 2 else np.array([], dtype=int)
        with_it = np.setdiff1d(np.arange(hosts), kept)
        later = np.arange(count) >= count * ROLLED_OUT
        found[DECAY] = np.full((hosts, count), 10.0)
        found[DECAY][np.ix_(with_it, later)] = 1.0
        for key in (("hew_allocated_bytes", ()), ("hew_active_bytes", ())):
            found[key] = found[key].copy()
            found[key][np.ix_(with_it, later)] *= LESS
        self.truth.rollout, self.truth.kept = service.name, {service.hosts[one] for one in kept}
        self.truth.mixed[service.name] = set(self.truth.kept)

    def _limit(self, service: Service, found: dict[Key, Floats]) -> None:
        """One host grows towards its limit, a tenth of what is left a day or more."""
        used = np.array(found["hew_process_resident_bytes", ()])
        day = (self.times - self.times[0])[None, :] / DAY
        limit = used.max() * 4
        grows = np.zeros((len(used), 1))
        grows[0] = limit * 0.04 * (1 + service.amount)
        base = np.where(np.arange(len(used))[:, None] == 0, limit * SHARE, used * 1.02)
        wobbles = 1 + 0.002 * np.sin(day * 50)
        found["hew_group_used_bytes", ()] = (base + grows * day) * wobbles
        found["hew_group_limit_bytes", ()] = np.full(used.shape, limit)
        left = limit - (limit * SHARE + grows[0, 0])
        self.truth.limits[service.name] = float(self.times[-1] + left / grows[0, 0] * DAY)

    def _tell(self, service: Service, found: Mapping[Key, Floats], hour: NDArray[np.bool_]) -> None:
        """What a planted problem costs in the last hour."""

        def mean(*keys: Key) -> float:
            return float(sum(found[key][:, hour].mean(axis=1).sum() for key in keys))

        def rate(*keys: Key) -> float:
            span = float(self.times[-1] - self.times[hour][0]) + self.every
            first = int(np.argmax(hour)) - 1
            return float(sum((found[key][:, -1] - found[key][:, first]).sum() for key in keys)) / span

        dirty, muzzy = (("state", "dirty"),), (("state", "muzzy"),)
        if service.problem == "lock waits":
            cost = rate(("hew_lock_wait_seconds_total", ()))
        elif service.problem == "idle pages":
            cost = mean(("hew_idle_bytes", dirty), ("hew_idle_bytes", muzzy))
        elif service.problem == "thread caches":
            cost = mean(("hew_thread_cache_bytes", ()))
        elif service.problem == "fragmentation":
            cost = mean(("hew_active_bytes", ())) - mean(("hew_allocated_bytes", ()), ("hew_holes_bytes", ()))
        elif service.problem == "page faults":
            cost = rate(("hew_purged_bytes_total", dirty), ("hew_purged_bytes_total", muzzy)) / PAGE * 2e-6
        elif service.problem == "fills":
            cost = rate(("hew_fills_total", (("size", "small"),)), ("hew_fills_total", (("size", "large"),))) * 1e-6
        elif service.problem == "holes faulted in again":
            cost = rate(("hew_holes_refaulted_bytes_total", ())) / PAGE * 2e-6
        else:
            return
        self.truth.costs[service.name, service.problem] = cost


def scores(truth: Truth, gib_per_core: float) -> dict[str, float]:
    """What each service with a planted cost can get back, in cores."""
    memory = {"idle pages", "thread caches", "fragmentation"}
    return {
        service: cost / GIB / gib_per_core if kind in memory else cost for (service, kind), cost in truth.costs.items()
    }
