/* SPDX-License-Identifier: MIT */
/*
 * mlockall: the system call, after the address map has been made small.
 *
 * Why  locking brings in every page that can be read, and counts every address that is mapped.  Of the address map's 8 GiB of address
 *      space that would be 16 MiB of page tables and seconds of time, and more than an unprivileged process may lock: glibc's
 *      malloc has no such thing, and programs for real time lock their memory as their first act.
 * Price  a wild pointer given to free() afterwards may fault there instead of being named.  Not in a build with a prefix.
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
