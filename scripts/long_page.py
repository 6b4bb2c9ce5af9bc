#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long the page of a run of 10^9 operations takes to its first picture, and what the browser holds of it.

    .venv/bin/python scripts/long_page.py [--operations 1000000000] [--keep FOLDER]

Makes such a trace (some 3 GB, of four threads and 5,000 stacks) with the code that the recorder writes with, has
`hew profile --html` make the page, and opens it in Chromium, five times. Needs a release build, and .venv.
"""

import argparse
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parent.parent
OPENED = 5
# Each thread replaces random objects of 65,536; sizes and stacks change with time, and the number of live objects too.
SOURCE = r"""
#include "format/crc.h"
#include "format/writer.h"

#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, NAMES = 2000, NODES = 8000, STACKS = 5000, ROOM = 65536, HELD = 65536, BATCH = 4096 };

static uint8_t room[ROOM];
static uint64_t held[THREADS][HELD]; /* numbers, plus 1 */
static uint64_t state = 1;

static uint32_t
draw(uint32_t below)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)((state >> 32) * below >> 32);
}

static void
put(const void *bytes, size_t size, FILE *to)
{
    if (fwrite(bytes, 1, size, to) != size) {
        perror("the trace");
        exit(1);
    }
}

static void
put_block(enum hew_trace_block_kind kind, uint64_t number, const void *payload, size_t size, FILE *to)
{
    static const uint8_t zeros[8];
    struct hew_trace_block block = {.magic = HEW_TRACE_BLOCK_MAGIC, .kind = (uint8_t)kind, .number = number,
                                    .room = (uint32_t)(sizeof(block) + ((size + 7) & ~(size_t)7)),
                                    .length = (uint32_t)size, .stored = (uint32_t)size,
                                    .checksum = hew_trace_crc(payload, size)};
    hew_trace_seal(&block);
    put(&block, sizeof(block), to);
    put(payload, size, to);
    put(zeros, block.room - sizeof(block) - size, to);
}

static void
put_stacks(FILE *to)
{
    static struct hew_trace_node nodes[NODES];
    static char text[NAMES * 64];
    size_t length = 0;

    for (uint32_t i = 0; i < NAMES; i++) {
        const char *line = "%u\t%u\tfunction_%u\tmodule_%u.py\n";
        length += (size_t)sprintf(text + length, line, i + 1, draw(900) + 1, i, i / 20);
    }
    for (uint32_t i = 0; i < NODES; i++) {
        nodes[i] = (struct hew_trace_node){HEW_TRACE_NAMED | (draw(NAMES) + 1), i < 4 ? 0 : draw(i) + 1, 0};
    }
    put_block(HEW_TRACE_NODES, 1, nodes, sizeof(nodes), to);
    put_block(HEW_TRACE_NAMES, 0, text, length, to);
    put_block(HEW_TRACE_INFO, 0, "program=/long\n", 14, to);
}

int
main(int argc, char **argv)
{
    struct hew_trace_header header = {.magic = HEW_TRACE_MAGIC, .version = HEW_TRACE_VERSION, .first_block = 64,
                                      .batch_operations = BATCH, .thread_sampling = 1, .stack_sampling = 1};
    struct hew_trace_writer writers[THREADS] = {{.thread = 0}, {.thread = 1}, {.thread = 2}, {.thread = 3}};
    uint64_t wanted = argc > 2 ? strtoull(argv[2], NULL, 10) : 0, done = 0, ticket = 0;
    FILE *to = argc > 2 ? fopen(argv[1], "wb") : NULL;

    if (to == NULL) {
        return 2;
    }
    put(&header, sizeof(header), to);
    put_stacks(to);
    while (done < wanted) {
        uint32_t thread = draw(THREADS), phase = (uint32_t)(done * 40 / wanted);
        uint32_t most = HELD / 8 + HELD / 8 * (phase * 5 % 7);
        struct hew_trace_writer *writer = &writers[thread];
        memset(room, 0, sizeof(room));
        hew_trace_writer_begin(writer, room, sizeof(room));
        while (!hew_trace_writer_is_full(writer)) {
            hew_trace_write_sync(writer, ++ticket, done); /* a microsecond an operation */
            for (int i = 0; i < BATCH && !hew_trace_writer_is_full(writer); i++, done++) {
                uint64_t *slot = &held[thread][draw(most)];
                if (*slot != 0) {
                    hew_trace_write_free(writer, thread, *slot - 1);
                    *slot = 0;
                } else {
                    if (i % 4 == 0) {
                        hew_trace_write_node(writer, (phase * 131 + draw(STACKS / 5)) % STACKS + NODES - STACKS + 1);
                    }
                    *slot = hew_trace_write_malloc(writer, HEW_TRACE_MALLOC, 8 + draw(1u << (4 + draw(9)))) + 1;
                }
            }
        }
        hew_trace_writer_close(writer);
        put(room, sizeof(room), to);
    }
    return fclose(to) == 0 ? 0 : 1;
}
"""


def made(operations: int, folder: Path) -> Path:
    """The page. Its trace is deleted."""
    source, program, trace, page = (folder / name for name in ("long.c", "long", "long.trace", "long.html"))
    source.write_text(
        SOURCE.replace('#include "format/writer.h"', '#include "format/crc.h"\n#include "format/writer.h"')
    )
    parts = [ROOT / "trace/format/writer.c", ROOT / "trace/format/crc.c"]
    subprocess.run(["cc", "-O2", f"-I{ROOT / 'trace'}", "-o", program, source, *parts], check=True)
    subprocess.run([program, trace, str(operations)], check=True)
    began = time.monotonic()
    subprocess.run([sys.executable, "-m", "hew", "profile", "--html", page, trace], check=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu, seconds = used.ru_utime + used.ru_stime, time.monotonic() - began
    sizes = f"{trace.stat().st_size / 1e9:.2f} GB of trace, {page.stat().st_size / 1e6:.1f} MB of page"
    print(f"{sizes}, made in {seconds:.0f} s ({cpu:.0f} s of CPU with the trace)")
    trace.unlink()
    return page


def opened(page: Path) -> tuple[float, float, float]:
    """Seconds to the first picture, MB of its scripts' heap, and MB that the tab's process holds alone."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1400, "height": 900})
        began = time.monotonic()
        tab.goto(page.as_uri(), timeout=120_000)
        tab.wait_for_selector("#chart polygon", timeout=120_000)
        tab.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        seconds = time.monotonic() - began
        session = browser.new_browser_cdp_session()
        processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
        own = max(_private(one["id"]) for one in processes if one["type"] == "renderer")
        session = tab.context.new_cdp_session(tab)
        session.send("Performance.enable")
        figures = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
        browser.close()
    return seconds, figures["JSHeapTotalSize"] / 1e6, own / 1e6


def _private(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Private_"))


def main() -> int:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operations", type=int, default=1_000_000_000)
    parser.add_argument("--keep", type=Path, help="where the page stays; one that is there is opened")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hew-long-page-") as place:
        folder = options.keep or Path(place)
        page = folder / "long.html"
        page = page if page.exists() else made(options.operations, folder)
        found = [opened(page) for _ in range(OPENED)]
        names = ("first picture, s", "heap of its scripts, MB", "process of the tab, MB")
        for name, values in zip(names, zip(*found, strict=True), strict=True):
            print(f"{name}: {statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
