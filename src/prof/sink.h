/* SPDX-License-Identifier: MIT */
/*
 * sink: writes bytes to a file by system calls, through a buffer of the caller.
 *
 * Promises  write errors are reported by hew_sink_close().  A new file appears under its name only when it is complete:
 *           it is written as <name>.part.  An existing file is overwritten in place, because it may be a pipe, or its
 *           creator may read it through a descriptor that is still open.
 * Owned by the writer; too large for a small thread's stack.
 */
#ifndef HEW_PROF_SINK_H
#define HEW_PROF_SINK_H

#include "base/compiler.h"

#define HEW_SINK_BUFFER ((size_t)16 << 10)
#define HEW_SINK_PATH 1536

struct hew_sink {
    int file;
    bool failed;
    size_t held;
    const char *path;            /* the file's final name */
    char growing[HEW_SINK_PATH]; /* its name while it is written; "": the same */
    uint8_t buffer[HEW_SINK_BUFFER];
};

/* Creates the file.  False on error.  `path` must stay valid. */
bool hew_sink_open(struct hew_sink *sink, const char *path);

/* Writes into an open file, which stays open.  False when no descriptor is available. */
bool hew_sink_begin(struct hew_sink *sink, int file);

void hew_sink_put(struct hew_sink *sink, const void *bytes, size_t count);
void hew_sink_put_text(struct hew_sink *sink, const char *text);
void hew_sink_put_unsigned(struct hew_sink *sink, uint64_t value);
void hew_sink_put_hex(struct hew_sink *sink, uint64_t value); /* without 0x */

/* Copies a whole file of the system, such as /proc/self/maps.  False when it cannot be opened. */
bool hew_sink_put_file(struct hew_sink *sink, const char *path);

/* True when the file is complete under its name; otherwise there is no new file. */
bool hew_sink_close(struct hew_sink *sink);

#endif
