# SPDX-License-Identifier: MIT
"""A WSGI application over records in memory and in sqlite3: a search, a page from a template, a sum."""

import json
import os
import re
import sqlite3
import string
from collections.abc import Callable, Iterable
from pathlib import Path

RECORDS = json.loads(Path(os.environ["RECORDS"]).read_text(encoding="ascii"))
ROW = string.Template("<tr><td>$id</td><td>$title</td><td>$price</td></tr>\n")


def search(number: int) -> bytes:
    wanted = re.compile(RECORDS[number]["tags"][0] + r"\s+(\w+)")
    found = [{**one, "match": wanted.findall(one["body"])} for one in RECORDS[:: max(1, len(RECORDS) // 400)]]
    return json.dumps([one for one in found if one["match"]]).encode()


def page(number: int) -> bytes:
    rows = sorted(RECORDS[number : number + 300], key=lambda one: one["title"])
    return ("<table>\n" + "".join(ROW.substitute(one) for one in rows) + "</table>\n").encode()


def total(number: int) -> bytes:
    base = sqlite3.connect(":memory:")
    base.execute("create table record (id, word, price)")
    some = RECORDS[number : number + 500]
    base.executemany("insert into record values (?, ?, ?)", [(one["id"], one["tags"][0], one["price"]) for one in some])
    rows = base.execute(
        "select word, count(*), round(sum(price), 2) from record group by word order by word"
    ).fetchall()
    base.close()
    return json.dumps(rows).encode()


ACTIONS = {"search": search, "page": page, "sum": total}


def application(
    environ: dict[str, str], start_response: Callable[[str, list[tuple[str, str]]], None]
) -> Iterable[bytes]:
    _, action, number = environ["PATH_INFO"].split("/")
    body = ACTIONS[action](int(number))
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]
