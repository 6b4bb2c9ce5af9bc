/* SPDX-License-Identifier: MIT */
/* idle: a low-water mark of two periods: what is fewest in this one, and what was fewest in the one before it. */
#include "page/idle.h"

_Atomic size_t hew_idle_least;
static _Atomic size_t idle, least_here; /* now; and since the present period began */
static _Atomic unsigned told;

/* Two threads at once may leave the larger of their numbers, until the period ends at the latest. */
static void
lower(_Atomic size_t *least, size_t now)
{
    if (now < atomic_load_explicit(least, memory_order_relaxed)) {
        atomic_store_explicit(least, now, memory_order_relaxed);
    }
}

HEW_NOINLINE void
hew_idle_tell(struct hew_stock *stock)
{
    size_t whole = stock->bytes / HEW_IDLE_PIECE * HEW_IDLE_PIECE, more = whole - stock->told; /* or less: it wraps */
    stock->told = whole;
    size_t now = atomic_fetch_add_explicit(&idle, more, memory_order_relaxed) + more;
    lower(&least_here, now);
    if (atomic_fetch_add_explicit(&told, 1, memory_order_relaxed) % HEW_IDLE_PERIOD == HEW_IDLE_PERIOD - 1) {
        size_t least = atomic_exchange_explicit(&least_here, now, memory_order_relaxed);
        atomic_store_explicit(&hew_idle_least, least, memory_order_relaxed);
    }
    lower(&hew_idle_least, now);
}
