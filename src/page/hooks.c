/* SPDX-License-Identifier: MIT */
/*
 * hooks: the default table, which does what heaps without hooks do, in functions that a program's own hooks may call;
 * and the code around each hook call.
 */
#include "page/hooks.h"

#include "base/options.h"
#include "os/memory.h"
#include "page/huge.h"

#include <errno.h>

__thread unsigned hew_hooks_depth;
_Atomic(hew_hooks_guard_call) hew_hooks_guard;

static void
hooks_guard(bool inside)
{
    hew_hooks_guard_call call = atomic_load_explicit(&hew_hooks_guard, memory_order_relaxed);
    if (call != NULL) {
        call(inside);
    }
}

int
hew_hooks_enter(void)
{
    HEW_ASSERT(1, hew_mutex_none_is_held());
    int saved = errno;
    if (hew_hooks_depth++ == 0) {
        hooks_guard(true);
    }
    return saved;
}

void
hew_hooks_leave(int saved_errno)
{
    if (--hew_hooks_depth == 0) {
        hooks_guard(false);
    }
    errno = saved_errno;
}

static void *
default_alloc(struct hew_extent_hooks *hooks, void *new_address, size_t size, size_t alignment, bool *zero,
              bool *commit, unsigned arena)
{
    void *memory = new_address;
    if (new_address == NULL) {
        memory = hew_os_map(size, alignment);
    } else if (!hew_os_map_at(new_address, size)) {
        memory = NULL;
    }
    if (memory != NULL) {
        hew_huge_advise(memory, size, hew_options.thp);
        *zero = true;
        *commit = true;
    }
    return memory;
}

/* With retain:true, or if the system refuses, address space is kept: the caller purges it instead. */
static bool
default_dalloc(struct hew_extent_hooks *hooks, void *address, size_t size, bool committed, unsigned arena)
{
    return hew_options.retain || !hew_os_try_unmap(address, size);
}

static void
default_destroy(struct hew_extent_hooks *hooks, void *address, size_t size, bool committed, unsigned arena)
{
    hew_os_unmap(address, size);
}

/* The system commits a page when it is touched. */
static bool
default_commit(struct hew_extent_hooks *hooks, void *address, size_t size, size_t offset, size_t length, unsigned arena)
{
    return address == NULL || offset + length > size;
}

/* Refused: purging already frees all that decommitting could. */
static bool
default_decommit(struct hew_extent_hooks *hooks, void *address, size_t size, size_t offset, size_t length,
                 unsigned arena)
{
    return true;
}

static bool
default_purge_lazy(struct hew_extent_hooks *hooks, void *address, size_t size, size_t offset, size_t length,
                   unsigned arena)
{
    return !hew_os_purge_lazily((char *)address + offset, length);
}

static bool
default_purge_forced(struct hew_extent_hooks *hooks, void *address, size_t size, size_t offset, size_t length,
                     unsigned arena)
{
    return !hew_os_purge((char *)address + offset, length);
}

static bool
default_split(struct hew_extent_hooks *hooks, void *address, size_t size, size_t size_a, size_t size_b, bool committed,
              unsigned arena)
{
    return false;
}

static bool
default_merge(struct hew_extent_hooks *hooks, void *address_a, size_t size_a, void *address_b, size_t size_b,
              bool committed, unsigned arena)
{
    return false;
}

const struct hew_extent_hooks hew_hooks_default = {
    default_alloc,      default_dalloc,       default_destroy, default_commit, default_decommit,
    default_purge_lazy, default_purge_forced, default_split,   default_merge,
};
