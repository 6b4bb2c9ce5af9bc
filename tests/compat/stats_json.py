#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The JSON of malloc_stats_print against jemalloc's outline.

usage: stats_json.py LIBRARY PROGRAM [--jemalloc]

Runs PROGRAM with LIBRARY preloaded and reads what it prints at its end.  Each key of stats_json.keys must be there with
its type, in a JSON text that names no key twice; below `opt` there may be more.  --jemalloc: LIBRARY is jemalloc 5.3.0,
whose known differences are passed over; that is how the list itself is checked.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

KEYS = Path(__file__).with_name("stats_json.keys")
# In 5.3.1 and not in 5.3.0, by the end of the path or its beginning.
NEWER = (
    "prof_frameptr", "system/", "arenas/hugepage", "metadata_edata", "metadata_rtree", "/name", "opt/utrace", "opt/xmalloc",
    "/experimental_hpa", "/experimental_tcache_gc", "opt/hpa_hugify_s", "/huge_arena_pac_thp", "/process_madvise_max_batch",
    "/disable_large_size_classes", "/debug_double_free_max_scan", "/prof_bt_max", "/hpa_purge_t", "/hpa_min_purge_delay_ms",
    "/nhugify_failures", "hpa_shard/npageslabs", "hpa_shard/nactive", "hpa_shard/ndirty", "/slabs/", "hpa_shard/sec_",
    "/nretained_nonhuge", "/ndirty_huge",
)  # fmt: skip
OWN = (
    "opt/", "stats.arenas/merged/", "stats.arenas/1/", "stats/depot/", "stats/peak/", "stats.arenas/0/holes",
    "stats.arenas/0/pieces_moved", "stats.arenas/0/bytes_moved",
)  # fmt: skip  # hew may say more there
BINS = ("[63]", "[36]")  # hew has more small classes
# In 5.3.0 and not in 5.3.1.
OLDER = ("opt/hpa_sec_bytes_after_flush", "stats.arenas/0/sec_bytes")


def without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    twins = sorted({key for key in keys if keys.count(key) > 1})
    if twins:
        raise ValueError(f"keys that come twice: {twins}")
    return dict(pairs)


def paths(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Each leaf with its type; the members of an array must all look alike."""
    match value:
        case dict():
            for key, member in value.items():
                yield from paths(member, f"{path}/{key}")
        case list():
            shapes = [list(paths(member, f"{path}[{len(value)}]")) for member in value]
            if any(shape != shapes[0] for shape in shapes):
                raise ValueError(f"members of {path} differ")
            yield from shapes[0] if shapes else ()
        case bool():
            yield path[1:], "b"
        case int():
            yield path[1:], "n"
        case str():
            yield path[1:], "s"
        case _:
            raise ValueError(f"{path} is a {type(value).__name__}")


def printed(library: str, program: str) -> str:
    environment = dict(os.environ, LD_PRELOAD=library, MALLOC_CONF="stats_print:true,stats_print_opts:J")
    run = subprocess.run([program], env=environment, stderr=subprocess.PIPE, text=True, timeout=250, check=True)
    return run.stderr


def wanted(is_jemalloc: bool) -> dict[str, str]:
    rows = (line.split() for line in KEYS.read_text().splitlines() if not line.startswith("#"))
    keys = {path: kind for path, kind in rows}
    if is_jemalloc:
        keys = {path: kind for path, kind in keys.items() if not any(part in f"/{path}" for part in NEWER)}
        keys = {path.replace(*BINS): kind for path, kind in keys.items()}
    return keys


def unexpected(path: str, expected: dict[str, str], is_jemalloc: bool) -> bool:
    if is_jemalloc and (path in OLDER or any(part in f"/{path}" for part in NEWER)):
        return False
    return path not in expected and not path.startswith(OWN)


def main() -> int:
    library, program, *rest = sys.argv[1:]
    is_jemalloc = rest == ["--jemalloc"]
    text = printed(library, program)
    document = json.loads(text, object_pairs_hook=dict if is_jemalloc else without_twins)
    found, expected = dict(paths(document["jemalloc"])), wanted(is_jemalloc)
    wrong = [f"missing: {path}" for path in expected if path not in found]
    wrong += [f"{path} is {found[path]}, not {kind}" for path, kind in expected.items() if found.get(path, kind) != kind]
    wrong += [f"unknown: {path}" for path in found if unexpected(path, expected, is_jemalloc)]
    if list(document) != ["jemalloc"]:
        wrong.append("something beside jemalloc")
    if not is_jemalloc and "\n" in text:
        wrong.append("more than one line")
    print("\n".join(wrong) or f"{len(expected)} keys, each once and of its type")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
