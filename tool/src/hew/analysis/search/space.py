# SPDX-License-Identifier: MIT
"""What may be set of each allocator, and the values that are worth a try.

Few values for each setting, far apart: a search has tens of runs, not thousands, and a setting that matters shows at a
factor of ten. Settings that change what a program may do (limits, checks, profiles) are not here.
"""

from collections.abc import Sequence

from hew.model.advice import Setting
from hew.model.allocator import Allocator
from hew.model.known_allocators import GLIBC, HEW, JEMALLOC
from hew.model.search import Candidate, Choice, Parameter

ARENAS = ("1", "2", "4", "8", "16")
EVEN_SLABS = "512-512:4|1024-1024:8|2048-2048:16|4096-4096:32"  # as many objects in each slab where there are few
DECAYS = ("0", "100", "1000", "60000", "-1")

SHARED = (
    Parameter("dirty_decay_ms", DECAYS),
    Parameter("muzzy_decay_ms", ("0", "1000", "10000")),
    Parameter("narenas", ARENAS),
    Parameter("percpu_arena", ("percpu",)),
    Parameter("background_thread", ("true", "false")),
    Parameter("tcache", ("false",)),
    Parameter("tcache_max", ("4096", "32768", "262144", "1048576")),
    Parameter("lg_tcache_nslots_mul", ("-1", "0", "2", "3")),
    Parameter("slab_sizes", ("16-1024:8", "16-4096:16", EVEN_SLABS)),
    Parameter("thp", ("always", "never")),
    Parameter("oversize_threshold", ("0", "1048576", "8388608")),
    Parameter("lg_extent_max_active_fit", ("2", "6")),
)
OF_HEW = (
    Parameter("thp_threshold", ("0", "8388608")),
    Parameter("tcache_ncached_max", ("512-4096:64", "16-4096:200")),  # middling sizes
    Parameter("cache_room", ("200", "400", "800")),
    Parameter("depot_room", ("200", "400")),
)
OF_JEMALLOC = (Parameter("metadata_thp", ("auto", "always")),)
OF_GLIBC = tuple(
    Parameter(name.lower(), values, name)
    for name, values in (
        ("MALLOC_ARENA_MAX", ARENAS),
        ("MALLOC_TRIM_THRESHOLD_", ("131072", "67108864")),
        ("MALLOC_MMAP_THRESHOLD_", ("131072", "4194304", "33554432")),
        ("MALLOC_TOP_PAD_", ("1048576", "16777216")),
    )
)


def parameters_of(kind: str) -> tuple[Parameter, ...]:
    """What may be set of an allocator of this kind; nothing of those whose settings we do not know."""
    return {HEW: SHARED + OF_HEW, JEMALLOC: SHARED + OF_JEMALLOC, GLIBC: OF_GLIBC}.get(kind, ())


def narrowed(
    parameters: Sequence[Parameter], only: Sequence[tuple[str, tuple[str, ...]]], free: bool
) -> tuple[Parameter, ...]:
    """Those that the user names, with the values that are given; all when none is named.

    `free`: a name that is not in the table is a setting too, when it comes with values.
    """
    if not only:
        return tuple(parameters)
    known = {one.name: one for one in parameters}
    found = []
    for name, values in only:
        one = known.get(name) or (Parameter(name, values) if free and values else None)
        if one is not None:
            found.append(Parameter(one.name, values or one.values, one.variable))
    return tuple(found)


def choice_of(
    allocator: Allocator,
    kind: str,
    variable: str | None,
    only: Sequence[tuple[str, tuple[str, ...]]],
    more: Sequence[Parameter] = (),
) -> Choice:
    """The settings of one allocator that a search may change. `variable` is the environment variable that it reads;
    None: there is none that we can set. `more`: settings beyond those known for every program."""
    reads = kind in {HEW, JEMALLOC}
    if reads and variable is None:
        return Choice(allocator, ())
    return Choice(allocator, narrowed((*parameters_of(kind), *more), only, reads))


def candidate_of(choice: Choice, values: dict[str, str]) -> Candidate:
    """The candidate with these values; those that are left alone are absent or empty."""
    settings = tuple(
        Setting(one.name, values[one.name], one.variable) for one in choice.parameters if values.get(one.name)
    )
    return Candidate(choice.allocator.name, settings)


def first_candidates(choices: Sequence[Choice], base: Candidate) -> list[Candidate]:
    """Where to begin: each allocator as it is, then each setting by itself at its first and last value.

    A single setting explains most of what can be gained; a sampler that begins with random mixtures of ten has to find
    out which of the ten it was.
    """
    plain = [Candidate(one.allocator.name) for one in choices]
    ends = [
        candidate_of(one, {parameter.name: parameter.values[end]})
        for end in (0, -1)
        for one in choices
        for parameter in one.parameters
    ]
    found: list[Candidate] = []
    for one in (*plain, *ends):
        if one not in found and one != base:
            found.append(one)
    return found
