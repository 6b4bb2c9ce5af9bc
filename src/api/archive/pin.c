/* SPDX-License-Identifier: MIT */
/*
 * pin: keeps the library that contains the archive loaded, as -z nodelete does for libhew.so.
 *
 * Why   Memory that hew has served outlives a dlclose(), and so do the callbacks into hew: thread ends, fork(), the
 *       purger's thread.
 * When  In a constructor, that is inside the dlopen() that loads the library.  The calling thread holds the loader's
 *       lock already, and may enter the loader again.  At the first malloc, by contrast, any lock might be held.
 * Not   In the main program and in static programs, which are never closed; nor with musl, where dlclose() unloads
 *       nothing.
 */
#include "base/compiler.h"

#include <dlfcn.h>
#include <link.h>

/* dlopen() is found by dlsym(), because the linker warns about every static program that references dlopen(), even
 * weakly.  dlsym is weak: before glibc 2.34 it is in libdl.so.2, which a program that loads libraries has. */
#pragma weak dlsym
typedef void *(*open_library)(const char *name, int mode);

struct search {
    uintptr_t address;
    const char *name;
};

static int
look_into(struct dl_phdr_info *info, size_t size, void *context)
{
    struct search *search = context;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_LOAD && search->address - (info->dlpi_addr + header->p_vaddr) < header->p_memsz) {
            search->name = info->dlpi_name;
            return 1;
        }
    }
    return 0;
}

__attribute__((constructor(101))) static void
pin_library(void)
{
    struct search search = {(uintptr_t)pin_library, NULL};
    if (dlsym == NULL || dl_iterate_phdr(look_into, &search) == 0 || search.name == NULL || search.name[0] == '\0') {
        return;
    }
    open_library open = (open_library)dlsym(RTLD_DEFAULT, "dlopen");
    if (open != NULL) {
        open(search.name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE); /* the name that the loader uses */
    }
}
