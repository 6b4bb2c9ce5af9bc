# SPDX-License-Identifier: MIT
"""Reading what redis-benchmark prints. The texts are as version 7.0 prints them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hew.model.figures import client_figures
from hew.sources.redis_benchmark import read_client_output

CSV = """\
"test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms","p99_latency_ms","max_latency_ms"
"SET","89285.71","0.366","0.104","0.343","0.639","0.775","2.799"
"MSET (10 keys)","62893.08","0.614","0.144","0.639","0.887","1.047","1.623"
"""

SUMMARY = """\rSET: rps=0.0 (overall: -nan)          \r                    \r====== SET ======
  20000 requests completed in 0.28 seconds
  50 parallel clients

Latency by percentile distribution:
0.000% <= 0.047 milliseconds (cumulative count 2)
99.219% <= 0.903 milliseconds (cumulative count 19844)
99.609% <= 1.103 milliseconds (cumulative count 19922)
100.000% <= 1.935 milliseconds (cumulative count 20000)

Cumulative distribution of latencies:
99.780% <= 1.503 milliseconds (cumulative count 19956)

Summary:
  throughput summary: 71684.59 requests per second
  latency summary (msec):
          avg       min       p50       p95       p99       max
        0.453     0.040     0.447     0.679     0.815     1.935
====== GET ======
Summary:
  throughput summary: 80000.00 requests per second
  latency summary (msec):
          avg       min       p50       p95       p99       max
        0.400     0.030     0.399     0.500     0.600     1.000
"""

QUIET = (
    "\rSET: rps=71960.2 (overall: 71960.2) avg_msec=0.457      \r      "
    "\rSET: 71428.57 requests per second, p50=0.447 msec\n\n"
)


def test_csv_gives_rate_and_latencies_of_every_test() -> None:
    figures = read_client_output(CSV)
    assert figures["client.SET.requests_per_second"] == 89285.71
    assert figures["client.SET.p95_seconds"] == pytest.approx(0.639e-3)
    assert figures["client.MSET (10 keys).p99_seconds"] == pytest.approx(1.047e-3)
    assert len(figures) == 8


def test_the_long_summary_gives_the_same_figures() -> None:
    figures = read_client_output(SUMMARY)
    assert figures["client.SET.requests_per_second"] == 71684.59
    assert figures["client.SET.p50_seconds"] == pytest.approx(0.447e-3)
    assert figures["client.GET.p99_seconds"] == pytest.approx(0.6e-3)
    assert figures["client.SET.p99_6_seconds"] == pytest.approx(1.103e-3)
    assert len(figures) == 9


def test_the_quiet_line_gives_rate_and_median() -> None:
    assert read_client_output(QUIET) == {
        "client.SET.requests_per_second": 71428.57,
        "client.SET.p50_seconds": pytest.approx(0.447e-3),
    }


@given(st.text())
def test_any_other_text_gives_nothing_and_no_error(text: str) -> None:
    assert read_client_output(text) == {}


def test_figures_of_one_test_need_no_prefix_and_of_several_they_have_one() -> None:
    assert [figure.label for figure in client_figures(set(read_client_output(QUIET)))] == [
        "requests per second",
        "latency p50",
    ]
    labels = [figure.label for figure in client_figures(set(read_client_output(CSV)))]
    assert labels[0] == "MSET (10 keys) requests per second"
    assert "SET latency p99" in labels


def test_only_the_rate_is_better_when_it_is_more() -> None:
    figures = client_figures(set(read_client_output(CSV)))
    assert {figure.more_is_better for figure in figures if "requests" in figure.label} == {True}
    assert {figure.more_is_better for figure in figures if "latency" in figure.label} == {False}
