# SPDX-License-Identifier: MIT
"""What a real program asks for is the same under glibc and under hew: their traces agree operation for operation."""

import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from conftest import HewRunner, build
from hew.model.errors import HewError
from hew.sources.library import find_part
from hew.sources.trace.plain import plain_trace

SQL = (
    "create table t(a integer primary key, b text);"
    "with recursive n(x) as (select 1 union all select x + 1 from n where x < 4000)"
    "insert into t select x, hex(x * 7) from n;"
    "create index i on t(b); delete from t where a % 3 = 0; select count(*), sum(length(b)) from t;"
)
SORTED = "\n".join(str(i * 7919 % 10_007) for i in range(5000))
# Each decides by what it is told alone, not by addresses or by what its hash tables were seeded with.
PROGRAMS = {
    "sqlite3": ["sqlite3", ":memory:", SQL],
    "perl": ["perl", "-e", 'my %h; $h{$_} = "x" x ($_ % 50) for 1..3000; print scalar(keys %h)'],
    "awk": ["awk", 'BEGIN { for (i = 0; i < 3000; i++) a[i] = i "x"; print length(a) }'],
    "sort": ["sort", "sorted.txt"],
    "git": ["git", "hash-object", "sorted.txt"],
    "jq": ["jq", "-n", "[range(3000) | tostring] | length"],
    "lua5.4": ["lua5.4", "-e", "local t = {} for i = 1, 3000 do t[i] = {name = 'n' .. i} end print(#t)"],
}
SETTLED = {"PERL_HASH_SEED": "0", "PERL_PERTURB_KEYS": "0", "PYTHONHASHSEED": "0", "PYTHONMALLOC": "malloc"}
JSON = "import json; print(len(json.dumps({str(i): [i] * 7 for i in range(3000)})))"


@pytest.fixture(autouse=True)
def _built() -> None:
    try:
        find_part("libhewtrace.so"), find_part("hew-replay")
    except HewError as error:
        pytest.skip(str(error))


def traces(
    hew: HewRunner, words: list[str], compiler: str, hew_library: Path, folder: Path
) -> tuple[list[str], list[str]]:
    """The operations under glibc and under hew. Programs copy their environment, so that all paths in it are equally
    long; under glibc something empty is preloaded."""
    found = []
    for name in ("glibc", "hew.."):
        place = folder / name
        place.mkdir()
        preloaded = place / "liballocator.so"
        if name == "glibc":
            build(compiler, preloaded, "int nothing = 1;\n", "-shared", "-fPIC")
        else:
            shutil.copyfile(hew_library, preloaded)
        trace = place / "trace"
        done = hew("record", "--no-children", "-o", str(trace), "--", *words, **SETTLED, LD_PRELOAD=str(preloaded))
        assert done.returncode == 0, done.stderr
        with plain_trace(trace) as plain:
            listed = subprocess.run(
                [find_part("hew-replay"), "list", plain], capture_output=True, text=True, check=True
            )
        found.append(listed.stdout.splitlines())
    return found[0], found[1]


@pytest.mark.parametrize("name", PROGRAMS)
def test_real_programs_do_the_same_under_both(
    hew: HewRunner, compiler: str, hew_library: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    monkeypatch.chdir(tmp_path)
    Path("sorted.txt").write_text(SORTED)
    glibc, hews = traces(hew, PROGRAMS[name], compiler, hew_library, tmp_path)
    assert len(glibc) > 20
    differs = next((pair for pair in zip(glibc, hews, strict=False) if pair[0] != pair[1]), None)
    assert (len(glibc), differs) == (len(hews), None)


@pytest.mark.parametrize("name", ["python", "cc1plus"])
def test_programs_that_look_at_addresses_ask_for_the_same_sizes(
    hew: HewRunner, compiler: str, hew_library: Path, tmp_path: Path, name: str
) -> None:
    """Python's sets and the compiler's page tables depend on addresses, as from one run under glibc to the next: of
    twenty thousand operations and more a handful differ."""
    words = [sys.executable, "-S", "-c", JSON]
    if name == "cc1plus":
        if shutil.which("g++") is None:
            pytest.skip("g++ is not installed")
        said = subprocess.run(["g++", "-print-prog-name=cc1plus"], capture_output=True, text=True, check=True)
        (tmp_path / "x.cc").write_text("#include <map>\n#include <string>\nstd::map<int, std::string> all;\n")
        whole = subprocess.run(["g++", "-E", tmp_path / "x.cc"], capture_output=True, text=True, check=True)
        (tmp_path / "x.ii").write_text(whole.stdout)
        words = [said.stdout.strip(), "-quiet", "-fpreprocessed", str(tmp_path / "x.ii"), "-o", "/dev/null"]
    glibc, hews = traces(hew, words, compiler, hew_library, tmp_path)
    ours, theirs = (Counter(re.sub(r"\d+\.\d+", "object", line) for line in lines) for lines in (glibc, hews))
    differ = ((ours - theirs) + (theirs - ours)).total()
    assert ours.total() > 20_000
    assert differ <= 20 + ours.total() // 2000, (ours - theirs, theirs - ours)
