/* SPDX-License-Identifier: MIT */
/*
 * gate: while a thread forks, nobody else begins to work under a lock.
 *
 * Owns      one word, and how many locks each thread holds.
 * Promises  while the gate is closed, who holds no lock gets none; who holds one gets those that he needs to be done.  The
 *           thread that closed it goes on as ever: it may take and leave any lock.
 * Why       fork() must find every lock free.  Taking them all costs a write, and later a page of one's own for parent and
 *           child, for each lock, and leaves the thread that forks unable to allocate in the handlers that the program has
 *           registered: docs/decisions/0034-fork-and-filters.md.
 * Not here  which locks there are: api/fork.c.
 */
#ifndef HEW_OS_GATE_H
#define HEW_OS_GATE_H

#include "base/compiler.h"

#include <stdatomic.h>

/* 0 open, 1 closed, 2 closed and somebody sleeps.  Sequentially consistent, as are the words of locks: who takes a lock
 * writes that and then reads this, who closes the gate writes this and then reads that; one of them sees the other. */
extern HEW_HIDDEN _Atomic uint32_t hew_gate;

/* Locks that the calling thread holds, the closed gate among them.  Its address is the thread's token: os/mutex.h. */
extern HEW_HIDDEN __thread uint32_t hew_gate_held;

HEW_INLINE bool
hew_gate_is_closed(void)
{
    return HEW_UNLIKELY(atomic_load(&hew_gate) != 0);
}

/* Waits for others who have closed it.  `in_child` is called, once, in a child of the caller's whose handlers ask for a lock
 * before hew_gate_after_fork(). */
void hew_gate_close(void (*in_child)(void));
void hew_gate_open(void);

/* Sleeps until the gate has been opened. */
void hew_gate_await(void);

/* By whoever finds the gate closed, before he takes a lock or waits for one. */
void hew_gate_look(void);

/* In a fork's child, whose only thread closed the gate. */
void hew_gate_after_fork(void);

#endif
