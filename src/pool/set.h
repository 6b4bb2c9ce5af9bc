/* SPDX-License-Identifier: MIT */
/*
 * set: what a pool set consists of, and what every file of this layer knows of it.
 *
 * Locks     `hew_pool_lock` (rank: pools, outside all of the layers below but the caches' above) guards the list of sets and
 *           that of threads.  A set's `lock` (rank: pool set, inside it) is taken to add a pool and to let one go: the
 *           only write lock.  Taking and giving objects takes neither.
 */
#ifndef HEW_POOL_SET_H
#define HEW_POOL_SET_H

#include "base/list.h"
#include "base/size_class.h"
#include "hew/pool.h"
#include "os/mutex.h"
#include "page/extent.h"
#include "pool/block.h"
#include "pool/recent.h"

#define HEW_POOL_LG_UNIT 4 /* sizes are multiples of 16 */
#define HEW_POOL_UNIT ((size_t)1 << HEW_POOL_LG_UNIT)
#define HEW_POOL_AT_ONCE 64 /* objects that are handled together: a word */
#define HEW_POOL_NO_ID 0    /* of a set that no thread keeps objects of */

/* A piece of memory in the address maps.  What free looks at comes first, in one cache line. */
struct hew_pool_range {
    struct hew_pool_set *set; /* NULL: of a pool that has gone */
    uintptr_t address;
    uint64_t reciprocal; /* of the block's stride, as in block.h; 0: the fixed groups' */
    unsigned number;     /* of its size */
    size_t size;
    struct hew_pool_block *block; /* whose objects these are; NULL: the fixed groups' */
    struct hew_extent *extent;    /* what the extent map says: of the arena, or `own` */
    struct hew_extent own;
};

/* One size. */
struct hew_pool_class {
    size_t stride;
    size_t declared; /* objects in the fixed group */
    struct hew_pool_block *fixed;
    struct hew_pool_kind kind;              /* construct and destruct are NULL for plain objects */
    unsigned at_hand;                       /* objects that a thread keeps at most; 0: none */
    _Atomic(struct hew_pool_block *) first; /* dynamic pools */
    struct hew_pool_block *last;            /* guarded by the set's lock */
    _Atomic(struct hew_pool_block *)
        spare;               /* pools that went and still have memory, the newest on top; likewise, others look */
    size_t pools;            /* that are there; likewise */
    _Atomic size_t capacity; /* objects, the fixed group's included: relaxed */
    _Atomic unsigned whole;  /* dynamic pools that are wholly free: relaxed, a hint */
    _Atomic uint64_t grown, gone, beyond; /* relaxed */
    struct hew_pool_counts {
        uint64_t fills, flushes;
    } done; /* by threads that have ended: guarded by hew_pool_lock */
};

struct hew_pool_set {
    /* What every operation reads.  Of a set that has been destroyed all zeros, which leads to the slow paths. */
    uint32_t id;    /* its place in struct hew_pool_thread */
    uint16_t count; /* of sizes */
    bool plain;     /* no size has a constructor */
    uintptr_t base; /* the fixed groups: base to base + span, whole grains of one size each */
    size_t span;
    const uint8_t *grains;         /* the number of each grain's size */
    size_t malloc_from;            /* requests of this size or more are malloc's own; 0: never */
    struct hew_pool_lookup lookup; /* from a request to the number of its size; count when there is none */
    /* What follows is for slow paths. */
    _Atomic bool lives;
    struct hew_pool_class *classes;
    struct hew_pool_options options; /* pointers in it lead to the copies that follow */
    struct hew_pool_source source;
    struct hew_pool_backing backing;
    struct hew_pool_fallback fallback;
    struct hew_pool_range *fixed;
    unsigned processors; /* that are told apart */
    size_t bytes;        /* of all pools; guarded by lock */
    size_t *strides;     /* the table that lookup searches */
    void *lookup_room;
    size_t lookup_bytes, grains_bytes; /* of the tables */
    _Atomic uint64_t larger;
    unsigned users; /* guarded by hew_pool_lock: who works on it without the program's knowing */
    struct hew_mutex lock;
    struct hew_list link; /* of all sets, or the dead ones */
};

extern struct hew_mutex hew_pool_lock;

/* Ends the process, in the name of `function`, when the set has been destroyed. */
void hew_pool_set_examine(const char *function, const struct hew_pool_set *set);

#endif
