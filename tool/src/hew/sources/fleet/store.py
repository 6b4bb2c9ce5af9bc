# SPDX-License-Identifier: MIT
"""An embedded store for hosts without an engine: DuckDB over samples, with the same answers as PromQL.

Two tables: each series once with its labels, and samples in order of arrival. Only labels that queries use have a
column; `identity`, which distinguishes series, holds all others.
"""

import contextlib
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hew.model.errors import HewError
from hew.model.fleet import LOOKBACK, Fold, Line, Over, Query, Span, possible
from hew.model.metric import Labels
from hew.sources.extras import need

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

COLUMNS = ("service_name", "instance", "pid", "state", "size", "kind", "outcome", "size_class", "version", "allocator")
SCHEMA = f"""
create table if not exists metrics (id integer, name varchar unique);
create table if not exists series (id integer, metric integer, identity varchar unique,
    {", ".join(f'"{one}" varchar' for one in COLUMNS)});
create table if not exists samples (metric integer, series integer, moment double, value double);
create table if not exists files (path varchar unique, size bigint, changed double, until double);
"""
SETTINGS = {"enable_external_access": "false", "memory_limit": "1GB", "threads": "4"}
NAME = "fleet.duckdb"
# New series go in as JSON: of an array of Python's texts, DuckDB looks for pandas again at each of them.
SERIES = ("id", "metric", "identity", *COLUMNS)
SHAPE = json.dumps([{one: "integer" if one in SERIES[:2] else "varchar" for one in SERIES}])


