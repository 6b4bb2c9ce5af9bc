# SPDX-License-Identifier: MIT
"""Advice of several rules about one process, made to agree.

Rules run in order: CPU first, then memory. The earlier rule wins. A later rule loses its settings if it gives the same
setting another value, or makes thread caches smaller where an earlier rule makes them larger. The earlier advice then
names the other setting, for users to whom memory matters more than time. Lists of size classes are merged.
"""

from collections.abc import Sequence
from dataclasses import replace

from hew.model.advice import Advice, Setting

LISTS = {"tcache_ncached_max", "slab_sizes"}
SMALLER_CACHES = {"thread-caches", "memory-limit"}
CACHES = {
    "tcache",
    "tcache_max",
    "lg_tcache_max",
    "tcache_ncached_max",
    "lg_tcache_nslots_mul",
    "tcache_nslots_small_max",
}


def reconciled(advice: Sequence[Advice]) -> tuple[Advice, ...]:
    """The advice that can be followed all together."""
    kept: list[Advice] = []
    for one in advice:
        against = next((at for at, other in enumerate(kept) if _contradict(other, one)), None)
        if against is None:
            kept.append(one)
            continue
        instead = " ".join(setting.text for setting in one.settings)
        said = f"{kept[against].risk}; {one.rule} asks for the opposite ({instead}): for less memory, that one instead"
        kept[against] = replace(kept[against], risk=said)
    return tuple(_joined(kept))


def _contradict(first: Advice, second: Advice) -> bool:
    """Whether two pieces of advice cannot both be followed."""
    if (first.rule in SMALLER_CACHES) != (second.rule in SMALLER_CACHES):
        return all(CACHES & {setting.name for setting in one.settings} for one in (first, second))
    values = {setting.name: setting.value for setting in first.settings}
    return any(
        setting.name not in LISTS and values.get(setting.name, setting.value) != setting.value
        for setting in second.settings
    )


def _joined(advice: Sequence[Advice]) -> list[Advice]:
    """Every list of size classes with all that the rules ask for: of a setting given twice the later one wins."""
    lists: dict[str, dict[str, None]] = {}
    for setting in (setting for one in advice for setting in one.settings if setting.name in LISTS):
        lists.setdefault(setting.name, {}).update(dict.fromkeys(setting.value.split("|")))
    return [replace(one, settings=tuple(_whole(setting, lists) for setting in one.settings)) for one in advice]


def _whole(setting: Setting, lists: dict[str, dict[str, None]]) -> Setting:
    return replace(setting, value="|".join(lists[setting.name])) if setting.name in lists else setting
