/* SPDX-License-Identifier: MIT */
/* wiped: see wiped.h. */
#include "record/wiped.h"

#include "os/syscall.h"

#include <sys/mman.h>

void *
hew_trace_map_wiped(size_t bytes)
{
    long mapped = hew_syscall6(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (mapped < 0) {
        return NULL;
    }
    hew_syscall3(SYS_madvise, mapped, bytes, MADV_NOHUGEPAGE);
    if (hew_syscall3(SYS_madvise, mapped, bytes, MADV_WIPEONFORK) != 0) {
        hew_syscall2(SYS_munmap, mapped, bytes);
        return NULL;
    }
    return (void *)mapped;
}
