/* SPDX-License-Identifier: MIT */
/* gate: closes and opens the gate, and handles a child that asks for locks too early. */
#include "os/gate.h"

#include "os/futex.h"
#include "os/syscall.h"

_Atomic uint32_t hew_gate;
__thread uint32_t hew_gate_held;

/* The token of the thread that closed the gate.  Relaxed: other threads only check that it is not theirs. */
static _Atomic(const void *) closer;
static long closed_in; /* the process of `closer` */
static void (*when_in_child)(void);

void
hew_gate_close(void (*in_child)(void))
{
    uint32_t open = 0;
    hew_gate_count(1);
    while (!atomic_compare_exchange_strong(&hew_gate, &open, 1)) {
        hew_gate_await();
        open = 0;
    }
    closed_in = hew_syscall1(SYS_getpid, 0);
    when_in_child = in_child;
    atomic_store_explicit(&closer, &hew_gate_held, memory_order_relaxed);
}

void
hew_gate_open(void)
{
    atomic_store_explicit(&closer, NULL, memory_order_relaxed);
    if (atomic_exchange(&hew_gate, 0) == 2) {
        hew_futex_wake(&hew_gate, INT32_MAX);
    }
    hew_gate_count(-1);
}

HEW_COLD void
hew_gate_await(void)
{
    uint32_t closed = 1;
    atomic_compare_exchange_strong(&hew_gate, &closed, 2);
    hew_futex_wait(&hew_gate, 2, 0);
}

bool
hew_gate_is_mine(void)
{
    return atomic_load_explicit(&closer, memory_order_relaxed) == &hew_gate_held;
}

/* A handler that runs in the child before hew's would wait for threads that do not exist there. */
HEW_COLD void
hew_gate_look(void)
{
    if (hew_gate_is_mine() && hew_syscall1(SYS_getpid, 0) != closed_in) {
        when_in_child();
    }
}

void
hew_gate_after_fork(void)
{
    hew_gate_forget();
    hew_gate_count(-1);
}

void
hew_gate_forget(void)
{
    atomic_store_explicit(&closer, NULL, memory_order_relaxed);
    atomic_store(&hew_gate, 0);
}
