/* SPDX-License-Identifier: MIT */
#include "os/check.h"

#include <stdatomic.h>

#define SAVED_MOST ((size_t)1 << 20) /* the longest walk that runs takes a few milliseconds */

static _Atomic size_t saved;

bool
hew_check_may_walk(size_t steps)
{
    size_t most = atomic_load_explicit(&saved, memory_order_relaxed) + HEW_CHECK_STEPS;
    most = most < SAVED_MOST ? most : SAVED_MOST;
    bool may = steps <= most;
    size_t left = may ? most - steps : most;
    atomic_store_explicit(&saved, left, memory_order_relaxed);
    return may;
}
