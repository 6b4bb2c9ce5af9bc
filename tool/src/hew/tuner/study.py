# SPDX-License-Identifier: MIT
"""Optuna's study: proposes candidates, and stores results where several searches may share them.

Owns      the form of trials in the storage; the identity that gives each command a study of its own.
Promises  each finished trial is stored whole; if the process ends, only unfinished candidates are lost.
Not here  how candidates are measured (commands/searching.py), and which is best (analysis/search).
"""

import contextlib
import hashlib
import json
import logging
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import optuna
from optuna.exceptions import StorageInternalError
from optuna.samplers import BaseSampler, NSGAIISampler, RandomSampler, TPESampler
from optuna.storages import BaseStorage, InMemoryStorage, RDBStorage
from optuna.trial import FrozenTrial, Trial, TrialState
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from hew.analysis.search.space import candidate_of
from hew.model.errors import HewError
from hew.model.search import Candidate, Choice, Tried, Wanted

NAME = "hew-search/1"
SAMPLERS = ("tpe", "nsga2", "random")
ALLOCATOR = "allocator"
OPEN_TRIES = 20  # two searches that make one file at the same moment: the later one looks again
LOCKED_SECONDS = 60  # how long one waits for another's write
STORAGE_ERRORS = (SQLAlchemyError, StorageInternalError)
HOPELESS = (
    "not a database",
    "unable to open",
    "readonly",
    "refused",
    "authentication",
    "does not exist",
    "translate host",
)
ASKS = 30  # proposals in a row that were tried before, until the space counts as exhausted


class Study:
    """One search, perhaps of several processes at once."""

    def __init__(
        self,
        storage: str | None,
        identity: Mapping[str, Any],
        choices: Sequence[Choice],
        wanted: Wanted,
        sampler: BaseSampler,
    ) -> None:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        logging.getLogger("alembic").setLevel(logging.ERROR)
        self._choices = {one.allocator.name: one for one in choices}
        self._wanted = wanted
        self._source = shown(storage) if storage else "memory"
        name = f"{NAME} {_digest(identity)}" if storage and is_url(storage) else NAME
        self._study = _opened(storage, name, len(wanted.goals), sampler)
        self._claim(identity)

    def _claim(self, identity: Mapping[str, Any]) -> None:
        """The study is of this command and these goals, or it is refused."""
        text = json.dumps(identity, sort_keys=True)
        known = self._study.user_attrs.get("identity")
        if known is None:
            self._study.set_user_attr("identity", text)
        elif known != text:
            had, has = json.loads(known), json.loads(text)
            differs = ", ".join(name for name in has if has[name] != had.get(name))
            raise HewError(f"{self._source} holds a search with another {differs}: give another --storage")

    def suggest(self, first: Candidate) -> None:
        """Put a candidate before those that the sampler thinks of, unless it is there already."""
        values = {one.name: one.value for one in first.settings}
        parameters = self._choices[first.allocator].parameters
        fixed = {f"{first.allocator} {one.name}": values.get(one.name, "") for one in parameters}
        self._study.enqueue_trial({ALLOCATOR: first.allocator, **fixed}, skip_if_exists=True)

    def ask(self, count: int, base: Candidate) -> list[tuple[Trial, Candidate]]:
        """Up to `count` candidates that were not tried before. Candidates tried before get their known results, and the
        base gets ratios of 1."""
        as_it_is = Tried(base, {goal.figure.key: 1.0 for goal in self._wanted.goals})
        found: list[tuple[Trial, Candidate]] = []
        tries = 0
        while len(found) < count and tries < ASKS:
            trial = self._study.ask()
            try:
                candidate = self._candidate(trial)
            except optuna.exceptions.UpdateFinishedTrialError:  # another process was given it as well, and is done
                tries += 1
                continue
            known = next((one for one in (as_it_is, *self.tried()) if one.candidate == candidate), None)
            if known is None and all(candidate != other for _, other in found):
                found.append((trial, candidate))
                tries = 0
            else:
                tries += 1
                self.tell(trial, known, again=True)
        return found

    def _candidate(self, trial: Trial) -> Candidate:
        names = sorted(self._choices)
        name = trial.suggest_categorical(ALLOCATOR, names) if len(names) > 1 else names[0]
        choice = self._choices[name]
        values = {
            one.name: trial.suggest_categorical(f"{name} {one.name}", ["", *one.values]) for one in choice.parameters
        }
        return candidate_of(choice, values)

    def tell(self, trial: Trial, tried: Tried | None, again: bool = False) -> None:
        """Store a trial's result. None and failed runs are failures to the sampler."""
        with contextlib.suppress(optuna.exceptions.UpdateFinishedTrialError):  # another process was given it as well
            if tried is not None:
                candidate = [tried.candidate.allocator, _parameters(tried.candidate)]
                stored = {"ratios": dict(tried.ratios), "rounds": tried.rounds, "candidate": candidate, "again": again}
                for name, value in (stored | {"failure": tried.failure}).items():
                    trial.set_user_attr(name, value)
            if tried is None or tried.failure is not None:
                self._study.tell(trial, state=TrialState.FAIL)
            else:
                self._study.tell(trial, list(self._wanted.costs(tried.ratios)))

    def tried(self) -> list[Tried]:
        """All that was measured, by every process of the study, in its order."""
        trials = self._study.get_trials(deepcopy=False, states=(TrialState.COMPLETE, TrialState.FAIL))
        return [tried for one in trials if (tried := self._read(one)) is not None]

    def _read(self, trial: FrozenTrial) -> Tried | None:
        """None for one that was given up, or was answered from another one."""
        attrs = trial.user_attrs
        if attrs.get("again", True):
            return None
        allocator, parameters = attrs["candidate"]
        choice = self._choices.get(allocator)
        if choice is None:
            return None
        values = {name.partition(" ")[2]: value for name, value in parameters.items() if name != ALLOCATOR}
        return Tried(candidate_of(choice, values), attrs["ratios"], attrs["rounds"], attrs.get("failure"))


