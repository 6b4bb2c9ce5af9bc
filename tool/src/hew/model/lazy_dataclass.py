# SPDX-License-Identifier: MIT
"""`dataclass`, whose methods are compiled when the first object of a class is made.

A command imports about a hundred such classes and makes objects of a few. Compiling the methods of all of them takes
longer than reading their modules.
"""

import dataclasses
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls: type | None = None, *, frozen: bool = False) -> Any:
        """As dataclasses.dataclass."""
        return _put_off(cls, frozen) if cls is not None else lambda found: _put_off(found, frozen)


class _Fields:
    """The fields, for dataclasses.replace() and for a class that inherits: asking for them completes the class."""

    def __init__(self, complete: Callable[[], None]) -> None:
        self._complete = complete

    def __get__(self, _: object, cls: type) -> object:
        self._complete()
        return cls.__dataclass_fields__  # type: ignore[attr-defined]


_BY_PYTHON = {"__dict__", "__weakref__"}  # what each class gets anew
_OURS = {"__init__", "__dataclass_fields__"}
_lock = threading.RLock()


def _put_off(cls: type, frozen: bool) -> type:
    done = False

    def complete() -> None:
        """At any time each thread finds an __init__ that works."""
        nonlocal done
        with _lock:
            if not done:
                own = {name: value for name, value in vars(cls).items() if name not in _BY_PYTHON | _OURS}
                twin: type = type(cls.__name__, cls.__bases__, own)
                twin = dataclasses.dataclass(frozen=frozen, repr=False, eq=False)(twin)
                dataclasses.dataclass(frozen=frozen, init=False)(cls)
                cls.__init__ = twin.__init__  # type: ignore[misc]
                done = True

    def first(self: object, *values: object, **named: object) -> None:
        complete()
        cls.__init__(self, *values, **named)  # type: ignore[misc]

    cls.__init__ = first  # type: ignore[misc]
    cls.__dataclass_fields__ = _Fields(complete)  # type: ignore[attr-defined]
    return cls
