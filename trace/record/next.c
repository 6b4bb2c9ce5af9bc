/* SPDX-License-Identifier: MIT */
/* next: see next.h. */
#include "record/next.h"

#include "record/thread.h"

#include <dlfcn.h>
#include <link.h>

#pragma weak dlsym

struct hew_next hew_next_functions;
bool hew_next_known;

static bool from_program;
static _Thread_local bool finding __attribute__((tls_model("initial-exec")));
static _Alignas(16) char early[64 << 10];
static size_t early_used;

void *
hew_next_early(size_t size)
{
    size_t rounded = (size + 15) & ~(size_t)15, at;

    if (rounded < size || rounded > sizeof(early)) {
        return NULL;
    }
    at = __atomic_fetch_add(&early_used, rounded, __ATOMIC_RELAXED);
    return at <= sizeof(early) - rounded ? early + at : NULL;
}

bool
hew_next_is_early(const void *object)
{
    return (uintptr_t)object - (uintptr_t)early < sizeof(early);
}

size_t
hew_next_early_left(const void *object)
{
    return (size_t)(early + sizeof(early) - (const char *)object);
}

void
hew_next_from_program(void)
{
    from_program = true;
}

static void *
look_up(void *where, const char *name)
{
    bool before = finding;
    void *found;

    finding = true;
    found = dlsym(where, name);
    finding = before;
    return found;
}

void *
hew_next_named(const char *name)
{
    return look_up(from_program ? RTLD_DEFAULT : RTLD_NEXT, name);
}

void *
hew_next_of_program(const char *name)
{
    return look_up(RTLD_DEFAULT, name);
}

bool
hew_next_find(void)
{
    struct hew_next next;

    if (finding) {
        return false;
    }
    /* Stores a function's address through a void *, as with dlsym: POSIX guarantees that both have one size. */
#define FIND(name) *(void **)&next.name = hew_next_named(#name)
    FIND(malloc);
    FIND(free);
    FIND(calloc);
    FIND(realloc);
    FIND(memalign);
    FIND(aligned_alloc);
    FIND(posix_memalign);
    FIND(valloc);
    FIND(pvalloc);
#undef FIND
    hew_next_functions = next;
    __atomic_store_n(&hew_next_known, true, __ATOMIC_RELEASE);
    return true;
}

static int
look_at_object(struct dl_phdr_info *info, size_t size, void *argument)
{
    const char **found = argument;
    uintptr_t wanted = (uintptr_t)hew_next_functions.malloc;

    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && wanted - (info->dlpi_addr + part->p_vaddr) < part->p_memsz) {
            *found = info->dlpi_name;
            return 1;
        }
    }
    return 0;
}

/* Uses the loader's own table: before glibc 2.34 dladdr() needs another library. */
const char *
hew_next_library(void)
{
    const char *found = "";

    dl_iterate_phdr(look_at_object, &found);
    return found;
}
