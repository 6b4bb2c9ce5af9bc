/* SPDX-License-Identifier: MIT */
/* header_all: uses every name that jemalloc/jemalloc.h declares.  COMPAT(name) is how the program spells a function. */
#include <jemalloc/jemalloc.h>

#include <stddef.h>

#define STRING_OF(x) #x
#define STRING(x) STRING_OF(x)

#if !defined(JEMALLOC_VERSION_MAJOR) || JEMALLOC_VERSION_MAJOR < 5 || JEMALLOC_VERSION_MINOR < 3
#error "what Redis and Valkey ask for"
#endif
#ifndef JEMALLOC_VERSION_GID
#error "the version lacks a part"
#endif

static const char purge_all[] = "arena." STRING(MALLCTL_ARENAS_ALL) ".purge" JEMALLOC_VERSION;
static const int encodings[] = {MALLOCX_ALIGN(16),        MALLOCX_LG_ALIGN(4),     MALLOCX_ZERO,
                                MALLOCX_TCACHE(3),        MALLOCX_TCACHE_NONE,     MALLOCX_ARENA(7),
                                MALLCTL_ARENAS_DESTROYED, JEMALLOC_VERSION_BUGFIX, JEMALLOC_VERSION_NREV};

JEMALLOC_ALIGNED(64) static char aligned_by_macro[64];

static void *
hook_alloc(extent_hooks_t *hooks, void *address, size_t size, size_t alignment, bool *zero, bool *commit,
           unsigned arena)
{
    return NULL;
}

static bool
hook_split(extent_hooks_t *hooks, void *address, size_t size, size_t first, size_t second, bool committed,
           unsigned arena)
{
    return true;
}

static bool
hook_merge(extent_hooks_t *hooks, void *first, size_t first_size, void *second, size_t second_size, bool committed,
           unsigned arena)
{
    return true;
}

static bool
hook_range(extent_hooks_t *hooks, void *address, size_t size, size_t offset, size_t length, unsigned arena)
{
    return true;
}

static bool
hook_dalloc(extent_hooks_t *hooks, void *address, size_t size, bool committed, unsigned arena)
{
    return true;
}

static void
hook_destroy(extent_hooks_t *hooks, void *address, size_t size, bool committed, unsigned arena)
{
}

static const extent_hooks_t hooks_in_order = {hook_alloc, hook_dalloc, hook_destroy, hook_range, hook_range,
                                              hook_range, hook_range,  hook_split,   hook_merge};

static void JEMALLOC_NOINLINE
use_everything(void (*write)(void *, const char *))
{
    size_t length = 0, mib[1];
    void *object = NULL;
    COMPAT(free)(COMPAT(malloc)(1));
    COMPAT(free)(COMPAT(calloc)(1, 1));
    COMPAT(free)(COMPAT(realloc)(object, 1));
    COMPAT(free)(COMPAT(aligned_alloc)(64, 64));
    COMPAT(free)(COMPAT(memalign)(64, 64));
    COMPAT(free)(COMPAT(valloc)(1));
    (void)COMPAT(posix_memalign)(&object, 64, 64);
    COMPAT(dallocx)(COMPAT(mallocx)(1, 0), 0);
    COMPAT(sdallocx)(COMPAT(rallocx)(object, 1, 0), 1, 0);
    length += COMPAT(xallocx)(object, 1, 1, 0) + COMPAT(sallocx)(object, 0) + COMPAT(nallocx)(1, 0);
    length += COMPAT(malloc_usable_size)(object);
    (void)COMPAT(mallctl)(purge_all, &length, &length, object, 0);
    (void)COMPAT(mallctlnametomib)(purge_all, mib, &length);
    (void)COMPAT(mallctlbymib)(mib, 1, object, &length, object, 0);
    COMPAT(malloc_stats_print)(write, NULL, "");
    COMPAT(malloc_message) = write;
    COMPAT(malloc_conf) = "";
}

void *compat_uses[] = {(void *)purge_all, (void *)encodings, (void *)aligned_by_macro, (void *)&hooks_in_order,
                       (void *)use_everything};
