# SPDX-License-Identifier: MIT
"""Memory maps as text: rows, figures, and what has the shape of one of glibc's regions."""

import os

from hypothesis import given
from hypothesis import strategies as st

from hew.sources.process_memory import REGION, heap_regions, parse_areas, read_areas

SMAPS = """\
7f0000000000-7f0000100000 rw-p 00000000 00:00 0
Size:               1024 kB
Rss:                 512 kB
Anonymous:           500 kB
LazyFree:              4 kB
AnonHugePages:         0 kB
Swap:                  8 kB
VmFlags: rd wr mr mw me ac
7f0000100000-7f0004000000 ---p 00000000 00:00 0
Rss:                   0 kB
55f0d3f83000-55f0d3f85000 r-xp 00000000 fe:00 247278   /usr/bin/a name with spaces (deleted)
Rss:                   8 kB
"""
NOBODY = 2**22 + 1  # no process has this number, so no head of a region can be read


def test_rows_and_their_figures_are_read() -> None:
    first, second, third = parse_areas(SMAPS)
    assert (first.resident, first.anonymous, first.lazily_freed, first.swapped) == (512 << 10, 500 << 10, 4096, 8192)
    assert second.rights == "---p"
    assert third.path == "/usr/bin/a name with spaces (deleted)"
    assert (third.size, third.resident) == (8192, 8192)


def test_a_region_is_aligned_written_at_its_start_and_reserved_behind() -> None:
    assert [region.start for region in heap_regions(NOBODY, parse_areas(SMAPS))] == [0x7F0000000000]


def test_full_regions_side_by_side_are_counted_one_by_one() -> None:
    text = f"7f0000000000-{0x7F0000000000 + 2 * REGION + 4096:x} rw-p 0 00:00 0 \n"
    text += f"{0x7F0000000000 + 2 * REGION + 4096:x}-{0x7F0000000000 + 3 * REGION:x} ---p 0 00:00 0 \n"
    assert len(heap_regions(NOBODY, parse_areas(text))) == 3


def test_what_is_not_reserved_up_to_the_next_border_is_no_region() -> None:
    text = "7f0000000000-7f0000100000 rw-p 0 00:00 0 \n7f0000100000-7f0002000000 ---p 0 00:00 0 \n"
    assert heap_regions(NOBODY, parse_areas(text)) == []


def test_our_own_map_is_read() -> None:
    areas, with_figures = read_areas(os.getpid())
    assert with_figures
    assert sum(area.resident for area in areas) > 1 << 20


@given(st.text(max_size=300))
def test_any_text_is_read_without_an_error(text: str) -> None:
    heap_regions(NOBODY, parse_areas(text))
