/* SPDX-License-Identifier: MIT */
/*
 * file: the trace file of this process, and rooms in it that threads map and write into.
 *
 * Owns      the file's descriptor, a high one; the shared state of the recording.
 * Promises  no malloc; no lock.  What a thread has written into a room is in the file whatever becomes of the process.
 *           Disk space for a room is there before it is mapped, or recording stops.
 * Why       docs/decisions/0065-recording.md.
 */
#ifndef HEW_TRACE_RECORD_FILE_H
#define HEW_TRACE_RECORD_FILE_H

#include "base/compiler.h"

enum hew_trace_phase {
    HEW_TRACE_UNBORN, /* as everything here reads in a forked child */
    HEW_TRACE_STARTING,
    HEW_TRACE_RECORDING,
    HEW_TRACE_STOPPED,
};

/* In a page that a forked child sees as zeros. */
struct hew_trace_state {
    uint64_t generation; /* of this recording; 0: none */
    uint64_t ticket;     /* the last one that was drawn */
    uint64_t file_end;   /* where the next room begins */
    uint64_t threads;    /* that have begun, in this recording and those before it */
    uint64_t floor;      /* before this one: objects of theirs are not known */
    uint32_t inside;     /* threads that are about to look at any of this, but for generation and phase */
    uint64_t first_cycles;
    uint64_t first_ns;
    uint64_t until_ns; /* when it ends unless somebody asks for more: who attached may have gone; 0: never */
    uint64_t cycles_per_ms;
    uint32_t phase;
    int file;
    uint64_t device, inode; /* of the file: a program may close descriptors that it does not know */
    struct hew_trace_header *header;
    struct hew_trace_tree *tree; /* of stacks; NULL: none yet */
    struct hew_trace_names *names;
};

extern union hew_trace_page {
    struct hew_trace_state state;
    char bytes[4096];
} hew_trace_page;
#define hew_trace_shared hew_trace_page.state

/* What the environment says, the same for all forked children: */
struct hew_trace_settings {
    uint64_t most;            /* bytes of a file */
    uint64_t thread_sampling; /* one thread of so many */
    uint64_t stack_sampling;  /* one allocation of so many; 0: none */
    bool children;            /* forked children and programs that this one becomes write files of their own */
};
extern struct hew_trace_settings hew_trace_settings;

/* In place of what the environment says: the next allocation begins a recording of this file, with the settings as they are.
 * While there is no recording.  False: the name is too long. */
HEW_COLD bool hew_trace_wish(const char *file);

/* Such a recording goes on for a minute more. */
void hew_trace_extend(void);

/* Begins this process's recording if none has begun; false: there is none (now). */
HEW_COLD bool hew_trace_start(void);

/* A room of `size` bytes, a multiple of 4096, at the file's end, zeros; NULL: recording has stopped, or `generation` is of an earlier
 * one.  Of a recording that is only starting it is 0. */
void *hew_trace_take_room(size_t size, uint64_t generation);
void hew_trace_leave_room(void *room, size_t size);

/* Nothing is recorded from here on. */
HEW_COLD void hew_trace_stop(uint32_t flag);

/* Microseconds since the start. */
uint64_t hew_trace_time(void);

#endif
