/* SPDX-License-Identifier: MIT */
/*
 * clone: libc's clone, in the shared library only.  A child that runs on its parent's memory and thread data allocates
 * without the parent's cache, for the reason that vfork_x86_64.c gives.
 *
 * Without CLONE_VFORK the parent does not learn when the child ends, so it goes on without its cache.
 */
#include "cache/thread.h"

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdarg.h>

#pragma weak dlsym

typedef int (*clone_call)(int (*)(void *), void *, int, void *, void *, void *, void *);

HEW_EXPORT int
clone(int (*function)(void *), void *stack, int flags, void *argument, ...)
{
    void *more[3];
    va_list list;
    va_start(list, argument);
    for (unsigned i = 0; i < 3; i++) {
        more[i] = va_arg(list, void *);
    }
    va_end(list);
    clone_call next = dlsym == NULL ? NULL : (clone_call)dlsym(RTLD_NEXT, "clone");
    bool shares = (flags & CLONE_VM) != 0 && (flags & CLONE_SETTLS) == 0;
    if (next == NULL) {
        errno = ENOSYS;
        return -1;
    }
    if (shares) {
        hew_thread_set_aside();
    }
    int child = next(function, stack, flags, argument, more[0], more[1], more[2]);
    if (shares && (child < 0 || (flags & CLONE_VFORK) != 0)) {
        hew_thread_take_up();
    }
    return child;
}
