# SPDX-License-Identifier: MIT
"""Reads a request's path and query string, and refuses wrong ones."""

from starlette.requests import Request

from hew.model.errors import HewError


class AnswerError(HewError):
    """Not done: a status of HTTP, and the sentence that says why."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


def pid_of(request: Request) -> int:
    """The process that the path names."""
    return _in_range(int(request.path_params["pid"]))


def number_of(request: Request, name: str) -> int:
    """A number behind the question mark."""
    text = request.query_params.get(name, "")
    if not text.isascii() or not text.isdecimal() or len(text) > 12:
        raise AnswerError(400, f"{name} is no number")
    return _in_range(int(text))


def _in_range(number: int) -> int:
    if number >= 1 << 31:
        raise AnswerError(404, "there is no such number")
    return number


def seconds_of(request: Request, name: str) -> float:
    """A time or a span there; 0 where there is none."""
    try:
        return float(request.query_params.get(name, "0"))
    except ValueError as error:
        raise AnswerError(400, f"{name} is no number") from error
