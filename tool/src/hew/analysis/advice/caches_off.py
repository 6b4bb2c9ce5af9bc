# SPDX-License-Identifier: MIT
"""Thread caches are off, or hold none of the sizes that the program uses.

Without a cache each malloc and free takes an arena's lock: 909 instructions a pair in hew with
`tcache:false`, 33 with it.

Speaks when `tcache:false` is in force, or `tcache_max` is below the classes that do most of the
work, and this costs something: threads wait for arena locks (5 % of a thread's time, or 100 waits a
second where times are not reported), or 100,000 requests a second reach the arenas (2 % of a CPU).
It precedes the rules on contention: more arenas end the waiting, but not the locks.
"""

from hew.analysis.advice.basis import Basis, arena_wait, basis, is_hew, version
from hew.model.advice import Advice, Case, Evidence, Setting
from hew.model.figures import Unit

NAME = "caches-off"
REQUESTS_PER_SECOND = 100_000.0
LARGEST_CACHED = 32 << 10  # bytes: what jemalloc and hew keep at most by default
MOST_OF_THE_WORK = 0.5


def rule(case: Case) -> Advice | None:
    """The advice, or None."""
    base = basis(case)
    if base is None:
        return None
    off = base.snapshot.option("tcache") is False
    requests = _uncached(base, off)
    wait = arena_wait(base.arena, base.seconds)
    if not requests or not (wait.much or base.per_second(requests) >= REQUESTS_PER_SECOND):
        return None
    where = f"{base.arena.where}.(small, large).nmalloc" if off else f"{base.arena.where}.bins[].nmalloc"
    return Advice(
        rule=NAME,
        title="thread caches are off: each request takes a lock of an arena"
        if off
        else f"thread caches keep nothing above {base.snapshot.layout.tcache_max} bytes: most requests take a lock",
        subject=base.snapshot.subject,
        evidence=(
            _setting_as_evidence(base, off),
            Evidence("requests that no cache serves", base.per_second(requests), Unit.PER_SECOND, where),
            *(wait.evidence("arenas' locks") if wait.waits else ()),
        ),
        settings=(_setting(base, off),),
        cpu="less: caches serve nearly all requests without a lock",
        memory="more: each thread keeps freed objects at hand",
        risk="low; a double free is found later than with tcache:false",
        verify="the same report: nmalloc and the waits should fall to a hundredth; CPU time and RSS under load",
        change="where they were switched off on purpose, to find misuse or to save memory, see what that costs first",
    )


def _uncached(base: Basis, off: bool) -> int:
    """Requests that no cache may serve; 0 where these are not most of the work."""
    arena, most = base.arena, base.snapshot.layout.tcache_max
    everything = (arena.small.nmalloc or 0) + (arena.large.nmalloc or 0)
    if off:
        return everything
    if most is None or most >= LARGEST_CACHED:
        return 0
    found = sum(one.nmalloc or 0 for one in arena.bins if one.size > most)
    return found if found > MOST_OF_THE_WORK * everything else 0


def _setting_as_evidence(base: Basis, off: bool) -> Evidence:
    if off:
        return Evidence("thread caches", 0, Unit.COUNT, "opt.tcache")
    return Evidence("objects are cached up to", base.snapshot.layout.tcache_max or 0, Unit.BYTES, "arenas.tcache_max")


def _setting(base: Basis, off: bool) -> Setting:
    if off:
        return Setting("tcache", "true")
    if is_hew(base.snapshot) or version(base.snapshot) >= (5, 3, 0):
        return Setting("tcache_max", str(LARGEST_CACHED))
    return Setting("lg_tcache_max", str(LARGEST_CACHED.bit_length() - 1))
