# SPDX-License-Identifier: MIT
"""Rows of a JSON report that say nothing, taken out before anything is decoded: a report with thousands of arenas is
mostly such rows."""

import re

B = r"\s*+"
ZERO = rf'"\w++"{B}:{B}0{B},?+{B}'
# An object in a list, every number of which is 0, the counters of its lock too. Objects that have a name are no rows.
# No part of it is tried twice (`+` behind a repetition), so the time is linear in the text.
EMPTY_ROW = re.compile(rf'(?<=[\[,]){B}\{{{B}(?:{ZERO}|"mutex"{B}:{B}\{{{B}(?:{ZERO})*+\}}{B},?+{B})*+\}}')


def without_empty_rows(text: str) -> str:
    """Any stretch of a report with 0 in the place of each such row, so that the others keep theirs: a row's place says
    which class it is of. A row that the stretch cuts is left as it is."""
    return EMPTY_ROW.sub("0", text)
