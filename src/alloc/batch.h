/* SPDX-License-Identifier: MIT */
/*
 * batch: many objects of one size at once.  Thread-safe.
 */
#ifndef HEW_ALLOC_BATCH_H
#define HEW_ALLOC_BATCH_H

#include "base/compiler.h"

/* Its layout is mallctl's. */
struct hew_batch {
    void **objects; /* written: room for `count` */
    size_t count;
    size_t size;
    int flags; /* as in alloc/flags.h */
};

_Static_assert(sizeof(struct hew_batch) == 32, "programs know this struct by its size");

/* Returns how many objects there are: fewer than asked for only without memory. */
size_t hew_batch_alloc(const struct hew_batch *batch);

#endif
