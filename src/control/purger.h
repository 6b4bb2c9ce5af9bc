/* SPDX-License-Identifier: MIT */
/*
 * purger: the background thread that returns idle memory while the program does something else, or nothing.
 *
 * Owns      one thread, started when some heap first holds enough idle memory to be worth it; it sleeps without waking
 *           while nothing decays.  All signals are blocked in it.
 * Starting  pthread_create() takes locks of libc, and libc frees memory while it holds them.  So the thread is started
 *           only on the way out of a call that came from outside libc; until such a call comes the wish stands.
 * Not here  what is due: page/purge.c.
 */
#ifndef HEW_CONTROL_PURGER_H
#define HEW_CONTROL_PURGER_H

#include "base/compiler.h"

#include <stdatomic.h>

/* Work has come up (hew_page_due is 1): wakes the thread, or notes that one is wanted.  Called without a lock of ours. */
void hew_purger_wake(void);

/* Nonzero while a thread is wanted; for hew_purger_offer(). */
extern HEW_HIDDEN _Atomic uint32_t hew_purger_wanted;

void hew_purger_start(const void *caller);

/* On the way out of a slow path, without a lock of ours: starts the thread that is wanted, if `caller`, the return address
 * of the exported function, allows it.  Keeps errno. */
HEW_INLINE void
hew_purger_offer(const void *caller)
{
    if (HEW_UNLIKELY(atomic_load_explicit(&hew_purger_wanted, memory_order_relaxed) != 0)) {
        hew_purger_start(caller);
    }
}

/* Decays every heap as of `now_ms`, or returns everything that is free; milliseconds until there may be more to do, 0
 * when nothing decays. */
uint64_t hew_purger_round(uint64_t now_ms, bool all);

/* In a fork's child: the thread does not exist here. */
void hew_purger_after_fork(void);

#endif
