# SPDX-License-Identifier: MIT
"""Fetch pages from a server on loopback, plain and compressed, whole and in part, and print a digest of each."""

import gzip
import hashlib
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor

PATHS = (
    "small.html",
    "medium.html",
    "big.html",
    "large.txt",
    "proxied/small.html",
    "proxied/large.txt",
    "proxied/proxied/big.html",
)


def fetch(job: tuple[str, dict[str, str]]) -> str:
    path, headers = job
    request = urllib.request.Request(f"http://127.0.0.1:{sys.argv[1]}/{path}", headers=headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        body = answer.read()
        if answer.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        return f"{path} {headers} {answer.status} {len(body)} {hashlib.sha256(body).hexdigest()}"


jobs = [
    (path, headers) for path in PATHS for headers in ({}, {"Accept-Encoding": "gzip"}, {"Range": "bytes=100-399"})
] * 20
with ThreadPoolExecutor(16) as pool:
    for line in sorted(set(pool.map(fetch, jobs))):
        print(line)
