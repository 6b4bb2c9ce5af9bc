/* SPDX-License-Identifier: MIT */
/*
 * share: more room for a thread that misses often, borrowed for a trial and kept only if it pays.
 *
 * Owns      what threads have borrowed beyond their shares (hew_share_counts.lent, relaxed, all threads), and each cache's
 *           `extra` and `trial` (its thread's own).
 * Promises  A thread whose classes find no room to grow while it misses often tries twice its share.  After the magazines have settled
 *           that stays if the thread now misses less and each of its operations takes less time, all that the program does between them
 *           included; else it goes back, and the rest before the next trial doubles.  So a thread whose trials fail tries
 *           ever less often, and nothing oscillates.
 *           All that is lent together stays within hew_budget_reserve(), and of one thread within a third of that and HEW_SHARE_MOST.
 *           What is not used goes back as its magazines shrink, and all of it at the thread's end, near a limit of
 *           memory, and when its magazines are flushed.
 *           No system call: time is the monotonic clock, whose pieces with a pause in them are left out.
 * Called    by the owning thread, at every sixteenth miss and at the end of a class's period.
 * Not here  which class gets the room: magazine.c and budget.c.
 * Why       docs/decisions/0078-room-by-trial.md.
 */
#ifndef HEW_CACHE_SHARE_H
#define HEW_CACHE_SHARE_H

#include "cache/cache.h"

#define HEW_SHARE_MOST ((size_t)2 << 20) /* bytes that one thread may borrow */
#define HEW_SHARE_WINDOW 256u            /* misses; rests are counted in them, */
#define HEW_SHARE_LOOK 16u               /* and a thread looks after so many */

/* What a thread is at.  While it watches it measures its work as it is, and while it judges, with more room. */
enum hew_share_state { HEW_SHARE_RESTS, HEW_SHARE_WATCHES, HEW_SHARE_SETTLES, HEW_SHARE_JUDGES };

/* Relaxed: numbers that need not agree with each other. */
struct hew_share_counts {
    _Atomic size_t lent;     /* bytes */
    _Atomic uint64_t trials; /* begun, or with `tuning:observe` thought of, */
    _Atomic uint64_t kept;   /* and ended so, */
    _Atomic uint64_t refused;
};
extern struct hew_share_counts hew_share_counts;

/* HEW_SHARE_LOOK misses more; a period of a class is over, where hew_share_is_at_work(). */
void hew_share_note_misses(struct hew_cache *cache);
void hew_share_note_period(struct hew_cache *cache);

/* What is borrowed goes back, and a trial ends. */
void hew_share_end(struct hew_cache *cache);

/* In a fork's child, whose only thread has this cache, or NULL: what the others had borrowed is no debt any more, and
 * counts begin at nothing. */
void hew_share_after_fork(const struct hew_cache *own);

/* Whether something is borrowed or measured: only then have periods to be told. */
HEW_INLINE bool
hew_share_is_at_work(const struct hew_cache *cache)
{
    return cache->extra != 0 || cache->trial.state != HEW_SHARE_RESTS;
}

#endif
