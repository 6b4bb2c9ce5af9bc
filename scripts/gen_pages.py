#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write the pages that are made from the tables of the code.

    python3 scripts/gen_pages.py            write all of them but misuse
    python3 scripts/gen_pages.py locks      write one
    python3 scripts/gen_pages.py --check    write nothing; exit 1 when a page is not what the tables say

`misuse` runs programs of the release build: it is made when it is named, and not checked; the test death.table compares
hew's columns.  Its columns for others need Debian's libclang-rt and `make peers`.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from pages import advice, compatibility, fleet_rules, locks, mallctl, metrics, misuse, options
from pages.page import Page

ROOT = Path(__file__).parent.parent
MODULES = (options, compatibility, mallctl, advice, metrics, fleet_rules, locks, misuse)
PAGES = {page.name: page for page in (m.PAGE for m in MODULES)}


def run(page: Page, root: Path, check: bool) -> list[str]:
    """Makes or checks one page; what is wrong with it."""
    target = root / page.file
    text = page.make(root)
    found = page.breaches(root)
    if text == (target.read_text() if target.is_file() else ""):
        return found
    if check:
        return [*found, f"{page.file} is not up to date: run scripts/gen_pages.py {page.name}"]
    target.parent.mkdir(exist_ok=True)
    target.write_text(text)
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Write the pages that are made from the tables of the code.")
    parser.add_argument("page", nargs="*", metavar="PAGE", help=f"all but misuse, or: {', '.join(PAGES)}")
    parser.add_argument("--check", action="store_true", help="only say whether the pages are up to date")
    parser.add_argument("--root", type=Path, default=ROOT, help="the project's directory")
    given = parser.parse_args(arguments)
    for name in given.page:
        if name not in PAGES:
            parser.error(f"no page {name}: {', '.join(PAGES)}")
        if given.check and PAGES[name].measured:
            parser.error(f"{name} is measured: nothing to check it against")
    chosen = [PAGES[name] for name in given.page] or [page for page in PAGES.values() if not page.measured]
    status = 0
    for page in chosen:
        try:
            found = run(page, given.root, given.check)
        except (OSError, ValueError, KeyError, subprocess.CalledProcessError) as error:
            print(f"gen_pages: {page.name}: {error}", file=sys.stderr)
            status = 2
            continue
        for line in found:
            print(f"gen_pages: {page.name}: {line}", file=sys.stderr)
        status = max(status, 1 if found else 0)
    if status == 0:
        print(f"gen_pages: {', '.join(page.name for page in chosen)}: as the code says")
    return status


if __name__ == "__main__":
    sys.exit(main())
