# SPDX-License-Identifier: MIT
"""The figures of docs/tuning.md: from a made-up measurement."""

import gen_tuning

from hew.analysis.verification import figures_of, outcomes
from hew.model.advice import Advice, Evidence, Setting
from hew.model.figures import Unit
from hew.model.report import Machine
from hew.model.run import Run
from hew.model.statistics import Arena, Bin, Mutex, Reading, Snapshot
from hew.model.verification import WITHOUT, Variant, Verification
from hew.sources.statistics_run import Observed

ADVICE = Advice(
    "slab-sizes",
    "slabs hold few",
    "jemalloc 5.3.0",
    (Evidence("fills", 80_000.0, Unit.PER_SECOND, "stats"),),
    (Setting("slab_sizes", "4096-4096:32"),),
    "less",
    "more",
    "low",
    "again",
)
BIN = Bin(size=4096, nregs=1, nrequests=1000, nfills=100, nslabs=900, nreslabs=100)
MERGED = Arena("merged", nthreads=3, bins=(BIN,), mutexes={"extents_dirty": Mutex(num_ops=5000, num_wait=7)})


def verification() -> Verification:
    variants = [Variant(WITHOUT, (), {}), Variant("slab-sizes", (ADVICE,), {"MALLOC_CONF": "slab_sizes:4096-4096:32"})]
    variants.append(gen_tuning.OWN_ARENAS)
    runs = [
        Run(one.name, number, {"wall_seconds": 1.0, "cpu_seconds": cpu * number, "peak_rss_bytes": 2.0**20})
        for number in range(1, 8)
        for one, cpu in zip(variants, (1.0, 0.75, 1.0), strict=True)
    ]
    machine = Machine("a CPU", 2, 2**33, "Linux 6", "glibc 2.36", 0.5)
    results = tuple(outcomes(variants, runs))
    return Verification(
        ("hot",), "jemalloc 5.3.0", 7, 1, "2026-01-02", machine, 0.95, figures_of(runs), results, (), ()
    )


def test_a_section_has_the_statistics_the_advice_and_what_it_changed() -> None:
    seen = Observed(Reading("x", (Snapshot("text", "5.3.0-0-gabc", merged=MERGED),)), None)
    text = "\n".join(gen_tuning.section("jemalloc", seen, verification()))
    assert "| 4096 B | 1 | 1,000 | 100 | 10.0 | 1,000 |" in text
    assert "**slab-sizes**" in text
    assert "| slab-sizes | 3.00 s: 0.75× (0.750 – 0.750) |" in text
    assert "CPU time 25 % less" in text
    assert "peak RSS no difference" in text


def test_a_busy_machine_is_said() -> None:
    assert "busy" in gen_tuning.circumstances(verification(), 1.9, 7)[0]
    assert "busy" not in gen_tuning.circumstances(verification(), 0.2, 7)[0]
