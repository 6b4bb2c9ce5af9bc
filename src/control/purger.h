/* SPDX-License-Identifier: MIT */
/*
 * purger: the background thread that returns idle memory while the program is busy elsewhere or idle.
 *
 * Owns      one thread.  It starts when the heaps have become large, or when one first holds enough idle memory.  It
 *           sleeps without waking while nothing decays.  All signals are blocked in it.
 * Promises  where the thread is not allowed, callers of malloc and free do its work as time passes.
 * Not here  which memory is due: page/purge.c.
 */
#ifndef HEW_CONTROL_PURGER_H
#define HEW_CONTROL_PURGER_H

#include "base/compiler.h"

/* Called when work is due (hew_page_due is odd): starts or wakes the thread, or does its work if it cannot exist.
 * hew_purger_wake_in_free() is for free(), where a thread can start only in a fork's child, and only if no other thread
 * has ever run there.  The third function only wakes a running thread.  All are called without any lock of hew and keep
 * errno. */
void hew_purger_wake(void);
void hew_purger_wake_in_free(void);
void hew_purger_wake_running(void);

/* Whether the thread may run; background_thread is the default until the program chooses.  Enabling starts it.
 * Disabling returns when it has ended.  False: nothing has changed, because the purger itself called (from an extent
 * hook). */
bool hew_purger_enabled(void);
bool hew_purger_enable(bool enabled);

/* If no purger runs, none is started from now on in this process and its children. */
void hew_purger_start_no_more(void);

/* The thread will call a program's extent hooks: it gets a stack as large as those of the program's threads. */
void hew_purger_before_hooks(void);

/* The last of the program's threads is ending: the purger must not keep the process alive.  Returns when it has
 * ended. */
void hew_purger_end(void);

/* Decays every heap as of `now_ms`; with `all`, returns all free memory.  Returns milliseconds until the next call is
 * useful, 0 when nothing decays. */
uint64_t hew_purger_round(uint64_t now_ms, bool all);

/* In a fork's child: the thread does not exist here.  If the parent had one, the child starts one when it first needs
 * it. */
void hew_purger_after_fork(void);

#endif
