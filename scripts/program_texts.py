# SPDX-License-Identifier: MIT
"""What the programs that we record are told to do, where more than one script records them."""

import os
import re
import subprocess
from pathlib import Path

PYTHON = """
import json
documents = []
for number in range(12):
    text = json.dumps({str(key): {"values": list(range(key % 20)), "name": "n" * (key % 50)} for key in range(3000)})
    documents.append(json.loads(text))
    if number % 3 == 2:
        documents.pop(0)
"""
AWK = 'BEGIN { for (i = 0; i < 400000; i++) a["key " i] = i " and " i * 7; print length(a) }'


def sql(rows: int) -> str:
    """For SQLite: a table in memory, an index, deletions."""
    return f"""
create table t(id integer primary key, name text, value real);
with recursive n(x) as (select 1 union all select x + 1 from n where x < {rows})
insert into t select x, printf('name %d of many', x * 7919 % 100000), x / 3.0 from n;
create index byname on t(name);
select count(*), max(value) from t where name like '%77%';
delete from t where id % 3 = 0;
select sum(length(name)) from t;
"""  # noqa: S608 - a number of ours


def perl(rounds: int) -> str:
    """A hash that grows and loses keys."""
    keys = rounds * 3 // 5
    return (
        f'my %h; for my $i (1..{rounds}) {{ $h{{"key " . $i * 7919 % {keys}}} .= "x" x ($i % 40); '
        f'delete $h{{"key " . $i * 31 % {keys}}} if $i % 3 == 0; }} print scalar(keys %h), qq(\\n);'
    )


def jq_filter(objects: int) -> str:
    """An array of objects, of which a third stays."""
    return rf'[range({objects}) | {{id: ., name: "n\(.)"}}] | map(select(.id % 3 == 0)) | length'


def compiler(source: Path, level: int) -> list[str]:
    """The compiler proper, which g++ starts, on a source whose headers are in it."""
    whole = source.with_suffix(".ii")
    subprocess.run(["g++", "-E", "-o", whole, source], check=True)
    said = subprocess.run(["g++", "-print-prog-name=cc1plus"], capture_output=True, text=True, check=True).stdout
    return [said.strip(), "-quiet", "-fpreprocessed", f"-O{level}", str(whole), "-o", os.devnull]


def libc_of(program: str) -> str:
    """glibc's path: Debian's redis-server is linked with jemalloc, whose malloc would be recorded else."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    found = re.search(r"(/\S*libc\.so\.6)", listed)
    return found[1] if found else ""
