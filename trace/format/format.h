/* SPDX-License-Identifier: MIT */
/*
 * format: the constants and number encoding of trace files, version 4.  docs/trace.md describes the files byte for
 * byte.
 *
 * Owns      nothing.
 * Promises  pure arithmetic on bytes; no malloc, no system call.  Everything is little-endian, like the supported
 *           machines.
 * Not here  whole blocks: reader.h reads them, writer.h writes them.
 */
#ifndef HEW_TRACE_FORMAT_FORMAT_H
#define HEW_TRACE_FORMAT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HEW_TRACE_MAGIC "hewtrace"
#define HEW_TRACE_VERSION 4 /* 1 has no TOUCHED, 2 no tree of stacks, 3 no samples, no names of threads */
#define HEW_TRACE_BLOCK_MAGIC UINT32_C(0x31425748) /* "HWB1" */
#define HEW_TRACE_LG_ALIGN_MAX 46

/* A file's header.  It contains its own size; the bytes between it and the first block are zero. */
struct hew_trace_header {
    char magic[8];
    uint32_t version;
    uint32_t first_block; /* offset of the first block */
    uint64_t started;     /* nanoseconds since 1970 */
    uint32_t pid;
    uint32_t flags;
    uint32_t batch_operations; /* most operations in a batch */
    uint32_t batch_microseconds;
    uint32_t thread_sampling; /* one thread of this many was recorded; 1: every thread */
    uint32_t stack_sampling;  /* one allocation of this many has a stack; 0: none */
    uint64_t sample_bytes;    /* mean distance of the sampled bytes; 0: every allocation was recorded */
    uint64_t reserved;
};
_Static_assert(sizeof(struct hew_trace_header) == 64, "docs/trace.md says 64 bytes");

enum hew_trace_flag {
    HEW_TRACE_ENDED = 1,   /* ended by exit(); unset: killed, _exit, exec of another program, or still running */
    HEW_TRACE_OBJECTS = 4, /* includes objects of CPython's own allocator, which are not malloc's */
    HEW_TRACE_FULL = 2,    /* recording stopped at --max or at a full disk; later operations are missing */
    HEW_TRACE_SAMPLED = 8, /* a sample by bytes: header.sample_bytes */
};

enum hew_trace_block_kind {
    HEW_TRACE_OPERATIONS = 1,
    HEW_TRACE_INFO = 2,    /* text, lines of NAME=VALUE */
    HEW_TRACE_MODULES = 3, /* text as /proc/PID/maps, for the stacks */
    HEW_TRACE_NODES = 4,   /* nodes of the tree of stacks; `number` is the first node's */
    HEW_TRACE_NAMES =
        5, /* text, lines of NUMBER, LINE, FUNCTION and FILE separated by tabs: names of frames without an address */
    HEW_TRACE_LOST = 6,    /* live objects that nothing pointed to when the process ended */
    HEW_TRACE_THREADS = 7, /* text, lines of TID and NAME separated by a tab: the threads that were there at the end */
};

enum hew_trace_codec {
    HEW_TRACE_STORED = 0,
    HEW_TRACE_ZSTD = 1,
};

enum hew_trace_block_state {
    HEW_TRACE_OPEN = 0,   /* the writer did not finish: `room` bytes; operations up to the first zero byte are valid */
    HEW_TRACE_CLOSED = 1, /* lengths and checksums are valid */
};

struct hew_trace_block {
    uint32_t magic;
    uint8_t kind;
    uint8_t codec;
    uint8_t state;
    uint8_t reserved;
    uint32_t room;     /* from this header's first byte to the next header's */
    uint32_t length;   /* bytes of the decoded payload */
    uint32_t stored;   /* bytes of the payload in the file */
    uint32_t checksum; /* CRC-32 of the stored bytes */
    uint32_t thread;
    uint32_t sequence; /* index of the block in its thread, from 0 */
    uint64_t number;   /* allocations of the thread before this block */
    uint64_t ticket;   /* base of the first SYNC's ticket delta */
    uint64_t time;     /* base of the first SYNC's time delta, microseconds since the start */
    uint32_t operations;
    uint32_t header_checksum; /* CRC-32 of the 60 bytes before */
};
_Static_assert(sizeof(struct hew_trace_block) == 64, "docs/trace.md says 64 bytes");

