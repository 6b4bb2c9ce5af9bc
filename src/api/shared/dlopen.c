/* SPDX-License-Identifier: MIT */
/*
 * dlopen: without RTLD_DEEPBIND, in the shared library only.
 *
 * Why  a library that is loaded with this flag (PHP loads all of its extensions so) looks for malloc and free in libc before
 *      it looks here, while the program around it has ours: the first object that crosses between the two ends the process.
 */
#include "base/compiler.h"

#include <dlfcn.h>
#include <stdatomic.h>

/* Before glibc 2.34 it lies in libdl.so.2, as the true dlopen() does: who calls that one has loaded both, or looked whether it is
 * there and was misled by ours. */
#pragma weak dlsym

/*
 * The call at the end must be a jump (-O2 makes it one): the loader looks at the return address for the caller, whose
 * RUNPATH and name space count.
 */
HEW_EXPORT void *
dlopen(const char *file, int mode)
{
    static _Atomic(void *) next;
    void *found = atomic_load_explicit(&next, memory_order_relaxed);
    if (found == NULL) {
        if (dlsym == NULL) {
            return NULL;
        }
        found = dlsym(RTLD_NEXT, "dlopen");
        atomic_store_explicit(&next, found, memory_order_relaxed);
    }
    void *(*open)(const char *, int) = (void *(*)(const char *, int))found;
    return open(file, mode & ~RTLD_DEEPBIND);
}
