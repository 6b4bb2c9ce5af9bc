/* SPDX-License-Identifier: MIT */
/* foreign: see foreign.h. */
#include "alloc/foreign.h"

#include "meta/map.h"
#include "os/object.h"

#include <stdatomic.h>

HEW_EXPORT struct hew_swapped hew_swapped;

#define LEAST_ALIGNMENT ((uintptr_t)8)

/* The old allocator would follow any address.  What it reads lies at the object and, unless the object begins a page,
 * right before it. */
static bool
is_plausible(uintptr_t address)
{
    struct hew_os_object loaded;
    bool begins_page = (address & (HEW_PAGE - 1)) == 0;
    return (address & (LEAST_ALIGNMENT - 1)) == 0 && hew_os_is_readable(address) &&
           (begins_page || hew_os_is_readable(address - LEAST_ALIGNMENT)) && !hew_os_find_object(address, &loaded);
}

bool
hew_foreign_is(const void *object)
{
    uintptr_t address = (uintptr_t)object;
    return hew_swapped.free != NULL && address != 0 && hew_map_extent(address) == NULL && is_plausible(address);
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
