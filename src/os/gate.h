/* SPDX-License-Identifier: MIT */
/*
 * gate: while a thread forks, no other thread starts work under a lock.
 *
 * Owns      One word, and the number of locks that each thread holds.
 * Promises  While the gate is closed, a thread that holds no lock gets none.  A thread that holds a lock gets the
 *           further locks that it needs to finish.  The thread that closed the gate may take and release any lock.
 * Why       fork() must find every lock free.  Taking them all would cost a write for each lock, and later a separate
 *           page in parent and child.  It would also leave the forking thread unable to allocate in the handlers that
 *           the program has registered: docs/decisions/0034-fork-and-filters.md.
 * Not here  The list of locks: api/fork.c.
 */
#ifndef HEW_OS_GATE_H
#define HEW_OS_GATE_H

#include "base/compiler.h"

#include <stdatomic.h>

/* 0: open.  1: closed.  2: closed, with sleeping threads.  Sequentially consistent, as are the words of locks.  A
 * thread that takes a lock writes the lock's word and then reads this one.  A thread that closes the gate writes this
 * word and then reads the locks.  So one of the two sees the other. */
extern HEW_HIDDEN _Atomic uint32_t hew_gate;

/* The number of locks that the calling thread holds or is about to take, including the closed gate.  A lock counts from
 * before it is taken until after it is free, so a signal handler that finds 0 has interrupted no holder.  Its address
 * is the thread's token: os/mutex.h. */
extern HEW_HIDDEN __thread uint32_t hew_gate_held;

/* The compiler may not move the count past the lock. */
HEW_INLINE void
hew_gate_count(int change)
{
    atomic_signal_fence(memory_order_seq_cst);
    hew_gate_held += (uint32_t)change;
    atomic_signal_fence(memory_order_seq_cst);
}

HEW_INLINE bool
hew_gate_is_closed(void)
{
    return HEW_UNLIKELY(atomic_load(&hew_gate) != 0);
}

/* Waits until other threads have opened the gate, then closes it.  `in_child` is called once in a child of the caller
 * if a handler there asks for a lock before hew_gate_after_fork(). */
void hew_gate_close(void (*in_child)(void));
void hew_gate_open(void);

/* Sleeps until the gate opens. */
void hew_gate_await(void);

/* A thread that finds the gate closed calls this before it takes a lock or waits for one. */
void hew_gate_look(void);

/* True if the calling thread has closed the gate. */
bool hew_gate_is_mine(void);

/* Call in a fork's child: the first if its only thread has closed the gate, the second if another one may have. */
void hew_gate_after_fork(void);
void hew_gate_forget(void);

#endif
