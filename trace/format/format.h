/* SPDX-License-Identifier: MIT */
/*
 * format: the constants of trace files, version 3, and their numbers.  docs/trace.md describes them byte for byte.
 *
 * Owns      nothing.
 * Promises  pure arithmetic on bytes; no malloc, no system call.  Everything is little-endian, as the machines are that it runs on.
 * Not here  whole blocks: reader.h reads them, writer.h writes them.
 */
#ifndef HEW_TRACE_FORMAT_FORMAT_H
#define HEW_TRACE_FORMAT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HEW_TRACE_MAGIC "hewtrace"
#define HEW_TRACE_VERSION 3                        /* 1 has no TOUCHED, 2 no tree of stacks; both are read too */
#define HEW_TRACE_BLOCK_MAGIC UINT32_C(0x31425748) /* "HWB1" */
#define HEW_TRACE_LG_ALIGN_MAX 46

/* A file's header; its size is told in it, and what lies between this and the first block is zero. */
struct hew_trace_header {
    char magic[8];
    uint32_t version;
    uint32_t first_block; /* offset of the first block */
    uint64_t started;     /* nanoseconds since 1970 */
    uint32_t pid;
    uint32_t flags;
    uint32_t batch_operations; /* most operations of a batch */
    uint32_t batch_microseconds;
    uint32_t thread_sampling; /* one thread of so many was recorded; 1: each */
    uint32_t stack_sampling;  /* a stack for one allocation of so many; 0: none */
    uint64_t reserved[2];
};
_Static_assert(sizeof(struct hew_trace_header) == 64, "docs/trace.md says 64 bytes");

enum hew_trace_flag {
    HEW_TRACE_ENDED = 1,   /* by exit(); without it: killed, _exit, another program by exec, or it runs */
    HEW_TRACE_OBJECTS = 4, /* objects of CPython's own allocator are in it, which are no malloc's */
    HEW_TRACE_FULL = 2,    /* it stopped at --max or a full disk: what came later is not in it */
};

enum hew_trace_block_kind {
    HEW_TRACE_OPERATIONS = 1,
    HEW_TRACE_INFO = 2,    /* text, lines of NAME=VALUE */
    HEW_TRACE_MODULES = 3, /* text as /proc/PID/maps, for the stacks */
    HEW_TRACE_NODES = 4,   /* of the tree of stacks; `number` is the first one's */
    HEW_TRACE_NAMES =
        5, /* text, lines of NUMBER, LINE, FUNCTION and FILE with tabs between: frames without an address */
};

enum hew_trace_codec {
    HEW_TRACE_STORED = 0,
    HEW_TRACE_ZSTD = 1,
};

enum hew_trace_block_state {
    HEW_TRACE_OPEN =
        0, /* its writer was cut off: `room` bytes, of which the operations up to the first zero byte are good */
    HEW_TRACE_CLOSED = 1, /* lengths and checksums hold */
};

struct hew_trace_block {
    uint32_t magic;
    uint8_t kind;
    uint8_t codec;
    uint8_t state;
    uint8_t reserved;
    uint32_t room;     /* from this header's first byte to the next header's */
    uint32_t length;   /* bytes of the payload when decoded */
    uint32_t stored;   /* bytes of the payload in the file */
    uint32_t checksum; /* CRC-32 of those */
    uint32_t thread;
    uint32_t sequence; /* counts the thread's blocks from 0 */
    uint64_t number;   /* allocations of the thread before this block */
    uint64_t ticket;   /* its first SYNC counts from here */
    uint64_t time;     /* microseconds since the start, likewise */
    uint32_t operations;
    uint32_t header_checksum; /* CRC-32 of the 60 bytes before */
};
_Static_assert(sizeof(struct hew_trace_block) == 64, "docs/trace.md says 64 bytes");

#define HEW_TRACE_LENGTH_MAX (UINT32_C(1) << 24) /* of a decoded payload */

/* A place in the tree of stacks: a call at `address` below the stack that `parent` stands for.  Nodes count from 1; 0 is no stack. */
struct hew_trace_node {
    uint64_t address; /* a return address; HEW_TRACE_NAMED and the number of a name; 0: not written */
    uint32_t parent;
    uint32_t reserved;
};
_Static_assert(sizeof(struct hew_trace_node) == 16, "docs/trace.md says 16 bytes");

#define HEW_TRACE_NAMED (UINT64_C(1) << 63)

/* More stacks than that are not told apart. */
#define HEW_TRACE_NODES_MAX (UINT32_C(1) << 26)

/* An operation's first byte has its code in the low three bits and the first number's beginning in the high five. */
enum hew_trace_code {
    HEW_TRACE_CONTROL = 0,       /* which one is in the high bits */
    HEW_TRACE_MALLOC = 1,        /* size */
    HEW_TRACE_CALLOC = 2,        /* size */
    HEW_TRACE_FREE = 3,          /* distance */
    HEW_TRACE_FREE_OTHER = 4,    /* thread, number */
    HEW_TRACE_REALLOC = 5,       /* distance, size */
    HEW_TRACE_REALLOC_OTHER = 6, /* thread, number, size */
    HEW_TRACE_ALIGNED = 7,       /* log2 of the alignment, size */
};

enum hew_trace_control {
    HEW_TRACE_END = 0,   /* nothing follows in this block */
    HEW_TRACE_SYNC = 1,  /* ticket delta, time delta: a batch begins */
    HEW_TRACE_EXIT = 2,  /* the thread ended */
    HEW_TRACE_STACK = 3, /* count, then so many addresses as differences (zigzag): the stack of the allocation before */
    HEW_TRACE_TOUCHED =
        4, /* thread, number, pages: so many pages of this object have memory, as it ends or the process does */
    HEW_TRACE_NODE = 5, /* node: the stack of the allocations that follow in this block; 0 again: of none */
};

#define HEW_TRACE_STACK_MAX 64
/* No operation is longer, with the SYNC before it; stacks alone are. */
#define HEW_TRACE_OPERATION_MAX 64

/*
 * A number begins in `bits` bits of its first byte: below 2^bits - 4 these are its value; the last four values say that
 * 1, 2, 4 or 8 bytes follow, which are.
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
    memcpy(to + 1, &value, sizeof(value)); /* whoever writes has room for a whole operation */
    return to + 1 + ((size_t)1 << lg);
}

/* Reads a number at *at; false: it does not end before `end`. */
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
