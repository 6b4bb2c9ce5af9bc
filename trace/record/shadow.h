/* SPDX-License-Identifier: MIT */
/*
 * shadow: maps an address to its object's handle (ids.h), with 4 bytes for each 16 bytes of address space in use.
 *
 * Owns      a table of windows, each for 32 MiB of addresses.  A window is mapped when its first object is made, and is
 *           never given back.  Its second half is for addresses that are no multiples of 16, which few allocators have.
 * Promises  no lock: an address belongs to the thread that holds the object, so no other thread accesses its word.  A
 *           forked child's windows read as zeros (MADV_WIPEONFORK): it knows none of its parent's objects.
 */
#ifndef HEW_TRACE_RECORD_SHADOW_H
#define HEW_TRACE_RECORD_SHADOW_H

#include "base/compiler.h"

#define HEW_SHADOW_LG_WINDOW 25
#define HEW_SHADOW_HALF ((size_t)1 << (HEW_SHADOW_LG_WINDOW - 4)) /* words of half a window */

extern uint32_t *hew_shadow_windows[(size_t)1 << (HEW_LG_ADDRESS - HEW_SHADOW_LG_WINDOW)];

/* The address's word; maps its window if necessary.  NULL: mapping failed, or not a user address. */
HEW_COLD uint32_t *hew_shadow_open(uintptr_t address);

/* NULL: its window has never had an object. */
HEW_INLINE uint32_t *
hew_shadow_find(uintptr_t address)
{
    uint32_t *window;

    if (HEW_UNLIKELY(address >> HEW_LG_ADDRESS != 0)) {
        return NULL;
    }
    window = __atomic_load_n(&hew_shadow_windows[address >> HEW_SHADOW_LG_WINDOW],
                             __ATOMIC_ACQUIRE); /* pairs with hew_shadow_open() */
    return window == NULL ? NULL
                          : window + ((address >> 4) & (HEW_SHADOW_HALF - 1)) + (address >> 3 & 1) * HEW_SHADOW_HALF;
}

#endif
