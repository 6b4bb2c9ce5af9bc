/* SPDX-License-Identifier: MIT */
/*
 * valid: whether a magazine is as it should be, for check level 3.
 */
#ifndef HEW_CACHE_VALID_H
#define HEW_CACHE_VALID_H

#include "cache/cache.h"

/* By the owning thread: the class's magazine lies within its array, ends in a NULL and holds what
 * the address map knows as objects of the class. */
bool hew_cache_class_valid(const struct hew_cache *cache, unsigned code);

#endif
