/* SPDX-License-Identifier: MIT */
/*
 * file: the trace file of this process, and the rooms (file ranges) that threads map and write into.
 *
 * Owns      the file's descriptor, a high one; the shared state of the recording.
 * Promises  no malloc; no lock.  Whatever a thread has written into a room is in the file even if the process is
 *           killed.  Disk space for a room is allocated before it is mapped; otherwise recording stops.
 * Why       docs/decisions/0065-recording.md.
 */
#ifndef HEW_TRACE_RECORD_FILE_H
#define HEW_TRACE_RECORD_FILE_H

#include "base/compiler.h"

enum hew_trace_phase {
    HEW_TRACE_UNBORN, /* the value in a forked child, whose state is zeroed */
    HEW_TRACE_STARTING,
    HEW_TRACE_RECORDING,
    HEW_TRACE_STOPPED,
};

/* Lies in a page that a forked child sees as zeros. */
struct hew_trace_state {
    uint64_t generation;  /* of this recording; 0: none */
    uint64_t ticket;      /* the last ticket drawn */
    uint64_t file_end;    /* where the next room begins */
    uint64_t threads;     /* threads that have begun, in this recording and earlier ones */
    uint64_t floor;       /* objects of threads below this number are unknown: they belong to earlier recordings */
    uint32_t chunks_busy; /* a thread is changing the next two */
    uint32_t chunk_count; /* of objects' ids: chunks that have been used */
    uint32_t chunk_free;  /* one to be used again; 0: none */
    uint32_t inside;      /* threads that may be reading this state, apart from generation and phase */
    uint64_t first_cycles;
    uint64_t first_ns;
    uint64_t until_ns; /* when the recording ends unless extended, in case the attached client has died; 0: never */
    uint64_t cycles_per_ms;
    uint32_t phase;
    bool whole; /* every object of the process is in the recording */
    int file;
    uint64_t device, inode; /* of the file, to detect that a program closed descriptors it does not know */
    struct hew_trace_header *header;
    struct hew_trace_tree *tree; /* of stacks; NULL: none yet */
    struct hew_trace_names *names;
};

extern union hew_trace_page {
    struct hew_trace_state state;
    char bytes[4096];
} hew_trace_page;
#define hew_trace_shared hew_trace_page.state

/* Settings from the environment, the same for all forked children. */
struct hew_trace_settings {
    uint64_t most;            /* most bytes of a file */
    uint64_t thread_sampling; /* one thread of this many */
    uint64_t stack_sampling;  /* one allocation of this many; 0: none */
    uint64_t sample_bytes;    /* mean distance of the sampled bytes; 0: every allocation is recorded */
    uint64_t seed;            /* of the sample; 0: another one in each process */
    bool children;            /* forked children and programs started by exec write files of their own */
};
extern struct hew_trace_settings hew_trace_settings;

/* Overrides the environment: the next allocation begins a recording to this file, with the current settings.  Call it
 * while there is no recording.  False: the name is too long. */
HEW_COLD bool hew_trace_wish(const char *file);

/* Extends such a recording by a minute. */
void hew_trace_extend(void);

/* Begins this process's recording if none has begun; false: there is no recording now. */
HEW_COLD bool hew_trace_start(void);

/* A zeroed room of `size` bytes, a multiple of 4096, at the file's end.  NULL: recording has stopped, or `generation`
 * is that of an earlier recording.  While a recording is starting, `generation` is 0. */
void *hew_trace_take_room(size_t size, uint64_t generation);
void hew_trace_leave_room(void *room, size_t size);

/* Stops recording. */
HEW_COLD void hew_trace_stop(uint32_t flag);

/* Microseconds since the start. */
uint64_t hew_trace_time(void);

#endif
