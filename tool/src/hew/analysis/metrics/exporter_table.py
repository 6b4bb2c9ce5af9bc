# SPDX-License-Identifier: MIT
"""The series of the exporter itself, and the labelled facts about processes."""

from hew.analysis.metrics.row import counter, gauge
from hew.model.metric import Kind, Metric

INFO = Metric("hew_process", Kind.INFO, "", "Which allocator a process has, in which version.", "stats: version")
BUILD = Metric("hew_export_build", Kind.INFO, "", "The version of the exporter.", "hew --version")
PROCESSES = gauge("hew_export_processes", "", "Processes and dumps that this scrape shows.", "hew export")
LEFT_OUT = gauge("hew_export_left_out", "", "Processes beyond --most, the smallest.", "hew export")
DURATION = gauge("hew_export_look_seconds", "seconds", "How long the look took.", "hew export")
ERRORS = counter("hew_export_errors", "", "Processes and dumps that could not be read, by reason.", "hew export")
QUEUE_BYTES = gauge("hew_export_queue_bytes", "bytes", "What waits on disk to be sent.", "the queue")
QUEUE_BATCHES = gauge("hew_export_queue_batches", "", "Batches that wait.", "the queue")
SENT = counter("hew_export_sent_samples", "", "Samples that the engine has acknowledged.", "remote write")
RETRIES = counter("hew_export_retries", "", "Sendings that failed and were tried again.", "remote write")
REPLAYED = counter("hew_export_replayed_batches", "", "Batches sent again for --replay.", "remote write")
DROPPED = counter("hew_export_dropped_samples", "", "Samples that no engine will have, by reason.", "remote write")

OWN = (
    INFO,
    BUILD,
    PROCESSES,
    LEFT_OUT,
    DURATION,
    ERRORS,
    QUEUE_BYTES,
    QUEUE_BATCHES,
    SENT,
    RETRIES,
    REPLAYED,
    DROPPED,
)
