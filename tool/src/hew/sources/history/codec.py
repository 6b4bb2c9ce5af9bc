# SPDX-License-Identifier: MIT
"""Frozen records as plain JSON values, and back, by the types of their fields.

What is as its default says is left out. A tuple of records is a table: the names of its columns, then its rows, so that
a hundred size classes do not repeat their names. A name that is not known is passed over: a newer hew may add some.
"""

import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

Kind = TypeVar("Kind")
LARGEST = 1 << 64  # and above: no number of ours


def plain(value: Any) -> Any:
    """What json.dumps takes."""
    if is_dataclass(value) and not isinstance(value, type):
        return {
            one.name: plain(part)
            for one in fields(value)
            if one.default is not (part := getattr(value, one.name)) and part != _default(one)
        }
    if isinstance(value, Mapping):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, tuple):
        return _table(value) if value and is_dataclass(value[0]) else [plain(part) for part in value]
    return value


def _default(one: "Field[Any]") -> Any:
    if one.default is not MISSING:
        return one.default
    return one.default_factory() if one.default_factory is not MISSING else MISSING


def _table(rows: tuple[Any, ...]) -> list[list[Any]]:
    """The columns in which any row differs from the default."""
    found = [plain(row) for row in rows]
    names = [one.name for one in fields(rows[0]) if any(one.name in row for row in found)]
    return [names, *([row.get(name) for name in names] for row in found)]


def made(kind: type[Kind], value: object) -> Kind:
    """The record that `plain` made this of. Raises ValueError for what is none."""
    return cast(Kind, _reader(cast(Any, kind))(value))


@cache
def _reader(kind: Any) -> Callable[[Any], Any]:
    """What makes a value of this type."""
    arguments = get_args(kind)
    if get_origin(kind) in {Union, types.UnionType}:
        return _either([_reader(one) for one in arguments if one is not types.NoneType], types.NoneType in arguments)
    if isinstance(kind, type) and is_dataclass(kind):
        return _record(kind)
    if get_origin(kind) is tuple:
        return _rows(cast(Any, arguments[0])) if is_dataclass(arguments[0]) else _many(_reader(arguments[0]))
    if get_origin(kind) is not None and issubclass(get_origin(kind), Mapping):
        return _mapping(_reader(arguments[1]))
    if kind is float:
        return _scalar((int, float))
    return _scalar((kind,))


def _scalar(kinds: tuple[type, ...]) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise ValueError(f"{value!r} is no {kinds[0].__name__}")
        if isinstance(value, int) and abs(value) >= LARGEST:
            raise ValueError("a number of more than 64 bits")
        return value

    return read


def _either(readers: list[Callable[[Any], Any]], may_be_none: bool) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if value is None and may_be_none:
            return None
        for one in readers[:-1]:
            try:
                return one(value)
            except ValueError:
                continue
        return readers[-1](value)

    return read


def _many(reader: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: tuple(reader(one) for one in _is(value, list))


def _mapping(reader: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: {str(name): reader(one) for name, one in _is(value, dict).items()}


def _rows(kind: type) -> Callable[[Any], Any]:
    reader = _reader(kind)

    def read(value: Any) -> Any:
        names, *rows = _is(value, list) or [[]]
        pairs = (zip(_is(names, list), _is(row, list), strict=True) for row in rows)
        return tuple(reader({name: one for name, one in row if one is not None}) for row in pairs)

    return read


def _record(kind: type) -> Callable[[Any], Any]:
    readers: dict[str, Callable[[Any], Any]] = {}

    def read(value: Any) -> Any:
        if not readers:  # not sooner: types may hold themselves
            hints = get_type_hints(kind)
            readers.update({one.name: _reader(hints[one.name]) for one in fields(kind)})
        found = {name: readers[name](one) for name, one in _is(value, dict).items() if name in readers}
        try:
            return kind(**found)
        except TypeError as error:
            raise ValueError(str(error)) from error

    return read


def _is(value: Any, kind: type[Kind]) -> Kind:
    if not isinstance(value, kind):
        raise ValueError(f"{kind.__name__} expected")
    return value