def _parameters(candidate: Candidate) -> dict[str, str]:
    """The candidate as the sampler has it."""
    return {ALLOCATOR: candidate.allocator} | {
        f"{candidate.allocator} {one.name}": one.value for one in candidate.settings
    }


def sampler_of(name: str, seed: int | None, wanted: Wanted) -> BaseSampler:
    """One of SAMPLERS, which prefers what keeps the limits."""

    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)

    def constraints(trial: FrozenTrial) -> Sequence[float]:
        ratios = trial.user_attrs.get("ratios", {})
        return [limit.excess(ratios) for limit in wanted.limits] or [0.0]

    if name == "random":
        return RandomSampler(seed=seed)
    if name == "nsga2":
        return NSGAIISampler(population_size=16, seed=seed, constraints_func=constraints)
    return TPESampler(
        seed=seed, n_startup_trials=8, multivariate=True, group=True, constant_liar=True, constraints_func=constraints
    )


def is_url(storage: str) -> bool:
    """Whether it names a database by URL, in which each command has a study of its own; else it is a file of one."""
    return "://" in storage


def shown(storage: str) -> str:
    """As it may be printed: without a password."""
    try:
        return make_url(storage).render_as_string(hide_password=True) if is_url(storage) else storage
    except ArgumentError:
        return storage.partition("://")[0] + "://…"


def _digest(identity: Mapping[str, Any]) -> str:
    """A name for a command with its goals."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]


def _opened(storage: str | None, name: str, goals: int, sampler: BaseSampler) -> optuna.Study:
    """The study there, made when there is none."""
    problem: Exception | None = None
    for _ in range(OPEN_TRIES):
        try:
            return optuna.create_study(
                storage=_storage(storage),
                study_name=name,
                directions=["minimize"] * goals,
                load_if_exists=True,
                sampler=sampler,
            )
        except (*STORAGE_ERRORS, RuntimeError) as error:
            problem = error
            if any(words in reason_of(error) for words in HOPELESS):
                break
            time.sleep(0.25)
    said = reason_of(problem) if problem else "it cannot be opened"
    wants = (
        "a database that can be reached" if is_url(storage or "") else "a file that hew search has made, or none yet"
    )
    raise HewError(f"{shown(storage or '')}: {said}: --storage wants {wants}")


def reason_of(error: Exception) -> str:
    """Why the storage failed, in SQLite's own words where it has some."""
    inner = error.__cause__ or error
    return str(getattr(inner, "orig", None) or inner).partition("\n")[0]


def _storage(storage: str | None) -> BaseStorage:
    if storage is None:
        return InMemoryStorage()
    if is_url(storage):
        return _database(storage)
    path = str(Path(storage).absolute())
    if "?" in path:
        raise HewError(f"{storage}: --storage wants a name without ?")
    return RDBStorage(f"sqlite:///{path}", engine_kwargs={"connect_args": {"timeout": LOCKED_SECONDS}})


def _database(url: str) -> BaseStorage:
    """One that several hosts can reach, as PostgreSQL."""
    try:
        return RDBStorage(url)
    except ImportError as error:
        raise HewError(f"{shown(url)}: its driver is missing: pip install 'psycopg[binary]' for PostgreSQL") from error
    except ArgumentError as error:
        raise HewError(f"{shown(url)}: no URL of a database, as postgresql://user@host/name") from error
