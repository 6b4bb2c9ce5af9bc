/* SPDX-License-Identifier: MIT */
/*
 * mlockall: shrinks the address map, then makes the system call.
 *
 * Why    Locking brings in every readable page and counts every mapped address.  The address map reserves 8 GiB of
 *        address space.  Locking that would cost 16 MiB of page tables and seconds of time, and exceed the limit of an
 *        unprivileged process.  glibc's malloc has no such map, and real-time programs lock their memory as their first
 *        step.
 * Price  Afterwards a wild pointer given to free() may fault there instead of being reported.  Not in a build with a
 *        prefix.
 */
#include "base/compiler.h"
#include "meta/map.h"
#include "os/process.h"

#include <errno.h>
#include <sys/mman.h>

#ifndef MCL_ONFAULT
#define MCL_ONFAULT 4
#endif

HEW_EXPORT int
mlockall(int flags)
{
    if ((flags & MCL_CURRENT) != 0 && (flags & MCL_ONFAULT) == 0) {
        hew_map_close();
    }
    int result = hew_os_lock_all(flags);
    if (result == -ENOMEM && hew_map_narrow(hew_os_locked_limit())) {
        result = hew_os_lock_all(flags);
    }
    if (result != 0) {
        errno = -result;
        return -1;
    }
    return 0;
}