#define HEW_TRACE_LENGTH_MAX (UINT32_C(1) << 24) /* of a decoded payload */

/* A node in the tree of stacks: a call at `address` below the stack that `parent` stands for.  Nodes count from 1; 0 is
 * no stack. */
struct hew_trace_node {
    uint64_t address; /* a return address; HEW_TRACE_NAMED with the number of a name; 0: not written */
    uint32_t parent;
    uint32_t reserved;
};
_Static_assert(sizeof(struct hew_trace_node) == 16, "docs/trace.md says 16 bytes");

/* A row of a LOST block: an object of a thread of the file. */
struct hew_trace_lost {
    uint32_t thread;
    uint32_t reserved;
    uint64_t number;
};
_Static_assert(sizeof(struct hew_trace_lost) == 16, "docs/trace.md says 16 bytes");

#define HEW_TRACE_NAMED (UINT64_C(1) << 63)

/* Stacks beyond this number get no node. */
#define HEW_TRACE_NODES_MAX (UINT32_C(1) << 26)

/* An operation's first byte has its code in the low three bits and the start of its first number in the high five. */
enum hew_trace_code {
    HEW_TRACE_CONTROL = 0,       /* the high bits select which */
    HEW_TRACE_MALLOC = 1,        /* size */
    HEW_TRACE_CALLOC = 2,        /* size */
    HEW_TRACE_FREE = 3,          /* distance */
    HEW_TRACE_FREE_OTHER = 4,    /* thread, number */
    HEW_TRACE_REALLOC = 5,       /* distance, size */
    HEW_TRACE_REALLOC_OTHER = 6, /* thread, number, size */
    HEW_TRACE_ALIGNED = 7,       /* log2 of the alignment, size */
};

enum hew_trace_control {
    HEW_TRACE_END = 0,     /* nothing follows in this block */
    HEW_TRACE_SYNC = 1,    /* ticket delta, time delta: a batch begins */
    HEW_TRACE_EXIT = 2,    /* the thread ended */
    HEW_TRACE_STACK = 3,   /* count, then that many addresses as zigzag differences: the previous allocation's stack */
    HEW_TRACE_TOUCHED = 4, /* thread, number, pages: resident pages of this object when it or the process ends */
    HEW_TRACE_NODE = 5,    /* node: the stack of the allocations that follow in this block; 0: they have no stack */
    HEW_TRACE_NAME = 7,    /* tid, length, then so many bytes: the thread's number in the kernel, and its name */
    HEW_TRACE_PASSED = 6,  /* count: operations of the thread that are not in the trace, before the next one */
};

#define HEW_TRACE_STACK_MAX 64
/* Upper bound of an operation with all that may stand before and behind it; only stacks are longer. */
#define HEW_TRACE_OPERATION_MAX 128
#define HEW_TRACE_NAME_MAX 15 /* bytes of a thread's name */

/*
 * A number begins in `bits` bits of its first byte.  Values below 2^bits - 4 are the number itself.  The last four
 * values mean that the number follows in 1, 2, 4 or 8 bytes.
 */
static inline uint8_t *
hew_trace_put_number(uint8_t *to, unsigned bits, unsigned low, uint64_t value)
{
    unsigned direct = (1u << bits) - 4, shift = 8 - bits;
    unsigned lg = value <= UINT8_MAX ? 0 : value <= UINT16_MAX ? 1 : value <= UINT32_MAX ? 2 : 3;

    if (value < direct) {
        *to = (uint8_t)((value << shift) | low);
        return to + 1;
    }
    *to = (uint8_t)(((direct + lg) << shift) | low);
    memcpy(to + 1, &value, sizeof(value)); /* the caller has space for a whole operation */
    return to + 1 + ((size_t)1 << lg);
}

/* Reads a number at *at; false if it does not end before `end`. */
static inline bool
hew_trace_get_number(const uint8_t **at, const uint8_t *end, unsigned bits, uint64_t *value)
{
    unsigned direct = (1u << bits) - 4, first;
    size_t more;

    if (*at >= end) {
        return false;
    }
    first = (unsigned)*(*at)++ >> (8 - bits);
    if (first < direct) {
        *value = first;
        return true;
    }
    more = (size_t)1 << (first - direct);
    if ((size_t)(end - *at) < more) {
        return false;
    }
    *value = 0;
    memcpy(value, *at, more);
    *at += more;
    return true;
}

#endif
