/* SPDX-License-Identifier: MIT */
/*
 * batch: allocates many objects of one size in one call.  Thread-safe.
 */
#ifndef HEW_ALLOC_BATCH_H
#define HEW_ALLOC_BATCH_H

#include "base/compiler.h"

/* The layout is part of mallctl's interface. */
struct hew_batch {
    void **objects; /* written: holds `count` */
    size_t count;
    size_t size;
    int flags; /* as in alloc/flags.h */
};

_Static_assert(sizeof(struct hew_batch) == 32, "programs know this struct by its size");

/* Returns the number of objects allocated, which is smaller than `count` only if memory runs out. */
size_t hew_batch_alloc(const struct hew_batch *batch);

#endif
