#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The ways of docs/rust.md that need no crate: preloaded, linked, and as the global allocator, shared and static.

    python3 tests/users/rust_links.py build/release      # exits 77 where rustc is not installed
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "docs/examples/hew_alloc.rs"
OURS = "-ghew"


def output_of(words: list[str], **changes: str) -> str:
    """What a command prints on both streams; its failure ends us."""
    done = subprocess.run(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, env={**os.environ, **changes}
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: {done.stdout}")
    return done.stdout


def main(folder: Path) -> int:
    if shutil.which("rustc") is None:
        print("SKIP: rustc is not installed")
        return 77
    text = EXAMPLE.read_text()
    with tempfile.TemporaryDirectory() as work:
        plain = Path(work) / "plain.rs"
        plain.write_text(text[text.index("fn main()") :])
        ways: list[tuple[str, Path, list[str]]] = [("preloaded", plain, [])]
        for source in (plain, EXAMPLE):
            search = ["-L", f"native={folder}"]
            ways.append((f"{source.stem}, shared", source, [*search, "-l", "dylib=hew", "-C", f"link-arg=-Wl,-rpath,{folder}"]))
            ways.append((f"{source.stem}, static", source, [*search, "-l", "static=hew"]))
        for name, source, options in ways:
            program = f"{work}/program"
            output_of(["rustc", "-O", "--edition", "2021", *options, "-o", program, str(source)])
            preload = {} if options else {"LD_PRELOAD": str(folder / "libhew.so")}
            said = output_of([program], MALLOC_CONF="stats_print:true", **preload)
            if OURS not in said or "7890 bytes" not in said:
                sys.exit(f"{name}: does not run on hew: {said[:200]}")
            print(f"{name}: on hew")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).absolute()))
