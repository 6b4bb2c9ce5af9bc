# SPDX-License-Identifier: MIT
"""DuckDB: a CSV into a table, joins, windows, groups and sorts, in memory and on disk.

Usage: duck.py TABLE
"""

import hashlib
import sys

import duckdb

QUERIES = (
    "select word, count(*), sum(amount) from t group by word order by word",
    "select a.word, count(*) from t a join t b on a.customer = b.customer and a.id < b.id group by a.word order by 1",
    "select id, row_number() over (partition by customer order by amount, id) r from t order by r desc, id limit 2000",
    "select text, count(*) c from t group by text order by c desc, text limit 500",
    "select customer, list(id order by id) from t where amount > 900 group by customer order by customer limit 1000",
    "select upper(text) u, length(text) from t where regexp_matches(text, 'page.*slab') order by u, id limit 500",
)

for place in (":memory:", "base.duckdb"):
    base = duckdb.connect(place, config={"threads": 2})
    base.execute(f"create table t as select * from read_csv('{sys.argv[1]}')")
    for query in QUERIES:
        rows = base.execute(query).fetchall()
        print(len(rows), hashlib.sha256(repr(rows).encode()).hexdigest())
    base.close()
