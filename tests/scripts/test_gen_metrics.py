# SPDX-License-Identifier: MIT
"""docs/metrics.md follows from the tables of metrics."""

from pathlib import Path

import gen_pages
from pages import metrics

ROOT = Path(__file__).parents[2]


def test_each_row_of_the_tables_is_a_line_and_a_stale_page_is_found(tmp_path: Path) -> None:
    (tmp_path / "tool").symlink_to(ROOT / "tool")
    assert gen_pages.main(["metrics", "--root", str(tmp_path), "--check"]) == 1
    assert gen_pages.main(["metrics", "--root", str(tmp_path)]) == 0
    assert gen_pages.main(["metrics", "--root", str(tmp_path), "--check"]) == 0
    text = (tmp_path / metrics.PAGE.file).read_text()
    assert "| `hew_requests_total` | counter | | `size`: small, large | Requests for memory" in text
    assert "| `hew_bin_fills_total` | counter |" in text
    assert text == (ROOT / metrics.PAGE.file).read_text()
