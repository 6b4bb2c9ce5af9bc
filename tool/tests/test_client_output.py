# SPDX-License-Identifier: MIT
"""What load generators print, as their manuals and runs show it."""

import pytest

from hew.model.run import Metric
from hew.sources.client_output import read_client_output

WRK = """Running 2s test @ http://127.0.0.1:8080/
  2 threads and 10 connections
  Latency Distribution
     50%  198.00us
     99%    1.20ms
  20000 requests in 2.00s, 16.00MB read
Requests/sec:  10012.50
Transfer/sec:      8.00MB
"""
HEY = """
Summary:
  Total:\t2.0 secs
  Slowest:\t0.0100 secs
  Requests/sec:\t4321.5
Latency distribution:
  50% in 0.0010 secs
  99% in 0.0090 secs
"""
MEMTIER = """ALL STATS
============================================
Type         Ops/sec     Hits/sec   Misses/sec
Sets         9090.11          ---          ---
Totals     100000.25      1000.00     89909.90
"""
SYSBENCH = """sysbench 1.0.20
    transactions:                        1234   (617.05 per sec.)
         95th percentile:                        3.02
"""
SYSBENCH_CPU = """sysbench 1.0.20
CPU speed:
    events per second:  1500.75
General statistics:
"""
PGBENCH = """pgbench (15.3)
transaction type: <builtin: TPC-B (sort of)>
latency average = 1.9 ms
tps = 526.50 (without initial connection time)
"""


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        (WRK, "client.wrk.requests_per_second", 10012.5),
        (WRK, "client.wrk.p50_seconds", 198e-6),
        (WRK, "client.wrk.p99_seconds", 1.2e-3),
        (HEY, "client.hey.requests_per_second", 4321.5),
        (HEY, "client.hey.p99_seconds", 0.009),
        (MEMTIER, "client.memtier.requests_per_second", 100000.25),
        (SYSBENCH, "client.sysbench.requests_per_second", 617.05),
        (SYSBENCH, "client.sysbench.p95_seconds", 3.02e-3),
        (SYSBENCH_CPU, "client.sysbench.requests_per_second", 1500.75),
        (PGBENCH, "client.pgbench.requests_per_second", 526.5),
    ],
)
def test_what_a_load_generator_prints_is_read(text: str, key: str, value: float) -> None:
    assert read_client_output(text)[key] == pytest.approx(value)


def test_of_other_programs_nothing_is_read_but_what_the_user_names() -> None:
    text = "Requests/sec: 5\nops/s 1,000\nops/s 2,000\n"
    assert read_client_output(text) == {}
    assert read_client_output(text, [Metric("ops/s", r"ops/s ([\d,]+)")]) == {"metric.more.ops/s": 2000.0}
