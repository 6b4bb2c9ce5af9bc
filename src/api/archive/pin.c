/* SPDX-License-Identifier: MIT */
/*
 * pin: the library that the archive is linked into stays loaded, as libhew.so does (-z nodelete).
 *
 * Why   memory that we have served outlives a dlclose(), and so does what calls us: ends of threads, fork(), the purger's thread.
 * When  a constructor, so inside the dlopen() that loads the library.  The calling thread has the loader's lock already, and may
 *       enter the loader again.  At the first malloc any lock might be held.
 * Not   in the main program and in static ones, which nobody closes; nor with musl, where dlclose() unloads nothing.
 */
#include "base/compiler.h"

#include <dlfcn.h>
#include <link.h>

/* Found by dlsym(): a linker warns of each static program with a reference to dlopen(), a weak one, too.  Weak: in libdl.so.2 before
 * glibc 2.34, which a program that loads libraries has. */
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
        open(search.name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE); /* the name by which the loader knows it */
    }
}
