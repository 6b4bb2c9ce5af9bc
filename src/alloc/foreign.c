/* SPDX-License-Identifier: MIT */
/* foreign: see foreign.h. */
#include "alloc/foreign.h"

#include "os/object.h"

#include <stdatomic.h>

HEW_PROTECTED struct hew_swapped hew_swapped;

#define LEAST_ALIGNMENT ((uintptr_t)8)
#define PAGES 4096

/* Addresses of pages that have held plausible objects, each in the place of its number.  A page may have been unmapped
 * since: then the old allocator gets a wrong pointer, as it would have got it before the swap. */
static _Atomic uintptr_t pages[PAGES]; /* relaxed */

/* What the old allocator reads lies at the object and, unless the object begins a page, right before it. */
static bool
is_memory(uintptr_t address)
{
    struct hew_os_object loaded;
    bool begins_page = (address & (HEW_PAGE - 1)) == 0;
    return hew_os_is_readable(address) && (begins_page || hew_os_is_readable(address - LEAST_ALIGNMENT)) &&
           !hew_os_find_object(address, &loaded);
}

/* The old allocator would follow any address, so a wrong one is found here as far as that goes. */
bool
hew_foreign_is_plausible(const void *object)
{
    uintptr_t address = (uintptr_t)object, page = address & ~(uintptr_t)(HEW_PAGE - 1);
    if (address == 0 || (address & (LEAST_ALIGNMENT - 1)) != 0 || hew_map_extent(address) != NULL) {
        return false;
    }
    _Atomic uintptr_t *known = &pages[(address >> HEW_LG_PAGE) % PAGES];
    if (atomic_load_explicit(known, memory_order_relaxed) == page) {
        return true;
    }
    bool plausible = is_memory(address);
    if (plausible) {
        atomic_store_explicit(known, page, memory_order_relaxed);
    }
    return plausible;
}

void
hew_foreign_free(void *object)
{
    atomic_fetch_add_explicit(&hew_swapped.frees, 1, memory_order_relaxed);
    hew_swapped.free(object);
}

size_t
hew_foreign_usable(const void *object)
{
    return hew_swapped.usable((void *)object);
}

void
hew_foreign_count_move(void)
{
    atomic_fetch_add_explicit(&hew_swapped.resizes, 1, memory_order_relaxed);
}
