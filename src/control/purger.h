/* SPDX-License-Identifier: MIT */
/*
 * purger: the background thread that returns idle memory while the program does something else, or nothing.
 *
 * Owns      one thread, started when some heap first holds enough idle memory to be worth it; it sleeps without waking
 *           while nothing decays.  All signals are blocked in it.
 * Not here  what is due: page/purge.c.
 */
#ifndef HEW_CONTROL_PURGER_H
#define HEW_CONTROL_PURGER_H

#include "base/compiler.h"

/* Work has come up (hew_page_due is 1): starts or wakes the thread.  Called without any lock; keeps errno. */
void hew_purger_wake(void);

/* Decays every heap as of `now_ms`, or returns everything that is free; milliseconds until there may be more to do, 0
 * when nothing decays. */
uint64_t hew_purger_round(uint64_t now_ms, bool all);

/* In a fork's child: the thread does not exist here. */
void hew_purger_after_fork(void);

#endif
