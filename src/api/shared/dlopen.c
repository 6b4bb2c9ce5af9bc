/* SPDX-License-Identifier: MIT */
/*
 * dlopen: removes RTLD_DEEPBIND; in the shared library only.
 *
 * Why  A library loaded with this flag looks for malloc and free in libc first, while the program around it uses hew's.
 *      PHP loads all its extensions this way.  The first object that crosses between the two ends the process.
 */
#include "base/compiler.h"

#include <dlfcn.h>
#include <stdatomic.h>

/* Before glibc 2.34 dlsym() is in libdl.so.2, as the real dlopen() is.  A program that calls dlopen() has loaded both,
 * or has tested for dlopen() and found ours. */
#pragma weak dlsym

/*
 * The final call must be a jump, which -O2 makes it.  The loader takes the caller from the return address, and uses the
 * caller's RUNPATH and name space.
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
