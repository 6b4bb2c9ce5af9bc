/* SPDX-License-Identifier: MIT */
/* shadow: see shadow.h. */
#include "record/shadow.h"

#include "os/syscall.h"

#include <sys/mman.h>

uint32_t *hew_shadow_windows[(size_t)1 << (HEW_LG_ADDRESS - HEW_SHADOW_LG_WINDOW)];

uint32_t *
hew_shadow_open(uintptr_t address)
{
    size_t bytes = 2 * HEW_SHADOW_HALF * sizeof(uint32_t);
    uint32_t *none = NULL, **place;
    long mapped;

    if (address >> HEW_LG_ADDRESS != 0) {
        return NULL;
    }
    mapped = hew_syscall6(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                          -1, 0);
    if (mapped < 0) {
        return NULL;
    }
    hew_syscall3(SYS_madvise, mapped, bytes, MADV_NOHUGEPAGE);
    if (hew_syscall3(SYS_madvise, mapped, bytes, MADV_WIPEONFORK) != 0) {
        hew_syscall2(SYS_munmap, mapped, bytes);
        return NULL;
    }
    place = &hew_shadow_windows[address >> HEW_SHADOW_LG_WINDOW];
    if (!__atomic_compare_exchange_n(place, &none, (uint32_t *)mapped, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        hew_syscall2(SYS_munmap, mapped, bytes); /* another thread was first */
    }
    return hew_shadow_find(address);
}
