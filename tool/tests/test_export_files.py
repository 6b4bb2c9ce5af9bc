# SPDX-License-Identifier: MIT
"""The dashboard, the alert rules and the systemd unit that go with `hew export`."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hew.analysis.metrics.detail_table import ARENA, BIN
from hew.analysis.metrics.exporter_table import OWN
from hew.analysis.metrics.process_table import TABLE
from hew.analysis.metrics.row import Row
from hew.cli import main

ROOT = Path(__file__).parents[2]
DASHBOARD, RULES = ROOT / "docs/grafana.json", ROOT / "docs/alerts.yml"
UNIT = ROOT / "packaging/systemd/hew-export@.service"
TABLES: tuple[tuple[Row[Any], ...], ...] = (TABLE, ARENA, BIN)
METRICS = [row.metric for table in TABLES for row in table] + list(OWN)


def known() -> set[str]:
    return {metric.series for metric in METRICS}


def named_in(text: str) -> set[str]:
    return set(re.findall(r"\bhew_[a-z0-9_]+", text))


def strings(value: object) -> Iterator[tuple[str, object]]:
    """Every key with its value, at any depth."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield key, one
            yield from strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from strings(one)


def test_no_two_series_have_one_name_and_units_end_the_names() -> None:
    assert len({metric.name for metric in METRICS}) == len(METRICS)
    for metric in METRICS:
        assert not metric.unit or metric.name.endswith(f"_{metric.unit}"), metric.name
        assert metric.help.endswith("."), metric.name


def test_the_dashboard_asks_for_series_that_there_are_and_lets_the_user_choose_the_source() -> None:
    dashboard = json.loads(DASHBOARD.read_text())
    queries = [str(value) for key, value in strings(dashboard) if key in {"expr", "definition"}]
    assert len(queries) > 15
    assert named_in(" ".join(queries)) <= known()
    assert [one["type"] for one in dashboard["templating"]["list"]].count("datasource") == 1
    sources = [value for key, value in strings(dashboard) if key == "datasource" and isinstance(value, dict)]
    assert {one["uid"] for one in sources} == {"${datasource}"}


def test_the_rules_speak_of_series_that_there_are() -> None:
    expressions = re.findall(r"^\s+expr: (.+)$", RULES.read_text(), re.MULTILINE)
    assert len(expressions) == 9
    assert named_in(" ".join(expressions)) <= known()


@pytest.mark.skipif(shutil.which("promtool") is None, reason="no promtool on this machine (package prometheus)")
def test_promtool_accepts_the_rules_and_they_fire_for_problems_only() -> None:
    for words in (["check", "rules", str(RULES)], ["test", "rules", str(ROOT / "tests/engines/alerts_test.yml")]):
        done = subprocess.run(["promtool", *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("promtool") is None, reason="no promtool on this machine (package prometheus)")
def test_promtool_accepts_the_queries_of_the_dashboard(tmp_path: Path) -> None:
    queries = [str(value) for key, value in strings(json.loads(DASHBOARD.read_text())) if key == "expr"]
    rules = [{"record": f"query:{number}", "expr": text} for number, text in enumerate(queries)]
    text = json.dumps({"groups": [{"name": "dashboard", "rules": rules}]})  # JSON is YAML
    (tmp_path / "rules").write_text(re.sub(r"\$\w+", ".*", text.replace("$__rate_interval", "5m")))
    done = subprocess.run(
        ["promtool", "check", "rules", tmp_path / "rules"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_unit_starts_what_there_is_and_gives_it_no_rights() -> None:
    lines = [line for line in UNIT.read_text().splitlines() if not line.startswith("#")]
    settings = dict(line.split("=", 1) for line in lines if "=" in line)
    words = settings["ExecStart"].split()[1:]
    command = main.get_command(None, words[0])  # type: ignore[arg-type]
    assert command is not None
    assert command.make_context("hew export", words[1:]).params["listen"] == "127.0.0.1:9464"
    assert (settings["CapabilityBoundingSet"], settings["NoNewPrivileges"]) == ("", "yes")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze on this machine")
def test_systemd_knows_every_setting_of_the_unit(tmp_path: Path) -> None:
    copy = tmp_path / "hew-export@root.service"
    copy.write_text(UNIT.read_text().replace("/usr/bin/hew", "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", copy], capture_output=True, text=True, check=False)
    assert "hew-export" not in done.stderr, done.stderr
