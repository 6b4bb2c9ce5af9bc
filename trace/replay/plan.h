/* SPDX-License-Identifier: MIT */
/*
 * plan: a trace prepared for replay: for each thread a sequence of 8-byte words that name slots of a table.
 *
 * The file is specific to this machine and version: it is made, run and deleted.  Batches of the trace, in the order of
 * their tickets, are divided into windows of equal size.  A batch begins when all windows except its own and the one
 * before it have ended.
 */
#ifndef HEW_TRACE_REPLAY_PLAN_H
#define HEW_TRACE_REPLAY_PLAN_H

#include "format/reader.h"

#define HEW_PLAN_MAGIC "hewplan1"

enum hew_plan_kind {
    HEW_PLAN_END,
    HEW_PLAN_BATCH,   /* value: its window; then a word: microseconds */
    HEW_PLAN_MALLOC,  /* slot, size */
    HEW_PLAN_CALLOC,  /* slot, size */
    HEW_PLAN_ALIGNED, /* slot, size; then a word: the alignment */
    HEW_PLAN_REALLOC, /* slot, size; then a word with the new slot, and the old size as value */
    HEW_PLAN_FREE,    /* slot */
    HEW_PLAN_LARGE,   /* value: the high bits of the next word's size; slot: those of its old size */
    HEW_PLAN_TOUCH,   /* value: pages of the next word's object that were resident in the recorded run */
    HEW_PLAN_KINDS,
};

/* A word: kind in 4 bits, then one bit each whether the slot's object and the new slot's pass between threads, slot in
 * 27, value in 32. */
#define HEW_PLAN_HANDED UINT64_C(16)
#define HEW_PLAN_SLOTS (UINT64_C(1) << 27)
#define HEW_PLAN_WORD(kind, slot, value) ((uint64_t)(kind) | (uint64_t)(slot) << 5 | (uint64_t)(value) << 32)
#define HEW_PLAN_KIND(word) ((unsigned)((word) & 15))
#define HEW_PLAN_SLOT(word) ((uint32_t)((word) >> 5) & (uint32_t)(HEW_PLAN_SLOTS - 1))
#define HEW_PLAN_VALUE(word) ((uint32_t)((word) >> 32))

struct hew_plan_thread {
    uint64_t offset; /* of the thread's words in the file */
    uint64_t words;
    uint32_t first_window;
    uint32_t reserved;
};

struct hew_plan {
    char magic[8];
    uint32_t threads; /* ordered by first window; the first entry is the program's first thread */
    uint32_t windows;
    uint32_t window_batches;
    uint32_t last_window_batches;
    uint64_t slots;
    uint64_t operations;
    uint64_t allocations;
    uint64_t requested;  /* bytes, of all allocations */
    uint64_t live_bytes; /* most live bytes at any time, as requested */
    uint64_t live_objects;
    uint64_t microseconds; /* of the last batch */
    uint64_t unknown;
    uint64_t damaged;
    uint64_t missing;
    uint64_t cut_off;
    uint64_t flags; /* of the trace */
    uint64_t batches;
};

/* Writes the plan of a trace to a new file.  False with a one-line message in `why`. */
bool hew_plan_make(const struct hew_trace *trace, int file, struct hew_plan *plan, char why[HEW_TRACE_WHY]);

#endif
