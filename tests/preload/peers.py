# SPDX-License-Identifier: MIT
"""Run a program under hew and under other allocators: how much more memory may it hold under hew?

peers.py PROGRAM LIBRARY PEER=RATIO...: PEER is glibc, or the name of a library.  The program prints "memory N KiB".  Status 77: a peer is
not here, and none of the others is exceeded.
"""

import os
import re
import subprocess
import sys

PATIENCE = 600  # seconds
NOT_PRELOADED = 3  # under_test.h


def held(program: str, library: str | None) -> int | None:
    """KiB under an allocator, glibc's own for None; None: its library is not here."""
    environment = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "HEW_TEST_LIBRARY")}
    if library is not None:
        environment |= {"LD_PRELOAD": library, "HEW_TEST_LIBRARY": os.path.basename(library).partition(".")[0]}
    run = subprocess.run([program], env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
    if run.returncode == NOT_PRELOADED:
        return None
    found = re.search(r"^memory (\d+) KiB$", run.stdout, re.MULTILINE)
    if run.returncode != 0 or found is None:
        sys.exit(f"{program} under {library or 'glibc'}: status {run.returncode}\n{run.stdout}{run.stderr}")
    return int(found.group(1))


def main() -> int:
    program, library, *peers = sys.argv[1:]
    own = held(program, library)
    if own is None:
        sys.exit(f"{library} was not preloaded")
    status = 0
    for peer in peers:
        name, _, most = peer.partition("=")
        others = held(program, None if name == "glibc" else name)
        if others is None:
            print(f"SKIP {name} is not here")
            status = status or 77
            continue
        print(f"hew {own} KiB, {name} {others}: {own / others:.2f}, at most {most}")
        if own > others * float(most):
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
