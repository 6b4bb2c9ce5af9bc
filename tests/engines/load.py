#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Puts samples with known values into the queue and sends them, up to a number; made to be killed and started again.

    load.py URL QUEUE SERIES LOOKS BEGIN SECONDS [REPLAY]

Look n has the value n in each series and the time BEGIN + n x SECONDS.  It goes on behind the last look on disk.
"""

import sys
import threading
import time
from pathlib import Path

from hew.analysis.metrics.series import batches
from hew.model.metric import Labels
from hew.sources.export.queue import Queue
from hew.sources.export.remote_write import Engine, Sender
from hew.views.write_request import write_request

NAME = "hew_load_total"


def look(number: int, series: int) -> dict[Labels, float]:
    return {(("__name__", NAME), ("job", "load"), ("series", str(one))): float(number) for one in range(series)}


def main() -> int:
    url, folder, (series, looks) = sys.argv[1], Path(sys.argv[2]), map(int, sys.argv[3:5])
    begin, seconds = float(sys.argv[5]), float(sys.argv[6])
    queue = Queue(folder, 64 << 20, float(sys.argv[7]) if len(sys.argv) > 7 else 0.0)
    sender = Sender(Engine(url, timeout=5.0), queue, lambda text: print(f"load: {text}", file=sys.stderr, flush=True))
    thread = threading.Thread(target=sender.run)
    thread.start()
    # What was put is counted beside the queue, before it is put: a look that a kill has prevented is not put again.
    count = folder.parent / f"{folder.name}.count"
    first = int(count.read_text() or 0) if count.is_file() else 0
    for number in range(first, looks):
        at = begin + number * seconds
        time.sleep(max(at - time.time(), 0))
        for rows in batches(look(number, series), 500):
            queue.put(write_request(rows, int(at * 1000)), len(rows))
        count.write_text(str(number + 1))
    while queue.state().batches:
        time.sleep(0.05)
    print(f"load: done, {sum(queue.state().dropped.values())} samples dropped", flush=True)
    sender.stop()
    thread.join()
    queue.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
