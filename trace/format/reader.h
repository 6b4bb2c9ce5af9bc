/* SPDX-License-Identifier: MIT */
/*
 * reader: a trace file, thread by thread, or all threads in one order.
 *
 *     struct hew_trace trace;
 *     struct hew_trace_merge merge;
 *     struct hew_trace_operation operation;
 *     char why[HEW_TRACE_WHY];
 *
 *     if (!hew_trace_open_file(&trace, path, why)) { ... why is one line ... }
 *     if (!hew_trace_merge_begin(&merge, &trace)) { ... no memory ... }
 *     while (hew_trace_merge_next(&merge, &operation)) {
 *         switch (operation.kind) { case HEW_TRACE_DID_ALLOCATE: ... operation.slot ... }
 *     }
 *     hew_trace_merge_end(&merge);
 *     hew_trace_close(&trace);
 *
 * Owns      the index of the file's blocks, of its threads and stacks, by malloc: at most three times as many bytes as the file has.
 * Promises  any bytes at all may be read: what is damaged is left out and counted.  Nothing is read outside of the file.
 * Not here  compressed blocks: the tool unpacks them first (docs/trace.md).
 */
#ifndef HEW_TRACE_FORMAT_READER_H
#define HEW_TRACE_FORMAT_READER_H

#include "format/format.h"

#define HEW_TRACE_WHY 256

/* Where a good block of operations lies. */
struct hew_trace_part {
    const uint8_t *payload;
    uint32_t size;
    uint32_t thread; /* counted from 0 in the order of their first blocks, without gaps */
    uint32_t sequence;
    uint64_t number;
    uint64_t ticket;
    uint64_t time;
};

struct hew_trace {
    const uint8_t *bytes;
    size_t size;
    bool mapped;
    struct hew_trace_header header;
    struct hew_trace_part *parts; /* by thread, then sequence */
    size_t part_count;
    uint32_t *names; /* by thread: its number in the file, rising; NULL: the same */
    uint32_t thread_count;
    struct hew_trace_node
        *nodes; /* [0 .. node_count): of the tree of stacks, by number; what is not there has address 0 */
    uint32_t node_count;
    uint32_t damaged; /* blocks that were left out */
    uint32_t missing; /* blocks that a thread's sequence tells of and that are not there */
    uint64_t cut_off; /* bytes at the end of the file that no block has; 0: it ends well */
    const char *info; /* text of the first INFO block, not ended by NUL; NULL: none */
    uint32_t info_size;
};

/* False with one line in `why`: no trace, another version, compressed, or no memory. */
bool hew_trace_open(struct hew_trace *trace, const void *bytes, size_t size, char why[HEW_TRACE_WHY]);
bool hew_trace_open_file(struct hew_trace *trace, const char *path, char why[HEW_TRACE_WHY]);
void hew_trace_close(struct hew_trace *trace);

/*
 * The next block's header at *offset or behind it: where none is, as where its writer was killed before it had written one, the next
 * multiple of 4096 is looked at.  False: no more; *offset is where the last good one would have begun.
 */
bool hew_trace_find_block(const uint8_t *bytes, size_t size, size_t *offset);

enum hew_trace_kind {
    HEW_TRACE_DID_SYNC,       /* a batch begins: ticket and time */
    HEW_TRACE_DID_ALLOCATE,   /* size, lg_align (0: malloc's own), zeroed; the new object */
    HEW_TRACE_DID_FREE,       /* the old object */
    HEW_TRACE_DID_REALLOCATE, /* the old object, size, the new object */
    HEW_TRACE_DID_EXIT,       /* the thread ended */
    HEW_TRACE_DID_STACK,      /* frames of the thread's last new object */
    HEW_TRACE_DID_NODE,       /* the stack of the thread's next allocations, which they have in `node` as well */
    HEW_TRACE_DID_TOUCH,      /* `size` pages of the object `ended` had memory; it ends later, or lived to the end */
};

/* An object: the number-th allocation, counted from 0, of a thread. */
struct hew_trace_object {
    uint32_t thread;
    uint64_t number;
};

struct hew_trace_operation {
    enum hew_trace_kind kind;
    uint32_t thread;
    uint64_t ticket; /* of the batch that it belongs to */
    uint64_t time;   /* microseconds since the start, of that batch */
    uint64_t size;
    uint8_t lg_align;
    bool zeroed;
    struct hew_trace_object made;  /* of ALLOCATE and REALLOCATE */
    struct hew_trace_object ended; /* of FREE and REALLOCATE */
    uint32_t node;                 /* of ALLOCATE and REALLOCATE: the stack, in `nodes` of the trace; 0: none */
    /* Filled by the merge alone. */
    uint64_t slot;        /* of the made object, or of the freed one: small numbers, free ones used again */
    uint64_t ended_slot;  /* of FREE and REALLOCATE */
    uint64_t ended_size;  /* what had been asked for, likewise */
    uint32_t frame_count; /* of STACK */
    uint64_t frames[HEW_TRACE_STACK_MAX]; /* return addresses, innermost first */
};

/* One thread's operations. */
struct hew_trace_cursor {
    const struct hew_trace *trace;
    const struct hew_trace_part *part; /* the one being read */
    const struct hew_trace_part *last; /* beyond the thread's last */
    const uint8_t *at;
    const uint8_t *end;
    uint32_t thread;
    uint64_t number;
    uint64_t ticket;
    uint64_t time;
    uint32_t node;
    uint32_t faults; /* blocks given up amid their operations */
};

void hew_trace_cursor_begin(struct hew_trace_cursor *cursor, const struct hew_trace *trace, uint32_t thread);
bool hew_trace_cursor_next(struct hew_trace_cursor *cursor, struct hew_trace_operation *operation);

/*
 * All threads' operations in one order in which each object is made before it ends: batch after batch by their tickets.
 * What frees an object that was never made (lost with a damaged block) is left out and counted; a REALLOCATE of one becomes
 * an ALLOCATE.  Memory: at most 80 bytes for each object of the moment when most lived, and 100 a thread.
 */
struct hew_trace_merge {
    struct hew_trace_cursor *cursors;
    uint32_t *heap; /* threads, the one whose batch has the lowest ticket first */
    uint32_t count; /* of the heap */
    bool running;   /* the first of the heap is amid its batch */
    struct hew_trace_live *live;
    uint64_t unknown;    /* operations left out */
    uint64_t operations; /* given out, without SYNC, EXIT and STACK */
    bool failed;         /* no memory was left: the order ends early */
};

bool hew_trace_merge_begin(struct hew_trace_merge *merge, const struct hew_trace *trace);
bool hew_trace_merge_next(struct hew_trace_merge *merge, struct hew_trace_operation *operation);
void hew_trace_merge_end(struct hew_trace_merge *merge);

#endif
