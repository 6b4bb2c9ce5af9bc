/* SPDX-License-Identifier: MIT */
/*
 * purger: the background thread that returns idle memory while the program does something else, or nothing.
 *
 * Owns      one thread, started when the heaps have become large or one first holds enough idle memory to be worth it;
 *           it sleeps without waking while nothing decays.  All signals are blocked in it.
 * Promises  where there is to be no thread, the callers of malloc and free do its work as time passes.
 * Not here  what is due: page/purge.c.
 */
#ifndef HEW_CONTROL_PURGER_H
#define HEW_CONTROL_PURGER_H

#include "base/compiler.h"

/*
 * Work has come up (hew_page_due is odd): starts or wakes the thread, or does its work where it cannot be.  The second one is
 * for free(), where a thread can begin only in a fork's child, and only if no other has ever run there.  The third
 * one wakes a thread that runs, and does no more.  Called without any lock of ours; keep errno.
 */
void hew_purger_wake(void);
void hew_purger_wake_in_free(void);
void hew_purger_wake_running(void);

/* Whether the thread may run: as background_thread says, until the program chooses.  Allowing it starts it.  Forbidding it
 * returns when it is gone; false: nothing has changed, because the purger itself asks (out of an extent hook). */
bool hew_purger_enabled(void);
bool hew_purger_enable(bool enabled);

/* Where none runs, none is started from now on, in this process and its children. */
void hew_purger_start_no_more(void);

/* A program's extent hooks will be called in the thread: it gets a stack as large as those of the program's threads. */
void hew_purger_before_hooks(void);

/* The last of the program's threads is ending: the thread must not keep the process alive.  Returns when it is gone. */
void hew_purger_end(void);

/* Decays every heap as of `now_ms`, or returns everything that is free; milliseconds until there may be more to do, 0
 * when nothing decays. */
uint64_t hew_purger_round(uint64_t now_ms, bool all);

/* In a fork's child: the thread does not exist here.  If the parent had one, the child gets one at its first need. */
void hew_purger_after_fork(void);

#endif
