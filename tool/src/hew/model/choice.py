# SPDX-License-Identifier: MIT
"""What a comparison says to choose."""

from hew.model.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Choice:
    """One piece of advice, and a line for each axis that names its winners."""

    advice: str
    axes: tuple[str, ...] = ()
