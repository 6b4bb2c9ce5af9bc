/* SPDX-License-Identifier: MIT */
/* shadow: see shadow.h. */
#include "record/shadow.h"

#include "os/syscall.h"
#include "record/wiped.h"

uint32_t *hew_shadow_windows[(size_t)1 << (HEW_LG_ADDRESS - HEW_SHADOW_LG_WINDOW)];

uint32_t *
hew_shadow_open(uintptr_t address)
{
    size_t bytes = 2 * HEW_SHADOW_HALF * sizeof(uint32_t);
    uint32_t *none = NULL, *mapped, **place;

    if (address >> HEW_LG_ADDRESS != 0) {
        return NULL;
    }
    mapped = hew_trace_map_wiped(bytes);
    if (mapped == NULL) {
        return NULL;
    }
    place = &hew_shadow_windows[address >> HEW_SHADOW_LG_WINDOW];
    if (!__atomic_compare_exchange_n(place, &none, mapped, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        hew_syscall2(SYS_munmap, (long)mapped, bytes); /* another thread was first */
    }
    return hew_shadow_find(address);
}
