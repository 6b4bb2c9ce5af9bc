/* SPDX-License-Identifier: MIT */
/*
 * prctl: the system's, in the shared library only; and a sign that the program is about to forbid itself system calls.
 *
 * Why  a filter (seccomp) may end the process for a call that it does not list, and cannot be asked.  Who installs one comes by
 *      here: without privileges the kernel wants PR_SET_NO_NEW_PRIVS first, and libseccomp sets it in any case.  From then on
 *      hew makes no thread and asks for nothing but memory: docs/sandboxes.md.
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
