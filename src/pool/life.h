/* SPDX-License-Identifier: MIT */
/*
 * life: the list of sets: creation and destruction, thread exit, fork, and removal of pools by time.
 */
#ifndef HEW_POOL_LIFE_H
#define HEW_POOL_LIFE_H

#include "pool/set.h"

/* Whether a set was ever created; the other functions here must not be called before.  Relaxed: it is set before any
 * thread can have a pointer to a set. */
extern HEW_HIDDEN _Atomic bool hew_pool_used;

/* As hew_pool_create(); on failure returns NULL and sets *error. */
struct hew_pool_set *hew_pool_life_begin(const struct hew_pool_size *sizes, size_t count,
                                         const struct hew_pool_options *options, int *error);

/* Returns false if objects are still in use; `objects` skips that check. */
bool hew_pool_life_end(struct hew_pool_set *set, bool objects);

/* Implements hew_pool_read_figures(). */
size_t hew_pool_life_figures(struct hew_pool_set *set, struct hew_pool_set_figures *total,
                             struct hew_pool_figures *figures, size_t room);

/* The calling thread ends: frees its magazines. */
void hew_pool_life_leave(void);

/* Removes the dynamic pools that have expired.  Returns milliseconds until the next call is useful; 0: none is
 * waiting. */
uint64_t hew_pool_life_round(void);

/* For fork: visits every lock of this layer in rank order.  The list of sets cannot change in between. */
void hew_pool_life_each_mutex(void (*act)(struct hew_mutex *mutex));
void hew_pool_life_after_fork(void);

#endif
