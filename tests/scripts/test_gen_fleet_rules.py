# SPDX-License-Identifier: MIT
"""docs/fleet_rules.yml follows from what the ranking asks."""

from pathlib import Path

import gen_pages
from pages import fleet_rules

ROOT = Path(__file__).parents[2]


def test_each_query_is_a_rule_and_a_stale_file_is_found(tmp_path: Path) -> None:
    (tmp_path / "tool").symlink_to(ROOT / "tool")
    assert gen_pages.main(["fleet-rules", "--root", str(tmp_path), "--check"]) == 1
    assert gen_pages.main(["fleet-rules", "--root", str(tmp_path)]) == 0
    text = (tmp_path / fleet_rules.PAGE.file).read_text()
    assert (
        "record: service:hew_fills_total:rate5m\n        expr: sum by (service_name) (rate(hew_fills_total[5m]))"
        in text
    )
    assert text == (ROOT / fleet_rules.PAGE.file).read_text()
