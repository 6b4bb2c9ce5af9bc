# SPDX-License-Identifier: MIT
"""Arrow: read, filter, join, group, write Parquet in several codecs, read it back.

Usage: arrow.py TABLE
"""

import hashlib
import io
import sys

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv

pa.set_cpu_count(2)
pa.set_io_thread_count(2)


def shown(name: str, table: pa.Table) -> None:
    digest = hashlib.sha256("\n".join(",".join(map(str, column)) for column in table.to_pydict().values()).encode())
    print(name, table.num_rows, digest.hexdigest())


table = csv.read_csv(sys.argv[1])
print(table.num_rows, table.column_names, pa.default_memory_pool().backend_name)
some = table.filter(pc.greater(table["amount"], 500))
words = some.group_by("word").aggregate([("amount", "sum"), ("id", "count"), ("customer", "count_distinct")])
shown("words", words.sort_by("word"))
customers = table.group_by("customer").aggregate([("amount", "max"), ("amount", "sum")])
joined = table.join(customers, "customer").sort_by([("customer", "ascending"), ("id", "ascending")])
shown("joined", joined.slice(0, 2000))
upper = pc.utf8_upper(pc.replace_substring(table["text"], "page", "leaf"))
shown(
    "split",
    pa.table({"n": pc.list_value_length(pc.split_pattern(upper, " "))})
    .group_by("n")
    .aggregate([("n", "count")])
    .sort_by("n"),
)
for codec in ("none", "snappy", "gzip", "zstd"):
    buffer = io.BytesIO()
    pq.write_table(joined, buffer, compression=codec, row_group_size=20_000)
    back = pq.read_table(io.BytesIO(buffer.getvalue()), columns=["id", "word", "amount"])
    shown(codec, back.sort_by([("word", "ascending"), ("id", "descending")]).slice(0, 2000))
