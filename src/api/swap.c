/* SPDX-License-Identifier: MIT */
/*
 * swap: realloc after `hew swap --back`, when new requests go to the old allocator again while frees still come here.
 */
#include "alloc/alloc.h"
#include "alloc/foreign.h"
#include "base/bytes.h"
#include "meta/map.h"

#include <stdlib.h>

HEW_EXPORT void *hew_swap_realloc(void *object, size_t size);

/* The old allocator resizes its own objects.  Objects of hew move to it. */
void *
hew_swap_realloc(void *object, size_t size)
{
    if (object == NULL) {
        return hew_swapped.malloc(size);
    }
    if (hew_foreign_is(object, hew_map_code((uintptr_t)object))) {
        return hew_swapped.realloc(object, size);
    }
    size_t usable = hew_alloc_usable("realloc", object);
    hew_alloc_check_kept("realloc", object);
    void *moved = hew_swapped.malloc(size == 0 ? 1 : size);
    if (moved != NULL) {
        hew_bytes_copy(moved, object, usable < size ? usable : size);
        free(object);
    }
    return moved;
}