class StoreSource:
    """A store in a file, or in memory. Not for several threads at once."""

    def __init__(self, path: Path | None, match: Sequence[tuple[str, str]] = ()) -> None:
        self.name = str(path.parent) if path else "memory"
        self._match = tuple(match)
        self._duckdb = _duckdb()
        try:
            self._base = self._duckdb.connect(str(path) if path else ":memory:", config=SETTINGS)
            self._base.execute(SCHEMA)
        except self._duckdb.Error as error:
            busy = "Could not set lock" in str(error)
            then = (
                "another hew fleet or hew serve has it open"
                if busy
                else f"{_first_line(error)}: remove it, it is made anew"
            )
            raise HewError(f"{path}: {then}") from None
        self._metrics = dict(self._rows("select name, id from metrics"))
        self._series: dict[str, int] | None = None

    def ask(self, query: Query, span: Span) -> list[Line]:
        """One SQL query."""
        for name in (*query.by, *(name for name, _ in (*query.match, *self._match))):
            if name not in COLUMNS:
                raise HewError(f"a store does not know series by {name}, only by {', '.join(COLUMNS)}")
        metric = self._metrics.get(query.series)
        if metric is None:
            return []
        whole = replace(query, match=(*query.match, *self._match))
        lines: dict[tuple[str, ...], list[tuple[float, float]]] = {}
        for *labels, step, value in self._rows(*_sql(whole, span, metric)):
            if value is not None and possible(query.series, value):
                lines.setdefault(tuple(labels), []).append((span.ends[int(step)], float(value)))
        return [Line(labels, tuple(sorted(points))) for labels, points in lines.items()]

    def newest(self) -> float | None:
        """The time of the newest sample."""
        newest = next(self._rows("select max(moment) from samples"))[0]
        return None if newest is None else float(newest)

    def read_until(self, path: str, size: int, changed: float) -> float | None:
        """The time of the newest sample read of a file; None when it has not changed since; -inf: never read."""
        text = "select until, size, changed from files where path = ?"
        until, *state = next(self._rows(text, [path]), (-math.inf, None, None))
        return None if state == [size, changed] else float(until)

    def mark(self, path: str, size: int, changed: float, until: float) -> None:
        """A file has been read, up to a time."""
        self._run("insert or replace into files values (?, ?, ?, ?)", [path, size, changed, until])

    @contextlib.contextmanager
    def at_once(self) -> Iterator[None]:
        """All or nothing."""
        self._run("begin")
        try:
            yield
            self._run("commit")
        except BaseException:
            with contextlib.suppress(self._duckdb.Error):  # a commit that fails ends it by itself
                self._base.execute("rollback")
            self._series = None
            self._metrics = dict(self._rows("select name, id from metrics"))
            raise

    def add(self, rows: Iterable[tuple[Labels, float, float]]) -> int:
        """Samples: labels with __name__, time, value. How many there were."""
        import numpy as np  # noqa: PLC0415 - the extra `fleet`

        found = list(rows)
        if found:
            ids = self.ids(labels for labels, _, _ in found)
            self.add_columns(ids, np.array([at for _, at, _ in found]), np.array([float(one) for _, _, one in found]))
        return len(found)

    def add_columns(
        self, series: "NDArray[np.int32]", moment: "NDArray[np.float64]", value: "NDArray[np.float64]"
    ) -> None:
        """Samples of series that `ids` has given, in columns of one length."""
        text = """insert into samples select s.metric, n.series, n.moment, n.value
            from new n join series s on s.id = n.series order by s.metric, n.moment"""
        with self._told():
            self._base.register("new", {"series": series, "moment": moment, "value": value})
            self._base.execute(text)
            self._base.unregister("new")

    def ids(self, found: Iterable[Labels]) -> "NDArray[np.int32]":
        """The numbers of series, made where they are new."""
        import numpy as np  # noqa: PLC0415 - the extra `fleet`

        if self._series is None:
            self._series = dict(self._rows("select identity, id from series"))
        new: list[list[Any]] = []
        numbers = [self._id(labels, self._series, new) for labels in found]
        if new:
            texts = json.dumps([dict(zip(SERIES, one, strict=True)) for one in new])
            self._run("insert into series select unnest(from_json(?::json, ?), recursive := true)", [texts, SHAPE])
        return np.array(numbers, dtype=np.int32)

    def _id(self, labels: Labels, known: dict[str, int], new: list[list[Any]]) -> int:
        identity = "\x1f".join(f"{name}\x1e{value}" for name, value in sorted(labels))
        number = known.get(identity)
        if number is None:
            identity.encode()  # UnicodeEncodeError: half a pair of surrogates, which JSON may have, is no text
            named = dict(labels)
            number = known[identity] = len(known)
            new.append([number, self._metric(named["__name__"]), identity, *(named.get(one, "") for one in COLUMNS)])
        return number

    def _metric(self, name: str) -> int:
        if name not in self._metrics:
            self._metrics[name] = len(self._metrics)
            self._run("insert into metrics values (?, ?)", [self._metrics[name], name])
        return int(self._metrics[name])

    def _rows(self, text: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        with self._told():
            return iter(self._base.execute(text, list(values)).fetchall())

    def _run(self, text: str, values: Sequence[Any] = ()) -> None:
        with self._told():
            self._base.execute(text, list(values))

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """What DuckDB cannot do is said in one line: no room on the disk, a file that is damaged, a text too long."""
        try:
            yield
        except self._duckdb.Error as error:
            raise HewError(f"{self.name}: {_first_line(error)}") from None

    def close(self) -> None:
        """Let others have the file."""
        self._base.close()


def _sql(query: Query, span: Span, metric: int) -> tuple[str, list[Any]]:
    """The query with its values. Which series are meant is found first: most samples are of others."""
    by = "".join(f's."{name}", ' for name in query.by)
    fold = {Fold.SUM: "sum(v)", Fold.MAX: "max(v)", Fold.MIN: "min(v)", Fold.COUNT: "count(v)"}[query.fold]
    where = "".join(f' and "{name}" = ?' for name, _ in query.match)
    only = "and series in (select id from meant)" if query.match else ""
    inner, values = (_last if query.over is Over.LAST else _increase)(span, metric, only)
    text = f"""with meant as materialized (select * from series where metric = ?{where}), one as ({inner})
        select {by} step, {fold} from one join meant s on s.id = one.series group by {by} step"""  # noqa: S608
    return text, [metric, *(value for _, value in query.match), *values]


def _last(span: Span, metric: int, only: str) -> tuple[str, list[Any]]:
    """The last sample before each step's end that is not too old. Steps shorter than that have samples in common."""
    if span.steps > 1 and span.step < LOOKBACK:
        text = f"""select series, step, arg_max(value, moment) as v from samples, range(?) steps(step)
            where metric = ? and moment > ? + (step + 1) * ? - ? and moment <= ? + (step + 1) * ? {only}
            group by series, step"""  # noqa: S608
        return text, [span.steps, metric, span.begin, span.step, LOOKBACK, span.begin, span.step]
    begin, step = (span.end - LOOKBACK, LOOKBACK) if span.steps == 1 else (span.begin, span.step)
    text = f"""select series, step, arg_max(value, moment) as v from (
            select series, moment, value, greatest(ceil((moment - ?) / ?)::integer - 1, 0) as step from samples
            where metric = ? and moment > ? and moment <= ? {only})
        where moment > ? + (step + 1) * ? - ? group by series, step"""  # noqa: S608
    return text, [begin, step, metric, begin, span.end, begin, step, LOOKBACK]


def _increase(span: Span, metric: int, only: str) -> tuple[str, list[Any]]:
    """The sum of what a counter grew by, with what it grew by since the last sample before the step."""
    text = f"""select series, step, sum(case when value >= before then value - before else value end) / ? as v from (
            select series, moment, value, lag(value) over (partition by series order by moment) as before,
                greatest(ceil((moment - ?) / ?)::integer - 1, 0) as step
            from samples where metric = ? and moment > ? and moment <= ? {only})
        where moment > ? and before is not null group by series, step"""  # noqa: S608
    return text, [span.step, span.begin, span.step, metric, span.begin - LOOKBACK, span.end, span.begin]


def _duckdb() -> Any:
    need("duckdb")
    import duckdb  # noqa: PLC0415 - 60 MB that other commands do not need

    return duckdb


def _first_line(error: Exception) -> str:
    """Without what a terminal would obey: it may tell of labels."""
    line = str(error).partition("\n")[0]
    return "".join(one if one.isprintable() else " " for one in line)
