/* SPDX-License-Identifier: MIT */
/*
 * shape: from the sizes that a program declares to the sizes that a set has, and the tables that lead to them.
 *
 * Called    while nobody else knows the set.  Errors are numbers of errno.h, 0 for none.
 */
#ifndef HEW_POOL_SHAPE_H
#define HEW_POOL_SHAPE_H

#include "pool/set.h"

/* The options and what they point to; what cannot be is EINVAL. */
int hew_pool_shape_options(struct hew_pool_set *set, const struct hew_pool_options *options);

/* The sizes: rounded up, in order, each once. */
int hew_pool_shape_sizes(struct hew_pool_set *set, const struct hew_pool_size *sizes, size_t count);

/* Their blocks and tables, and memory for the fixed groups. */
int hew_pool_shape_groups(struct hew_pool_set *set);

/* Undoes all of it, as far as it was done. */
void hew_pool_shape_end(struct hew_pool_set *set);

#endif
