/* SPDX-License-Identifier: MIT */
/*
 * sink: bytes on their way into a file, by system calls and through a buffer of the caller.
 *
 * Promises  what could not be written is told at the end.  A file that was not there before is whole under its name or
 *           still not there: it grows as <name>.part.  One that was there is written in place, since it may be a pipe, or
 *           its maker may read it through the descriptor that he still has.
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
    const char *path;            /* the file's name at the end */
    char growing[HEW_SINK_PATH]; /* its name until then, "" when that is the same */
    uint8_t buffer[HEW_SINK_BUFFER];
};

/* False when the file cannot be made.  `path` must stay. */
bool hew_sink_open(struct hew_sink *sink, const char *path);

/* Into a file that is open and stays so.  False when no descriptor is left. */
bool hew_sink_begin(struct hew_sink *sink, int file);

void hew_sink_put(struct hew_sink *sink, const void *bytes, size_t count);
void hew_sink_put_text(struct hew_sink *sink, const char *text);
void hew_sink_put_unsigned(struct hew_sink *sink, uint64_t value);
void hew_sink_put_hex(struct hew_sink *sink, uint64_t value); /* without 0x */

/* A whole file of the system, such as /proc/self/maps.  False when it cannot be opened. */
bool hew_sink_put_file(struct hew_sink *sink, const char *path);

/* True when everything is in the file under its name; otherwise there is no new file. */
bool hew_sink_close(struct hew_sink *sink);

#endif
