# SPDX-License-Identifier: MIT
"""Why a process or a dump was not read: the values of the label `reason`."""

TIMEOUT = "timeout"  # no answer in time, or a stopped process
DENIED = "denied"  # another user's
HUNG_UP = "hung-up"  # closed the connection and lives on
REFUSED = "refused"  # answered that it cannot
GARBAGE = "garbage"  # not an answer, or no statistics
TOO_LARGE = "too-large"
UNREADABLE = "unreadable"  # a dump that cannot be opened

ALL = (DENIED, GARBAGE, HUNG_UP, REFUSED, TIMEOUT, TOO_LARGE, UNREADABLE)
