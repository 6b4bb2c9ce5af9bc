/* SPDX-License-Identifier: MIT */
/*
 * prctl: the system's prctl, in the shared library only.  It also warns hew that the program is about to forbid itself
 * system calls.
 *
 * Why  A filter (seccomp) may end the process for a call that it does not list, and hew cannot query it.  A program
 *      that installs a filter calls prctl: without privileges the kernel requires PR_SET_NO_NEW_PRIVS first, and
 *      libseccomp always sets it.  From then on hew starts no thread and makes only system calls for memory:
 *      docs/sandboxes.md.
 */
#include "api/boot.h"
#include "os/syscall.h"

#include <stdarg.h>
#include <sys/prctl.h>

HEW_EXPORT int
prctl(int option, ...)
{
    unsigned long more[4];
    va_list list;
    va_start(list, option);
    for (unsigned i = 0; i < 4; i++) {
        more[i] = va_arg(list, unsigned long);
    }
    va_end(list);
    if (option == PR_SET_NO_NEW_PRIVS || option == PR_SET_SECCOMP) {
        hew_expect_filter();
    }
    long result = hew_syscall5(SYS_prctl, option, more[0], more[1], more[2], more[3]);
    if (result < 0) {
        errno = (int)-result;
        return -1;
    }
    return (int)result;
}
