/* SPDX-License-Identifier: MIT */
/*
 * life: the sets that there are: their beginning and end, threads that end, fork, and the passing of time.
 */
#ifndef HEW_POOL_LIFE_H
#define HEW_POOL_LIFE_H

#include "pool/set.h"

/* Whether there ever was a set: what else stands here is not called before.  Relaxed; it is first raised before a thread can
 * know of a set. */
extern HEW_HIDDEN _Atomic bool hew_pool_used;

/* As hew_pool_create(); NULL and *error otherwise. */
struct hew_pool_set *hew_pool_life_begin(const struct hew_pool_size *sizes, size_t count,
                                         const struct hew_pool_options *options, int *error);

/* False: some objects are not free; with `objects` that does not matter. */
bool hew_pool_life_end(struct hew_pool_set *set, bool objects);

/* As hew_pool_read_figures(). */
size_t hew_pool_life_figures(struct hew_pool_set *set, struct hew_pool_set_figures *total,
                             struct hew_pool_figures *figures, size_t room);

/* The calling thread ends: what it has at hand goes back. */
void hew_pool_life_leave(void);

/* Dynamic pools go whose time is over.  Returns milliseconds until there may be more to do; 0: nothing waits. */
uint64_t hew_pool_life_round(void);

/* For fork: every lock of this layer, in the order of ranks; the sets that there are cannot change in between. */
void hew_pool_life_each_mutex(void (*act)(struct hew_mutex *mutex));
void hew_pool_life_after_fork(void);

#endif
