/* SPDX-License-Identifier: MIT */
/* bound: relaxed sums are enough, since a check near the limit corrects them; no count need be exact to the byte. */
#include "page/bound.h"

struct hew_page_bound hew_page_bound = {
    .look = PTRDIFF_MAX, .most = PTRDIFF_MAX, .caches = SIZE_MAX, .parts = HEW_PAGE_BOUND_PARTS};

HEW_COLD bool
hew_page_bound_allows(size_t size)
{
    ptrdiff_t held = atomic_load_explicit(&hew_page_bound.held, memory_order_relaxed);
    ptrdiff_t most = atomic_load_explicit(&hew_page_bound.most, memory_order_relaxed);
    return most == PTRDIFF_MAX || (held <= most && size <= (size_t)(most - (held < 0 ? 0 : held)));
}

HEW_COLD void
hew_page_bound_count(ptrdiff_t bytes)
{
    ptrdiff_t held = atomic_fetch_add_explicit(&hew_page_bound.held, bytes, memory_order_relaxed) + bytes;
    if (bytes > 0 && held >= atomic_load_explicit(&hew_page_bound.look, memory_order_relaxed)) {
        atomic_store_explicit(&hew_page_bound.raised, 1, memory_order_relaxed);
    }
}
