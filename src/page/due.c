/* SPDX-License-Identifier: MIT */
/* due: see due.h.  A separate file, so that parts of a page heap can raise hew_page_due without depending on the
 * heap. */
#include "page/due.h"

_Atomic uint32_t hew_page_due;
_Atomic bool hew_page_grown;
_Atomic size_t hew_page_mapped;
_Atomic size_t hew_page_purger_from = HEW_PAGE_PURGER_STEP;

void
hew_page_await_purger(void)
{
    size_t mapped = atomic_load_explicit(&hew_page_mapped, memory_order_relaxed);
    atomic_store_explicit(&hew_page_purger_from, mapped + HEW_PAGE_PURGER_STEP, memory_order_relaxed);
}
