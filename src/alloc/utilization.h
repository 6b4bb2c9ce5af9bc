/* SPDX-License-Identifier: MIT */
/*
 * utilization: reports how full the slab around an object is, for programs that compact their objects.
 *
 * Promises  Any address is valid.  For memory that is not hew's the functions say so, and do not touch it.  Objects in
 *           caches count as used.  Thread-safe.  The figures are those of one bin at one moment.
 * Locks     the bin's.
 */
#ifndef HEW_ALLOC_UTILIZATION_H
#define HEW_ALLOC_UTILIZATION_H

#include "slab/arena.h"

/* The extent that holds an object.  A large object is one region, never free.  The layout is part of mallctl's
 * interface. */
struct hew_utilization {
    size_t free_regions;
    size_t regions;
    size_t bytes; /* of the extent */
};

/* Adds the totals of all slabs of the bin, and the slab that the next object comes from.  The layout is part of
 * mallctl's interface. */
struct hew_utilization_bin {
    void *current; /* NULL: the next object needs a new slab */
    struct hew_utilization extent;
    size_t free_regions;
    size_t regions;
};

_Static_assert(sizeof(struct hew_utilization_bin) == 48, "programs know this struct by its size");

/* Returns the live extent that contains the address: anywhere in a slab, or in the first page of a large object.  NULL:
 * not hew's. */
struct hew_extent *hew_utilization_holder(const void *address);

/* Returns false and all zeros for an address that is not hew's. */
bool hew_utilization_query(const void *address, struct hew_utilization_bin *answer);

/* Returns the number of addresses that are not hew's; their answers are all zeros. */
size_t hew_utilization_query_batch(void *const *addresses, size_t count, struct hew_utilization *answers);

/* Returns true if moving the object would help to empty its slab: the slab is among the less used ones of its bin, is
 * not the one that new objects come from, and other slabs have space.  False if it is not a small object of hew's. */
bool hew_utilization_should_move(const void *object);

#endif
