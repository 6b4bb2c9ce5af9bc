/* SPDX-License-Identifier: MIT */
/*
 * slabs: where magazines are filled from and flushed to (front ends array and chain).
 *
 * Owns      slabs with their header and free bitmap outside of the objects; for each arena and class a bin: the set of
 *           its slabs that have a free region, ordered by address; and, when the front end asks for one, a depot: a
 *           stack of objects that were handed over whole and have not been returned to their slabs.
 * Promises  regions come from the lowest slab, lowest address first; all but one slab without live objects go back to
 *           the pages at once; an object never needs to be touched; a region freed twice is found here at the latest.
 * Called    from any thread; each bin has one lock, which covers its depot.
 */
#ifndef PROTO_SLABS_H
#define PROTO_SLABS_H

#include "pages.h"

#define ARENAS 4

struct slab {
    uintptr_t base;
    struct bin *bin;
    uint32_t reciprocal;
    uint32_t regions;
    uint32_t free_count;
    uint32_t first; /* no free region in words below this */
    uint32_t class;
    uint32_t order;
    uint64_t free[]; /* 1: free; set and cleared under the bin's lock */
};

struct depot_chain {
    void *head;
    uint32_t count;
};

#define DEPOT_CHAINS 64

struct bin {
    pthread_mutex_t lock;
    struct bitset *slabs;  /* with a free region */
    struct slab *empty;    /* one without live objects, kept */
    uint32_t depot_count;  /* objects there */
    uint32_t depot_chains; /* chain front end */
    void **depot;          /* array front end: one stack */
    struct depot_chain *chains;
    unsigned class;
} __attribute__((aligned(64)));

extern HIDDEN struct bin bins[ARENAS][CLASSES];

HIDDEN void slabs_boot(void);
/* Fills out[0 .. count) so that out[count - 1] is the lowest address; returns how many it got (all, or dies). */
HIDDEN void bin_fill(struct bin *bin, void **out, size_t count);
/* Returns every object to its own slab, whichever arena that is in. */
HIDDEN void bin_flush(void **objects, size_t count);
/* Gives up the slabs without live objects that bins kept. */
HIDDEN void bins_trim(void);

#endif
