# SPDX-License-Identifier: MIT
"""Fetch pages from a server on loopback, one after the other, and print a digest of each.

Usage: digest.py PORT PATH...
"""

import hashlib
import sys
import urllib.request

for path in sys.argv[2:]:
    with urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/{path}", timeout=30) as answer:
        body = answer.read()
    print(path, answer.status, len(body), hashlib.sha256(body).hexdigest())
