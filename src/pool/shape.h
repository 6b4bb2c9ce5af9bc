/* SPDX-License-Identifier: MIT */
/*
 * shape: derives a set's size classes and lookup tables from the sizes that a program declares.
 *
 * Called    before the set is published.  Errors are numbers of errno.h, 0 for none.
 */
#ifndef HEW_POOL_SHAPE_H
#define HEW_POOL_SHAPE_H

#include "pool/set.h"

/* Copies the options and the structs they point to; EINVAL for invalid ones. */
int hew_pool_shape_options(struct hew_pool_set *set, const struct hew_pool_options *options);

/* Rounds the sizes up, sorts them and removes duplicates. */
int hew_pool_shape_sizes(struct hew_pool_set *set, const struct hew_pool_size *sizes, size_t count);

/* Creates the blocks, the tables and the memory of the fixed groups. */
int hew_pool_shape_groups(struct hew_pool_set *set);

/* Undoes whatever the functions above have done. */
void hew_pool_shape_end(struct hew_pool_set *set);

#endif
