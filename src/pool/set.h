/* SPDX-License-Identifier: MIT */
/*
 * set: the data structures of a pool set, shared by every file of this layer.
 *
 * Locks     `hew_pool_lock` (rank: pools, outside all of the layers below but the caches' above) guards the list of
 *           sets and the list of threads.  A set's `lock` (rank: pool set, inside hew_pool_lock) is taken to add and to
 *           remove a pool.  Allocating and freeing objects takes neither.
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
#define HEW_POOL_AT_ONCE 64 /* objects per batch: one word */
#define HEW_POOL_NO_ID 0    /* a set without thread caches */

/* Memory that is in the address maps.  The fields that free reads come first, in one cache line. */
struct hew_pool_range {
    struct hew_pool_set *set; /* NULL: the pool has been removed */
    uintptr_t address;
    uint64_t reciprocal; /* of the block's stride, as in block.h; 0: the range of the fixed groups */
    unsigned number;     /* index of its size class */
    size_t size;
    struct hew_pool_block *block; /* the block in this range; NULL: the fixed groups */
    struct hew_extent *extent;    /* the entry in the extent map: the arena's, or `own` */
    struct hew_extent own;
};

/* One size. */
struct hew_pool_class {
    size_t stride;
    size_t declared; /* objects in the fixed group */
    struct hew_pool_block *fixed;
    struct hew_pool_kind kind;              /* construct and destruct are NULL for plain objects */
    unsigned at_hand;                       /* most objects in a thread's magazine; 0: no magazine */
    _Atomic(struct hew_pool_block *) first; /* dynamic pools */
    struct hew_pool_block *last;            /* guarded by the set's lock */
    _Atomic(struct hew_pool_block *)
        spare;               /* spares: removed pools with memory, newest on top; the set's lock guards writes */
    size_t pools;            /* existing ones; guarded by the set's lock */
    _Atomic size_t capacity; /* objects, including the fixed group's: relaxed */
    _Atomic unsigned whole;  /* wholly free dynamic pools: relaxed, a hint */
    _Atomic uint64_t grown, gone, beyond; /* relaxed */
    struct hew_pool_counts {
        uint64_t fills, flushes;
    } done; /* of ended threads: guarded by hew_pool_lock */
};

struct hew_pool_set {
    /* Read by every operation.  A destroyed set has zeros here, which lead to the slow paths. */
    uint32_t id;    /* its index in struct hew_pool_thread */
    uint16_t count; /* of sizes */
    bool plain;     /* no size has a constructor */
    uintptr_t base; /* the fixed groups: base to base + span, whole granules of one size each */
    size_t span;
    const uint8_t *grains;         /* the size index of each granule */
    size_t malloc_from;            /* malloc serves requests of at least this size; 0: none */
    struct hew_pool_lookup lookup; /* maps a request to a size index; yields `count` if no size fits */
    /* The rest is for slow paths. */
    _Atomic bool lives;
    struct hew_pool_class *classes;
    struct hew_pool_options options; /* its pointers point to the copies below */
    struct hew_pool_source source;
    struct hew_pool_backing backing;
    struct hew_pool_fallback fallback;
    struct hew_pool_range *fixed;
    unsigned processors; /* number of distinct processor slots */
    size_t bytes;        /* of all pools; guarded by lock */
    size_t *strides;     /* the table that lookup searches */
    void *lookup_room;
    size_t lookup_bytes, grains_bytes; /* of the tables */
    _Atomic uint64_t larger;
    unsigned users; /* internal users of the set that the program does not know about; guarded by hew_pool_lock */
    struct hew_mutex lock;
    struct hew_list link; /* list of all sets, or of destroyed ones */
};

extern struct hew_mutex hew_pool_lock;

/* Aborts, with `function` in the message, if the set has been destroyed. */
void hew_pool_set_examine(const char *function, const struct hew_pool_set *set);

#endif
