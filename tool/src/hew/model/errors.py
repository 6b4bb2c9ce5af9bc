# SPDX-License-Identifier: MIT
"""Errors that a user can act on. Each carries the one line to print and the exit status to leave with."""


class HewError(Exception):
    """Something the user asked for cannot be done; `str(error)` is the whole message, in one line."""

    exit_status = 1


class CommandNotFoundError(HewError):
    """The command to run does not exist (the shell's 127)."""

    exit_status = 127


class CommandNotExecutableError(HewError):
    """The command to run exists and may not be executed (the shell's 126)."""

    exit_status = 126
