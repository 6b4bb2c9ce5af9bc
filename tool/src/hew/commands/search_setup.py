# SPDX-License-Identifier: MIT
"""Sets up `hew search`: allocators, places to run in, and the settings to try."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from hew.analysis.cut import cut
from hew.analysis.search.space import choice_of, parameters_of
from hew.analysis.verification import changed
from hew.commands.measuring import find_client
from hew.commands.plan_options import PlanOptions
from hew.model.allocator import BASELINE, Allocator, Request
from hew.model.errors import HewError
from hew.model.known_allocators import CONF, GLIBC, HEW, JEMALLOC, OWN_CONF
from hew.model.lazy_dataclass import dataclass
from hew.model.nearest import did_you_mean
from hew.model.search import Candidate, Choice, Parameter
from hew.sources.code import read_code
from hew.sources.discovery import discover, true_baseline, usable_under, without_allocators
from hew.sources.environment import caller_environment
from hew.sources.executable import find_command
from hew.sources.library import find_part
from hew.sources.measure import Place
from hew.sources.simulation import sizes_of
from hew.sources.statistics_run import conf_variable
from hew.sources.trace.recorder import PROGRAM

DEFAULT = Request(HEW)
CLASSES, COUNT = "classes", 36  # the setting, and how many: as many as hew has by itself


@dataclass(frozen=True)
class Search:
    """The user's options; `asked` has those that a verification shares."""

    asked: PlanOptions
    allocators: bool
    goals: tuple[str, ...]
    limits: tuple[tuple[str, bool, float], ...]
    only: tuple[tuple[str, tuple[str, ...]], ...]
    trials: int
    rounds: int
    sampler: str
    seed: int | None
    storage: str | None  # a file, or a database's URL
    trace: Path | None = None  # what candidates are tried on, in place of the command

    @property
    def subject(self) -> tuple[str, ...]:
        """What runs under the allocators in the end: the command, its server, or the replay alone."""
        return self.asked.subject or (str(find_part(PROGRAM)), "run")

    @property
    def replayed(self) -> tuple[str, ...]:
        """What was run where there is no command, as one would do it."""
        return ("hew", "replay", str(self.trace))

    @property
    def digest(self) -> str:
        """The trace, whatever its name."""
        if self.trace is None:
            return ""
        with self.trace.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be said of how candidates were tried."""
        if self.trace is None:
            return ()
        if self.asked.words:
            return (f"tried by replays of {self.trace}; the best of them measured again, and verified, by the command",)
        return ("tried and verified by replays, of the heap alone: a COMMAND behind -- verifies by the program",)


@dataclass(frozen=True)
class Ground:
    """Where candidates run: each allocator with what may be set of it, and the environment of the caller."""

    base: Candidate
    choices: tuple[Choice, ...]
    environment: Mapping[str, str]
    variables: Mapping[str, str]  # by allocator: what it reads its settings from
    notes: tuple[str, ...]

    def changes(self, candidate: Candidate) -> dict[str, str]:
        """What the candidate changes in the environment, the allocator aside."""
        return changed(candidate.settings, self.variables.get(candidate.allocator, CONF), self.environment)

    def place(self, candidate: Candidate) -> Place:
        """Where it runs."""
        return Place(self._library(candidate), {**self.environment, **self.changes(candidate)})

    def shown(self, candidate: Candidate) -> dict[str, str]:
        """What one sets to have it: the changes, and the preload where it is another allocator than the base's."""
        library = self._library(candidate)
        other = library is not None and candidate.allocator != self.base.allocator
        return ({"LD_PRELOAD": str(library)} if other else {}) | self.changes(candidate)

    def _library(self, candidate: Candidate) -> Path | None:
        return next(one.allocator.library for one in self.choices if one.allocator.name == candidate.allocator)


def own_classes(trace: Path) -> tuple[Parameter, ...]:
    """The size classes that waste least for a trace; nothing where it has no small objects to tell from."""
    try:
        found = cut(sizes_of(trace), COUNT, by_peak=False)
    except HewError:
        return ()
    return (Parameter(CLASSES, (found.setting.partition(":")[2],)),)


def ground_of(search: Search) -> Ground:
    """Find the allocators. The base is glibc with --allocators, else the allocator whose settings are searched."""
    environment, notes = without_allocators(caller_environment())
    asked = search.asked
    path = find_command(search.subject[0], environment)
    find_client(asked.plan, environment)
    requests = [] if search.allocators else [asked.request or DEFAULT]
    found, unusable = discover(requests, environment)
    usable, refused = usable_under(found, path, environment)
    baseline, note = true_baseline(path, environment)
    notes += [note] if note else []
    wants_glibc = search.allocators or (asked.request is not None and asked.request.name == BASELINE)
    allocators = [*([baseline] if wants_glibc else []), *usable]
    reasons = [f"{one.name}: {one.reason}" for one in (*unusable, *refused)]
    if not allocators:
        raise HewError("; ".join(reasons) or "no allocator to set anything of")
    if search.allocators:
        notes += [f"{reason}: left out" for reason in reasons]
    choices, variables = _choices(search, allocators, environment)
    if sum(len(one.parameters) + 1 for one in choices) < 2:
        raise HewError(f"nothing can be set of {allocators[0].name}: --alloc hew, or --allocators")
    return Ground(Candidate(allocators[0].name), tuple(choices), environment, variables, tuple(notes))


def _choices(
    search: Search, allocators: Sequence[Allocator], environment: Mapping[str, str]
) -> tuple[list[Choice], dict[str, str]]:
    """What may be set of each, and the variable that each reads."""
    choices, variables = [], {}
    for one in allocators:
        code = read_code(one.library) if one.library else None
        kind = GLIBC if one.name == BASELINE else (code.kind if code and code.kind else one.name)
        variable = conf_variable(search.subject, Place(one.library, environment)) if kind in {HEW, JEMALLOC} else None
        variables[one.name] = OWN_CONF if kind == HEW and variable == CONF else variable or CONF
        more = own_classes(search.trace) if kind == HEW and search.trace else ()
        choices.append(choice_of(one, kind, variable, search.only, more))
    known = {row.name for kind in (HEW, JEMALLOC, GLIBC) for row in parameters_of(kind)}
    known |= {CLASSES} if search.trace else set()
    for name, values in search.only:
        if name not in known and not values:
            raise HewError(
                f"--try {name}{did_you_mean(name, known)}: write --try {name}:VALUE,VALUE; values are known of "
                f"{', '.join(sorted(known))}"
            )
    return choices, variables
