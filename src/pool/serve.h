/* SPDX-License-Identifier: MIT */
/*
 * serve: what malloc, free and their kin mean for a pool set: the rare half, behind fast.h.
 *
 * Promises  NULL means no memory, or a bound; errno is never touched.  Thread-safe.
 */
#ifndef HEW_POOL_SERVE_H
#define HEW_POOL_SERVE_H

#include "pool/set.h"

/* A request that the fast path did not serve; `zero`: the bytes that are asked for read as zeros. */
void *hew_pool_serve(struct hew_pool_set *set, size_t size, bool zero);

/* A free that the fast path did not take; `function` is what the program called. */
void hew_pool_serve_free(struct hew_pool_set *set, const char *function, void *object);

/* Usable bytes; 0 for NULL. */
size_t hew_pool_serve_usable(struct hew_pool_set *set, const char *function, const void *object);

/* A pool's object that was given to malloc's own functions. */
void hew_pool_serve_plain_free(const char *function, void *object);
size_t hew_pool_serve_plain_usable(const char *function, const void *object);

/* The calling thread's objects of the set go back, and with them the pools that are wholly free.  Returns how many went. */
size_t hew_pool_serve_trim(struct hew_pool_set *set);

#endif
