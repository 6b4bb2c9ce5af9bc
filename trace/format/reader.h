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
 * Owns      the index of blocks, threads and stacks, by malloc: at most three times the size of the file.
 * Promises  accepts any bytes: damaged blocks are skipped and counted.  Nothing is read outside of the file.
 * Not here  compressed blocks: the tool unpacks them first (docs/trace.md).
 */
#ifndef HEW_TRACE_FORMAT_READER_H
#define HEW_TRACE_FORMAT_READER_H

#include "format/format.h"

#define HEW_TRACE_WHY 256

/* A valid block of operations. */
struct hew_trace_part {
    const uint8_t *payload;
    uint32_t size;
    uint32_t thread; /* counted from 0 in the order of first blocks, without gaps */
    uint32_t sequence;
    uint64_t number;
    uint64_t ticket;
    uint64_t time;
};

/* An object: a thread's allocation with this number, counted from 0. */
struct hew_trace_object {
    uint32_t thread;
    uint64_t number;
};

struct hew_trace {
    const uint8_t *bytes;
    size_t size;
    bool mapped;
    struct hew_trace_header header;
    struct hew_trace_part *parts; /* sorted by thread, then sequence */
    size_t part_count;
    uint32_t *names; /* by thread: its number in the file, ascending; NULL: the same number */
    uint32_t thread_count;
    struct hew_trace_node *nodes; /* [0 .. node_count): the tree of stacks, by number; missing nodes have address 0 */
    uint32_t node_count;
    struct hew_trace_object *lost; /* live objects at the end that nothing pointed to; NULL: that is not known */
    size_t lost_count;
    uint32_t damaged; /* blocks that were skipped */
    uint32_t missing; /* blocks that gaps in the threads' sequences show to be missing */
    uint64_t cut_off; /* bytes at the end of the file outside any block; 0: the file ends cleanly */
    const char *info; /* text of the first INFO block, not NUL-terminated; NULL: none */
    uint32_t info_size;
};

/* False with a one-line message in `why`: not a trace, another version, compressed, or no memory. */
bool hew_trace_open(struct hew_trace *trace, const void *bytes, size_t size, char why[HEW_TRACE_WHY]);
bool hew_trace_open_file(struct hew_trace *trace, const char *path, char why[HEW_TRACE_WHY]);
void hew_trace_close(struct hew_trace *trace);

/*
 * Finds the next block header at *offset or after it.  Where there is none, because a writer was killed before writing
 * one, it continues at the next multiple of 4096.  False: no more blocks; *offset is where the next one would have
 * begun.
 */
bool hew_trace_find_block(const uint8_t *bytes, size_t size, size_t *offset);

enum hew_trace_kind {
    HEW_TRACE_DID_SYNC,       /* a batch begins: ticket and time */
    HEW_TRACE_DID_ALLOCATE,   /* size, lg_align (0: malloc's own), zeroed; the new object */
    HEW_TRACE_DID_FREE,       /* the old object */
    HEW_TRACE_DID_REALLOCATE, /* the old object, size, the new object */
    HEW_TRACE_DID_EXIT,       /* the thread ended */
    HEW_TRACE_DID_STACK,      /* frames of the thread's last new object */
    HEW_TRACE_DID_NODE,       /* the stack of the thread's next allocations, which also have it in `node` */
    HEW_TRACE_DID_TOUCH,      /* `size` pages of the object `ended` were resident; it ends later, or lived to the end */
    HEW_TRACE_DID_NAME,       /* what the thread is called from now on; `size` is its number in the kernel */
    HEW_TRACE_DID_PASS,       /* operations that are not in the trace; the next ones have them in `passed` */
};

struct hew_trace_operation {
    enum hew_trace_kind kind;
    uint32_t thread;
    uint64_t ticket; /* of the operation's batch */
    uint64_t time;   /* microseconds since the start, of the operation's batch */
    uint64_t passed; /* operations of the thread so far that are not in the trace, of a sample by bytes */
    uint64_t size;
    uint8_t lg_align;
    bool zeroed;
    struct hew_trace_object made;  /* of ALLOCATE and REALLOCATE */
    struct hew_trace_object ended; /* of FREE and REALLOCATE */
    uint32_t node;                 /* of ALLOCATE and REALLOCATE: the stack, an index of the trace's `nodes`; 0: none */
    /* Set by the merge only. */
    uint64_t slot;                        /* of the made object, or of the freed one: small numbers, reused */
    uint64_t ended_slot;                  /* of FREE and REALLOCATE */
    uint64_t ended_size;                  /* requested size of the ended object, of FREE and REALLOCATE */
    char name[HEW_TRACE_NAME_MAX + 1];    /* of NAME */
    uint32_t frame_count;                 /* of STACK */
    uint64_t frames[HEW_TRACE_STACK_MAX]; /* return addresses, innermost first */
};

/* One thread's operations. */
struct hew_trace_cursor {
    const struct hew_trace *trace;
    const struct hew_trace_part *part; /* current block */
    const struct hew_trace_part *last; /* end of the thread's blocks */
    const uint8_t *at;
    const uint8_t *end;
    uint32_t thread;
    uint64_t number;
    uint64_t ticket;
    uint64_t time;
    uint64_t passed;
    uint32_t node;
    uint32_t faults; /* blocks abandoned because of an invalid operation */
};

/* A thread of the file, by its number without gaps.  UINT32_MAX: it has no valid block, so its objects are unknown. */
uint32_t hew_trace_thread_of_file(const struct hew_trace *trace, uint32_t name);

void hew_trace_cursor_begin(struct hew_trace_cursor *cursor, const struct hew_trace *trace, uint32_t thread);
bool hew_trace_cursor_next(struct hew_trace_cursor *cursor, struct hew_trace_operation *operation);

/*
 * All threads' operations in one order in which each object is made before it ends.  Batches are ordered by their
 * tickets.  Operations that free an object which was never made (lost with a damaged block) are left out and counted; a
 * REALLOCATE of one becomes an ALLOCATE.  Memory: at most 80 bytes for each object at the largest number of live
 * objects, and 100 a thread.
 */
struct hew_trace_merge {
    struct hew_trace_cursor *cursors;
    uint32_t *heap;              /* threads, lowest ticket of the current batch first */
    uint32_t count;              /* size of the heap */
    bool running;                /* the first thread of the heap is within its batch */
    struct hew_trace_live *live; /* NULL: begun bare */
    uint64_t unknown;            /* operations left out */
    uint64_t operations;         /* returned operations, without SYNC, EXIT and STACK */
    bool failed;                 /* out of memory: the sequence is incomplete */
};

bool hew_trace_merge_begin(struct hew_trace_merge *merge, const struct hew_trace *trace);
/* The same order for a caller that knows the live objects itself: without slots and ended sizes, and nothing is left out. */
bool hew_trace_merge_begin_bare(struct hew_trace_merge *merge, const struct hew_trace *trace);
bool hew_trace_merge_next(struct hew_trace_merge *merge, struct hew_trace_operation *operation);
void hew_trace_merge_end(struct hew_trace_merge *merge);

#endif
