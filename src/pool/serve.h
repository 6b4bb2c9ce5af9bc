/* SPDX-License-Identifier: MIT */
/*
 * serve: slow paths of malloc, free and related functions for a pool set, behind fast.h.
 *
 * Promises  NULL means no memory, or a limit; errno is never touched.  Thread-safe.
 */
#ifndef HEW_POOL_SERVE_H
#define HEW_POOL_SERVE_H

#include "pool/set.h"

/* Slow path of malloc.  With `zero`, the requested bytes read as zeros. */
void *hew_pool_serve(struct hew_pool_set *set, size_t size, bool zero);

/* Slow path of free; `function` is the name of the function that the program called. */
void hew_pool_serve_free(struct hew_pool_set *set, const char *function, void *object);

/* Usable bytes; 0 for NULL. */
size_t hew_pool_serve_usable(struct hew_pool_set *set, const char *function, const void *object);

/* A pool's object that the program passed to malloc's own functions. */
void hew_pool_serve_plain_free(const char *function, void *object);
size_t hew_pool_serve_plain_usable(const char *function, const void *object);

/* Flushes the calling thread's magazines of the set, and removes the pools that are wholly free.  Returns how many
 * pools it removed. */
size_t hew_pool_serve_trim(struct hew_pool_set *set);

#endif
