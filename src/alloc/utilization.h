/* SPDX-License-Identifier: MIT */
/*
 * utilization: how full the slab around an object is, for programs that move their objects together.
 *
 * Promises  any address may be asked about; what is not ours is told, never touched.  Objects that some cache holds count
 *           as taken.  Thread-safe; figures are those of one moment of one bin.
 * Locks     the bin's.
 */
#ifndef HEW_ALLOC_UTILIZATION_H
#define HEW_ALLOC_UTILIZATION_H

#include "slab/arena.h"

/* The extent that holds an object; a large object is one region, never free.  Its layout is mallctl's. */
struct hew_utilization {
    size_t free_regions;
    size_t regions;
    size_t bytes; /* of the extent */
};

/* The same with all slabs of the bin, and the slab that the next object will come from.  Its layout is mallctl's. */
struct hew_utilization_bin {
    void *current; /* NULL: the next object will need a new slab */
    struct hew_utilization extent;
    size_t free_regions;
    size_t regions;
};

_Static_assert(sizeof(struct hew_utilization_bin) == 48, "programs know this struct by its size");

/* The live extent that an address lies in: anywhere in a slab, or in the first page of a large object.  NULL: not ours. */
struct hew_extent *hew_utilization_holder(const void *address);

/* False, and all zeros: not ours. */
bool hew_utilization_query(const void *address, struct hew_utilization_bin *answer);

/* Returns how many of the addresses are not ours; their answers are all zeros. */
size_t hew_utilization_query_batch(void *const *addresses, size_t count, struct hew_utilization *answers);

/* Whether moving the object would help to empty its slab: it is among the less used ones of its bin, not the one that new
 * objects come from, and there is room in others.  False for what is not a small object of ours. */
bool hew_utilization_should_move(const void *object);

#endif
