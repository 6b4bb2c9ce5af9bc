/* SPDX-License-Identifier: MIT */
/*
 * hooks: extent hooks, with which a program takes over an arena's dealings with the system.
 *
 * Owns      the layout of a table of hooks, which is jemalloc's extent_hooks_t; the default table, whose functions a
 *           program may read, copy and call; the count of hooks that a thread is inside.
 * Promises  a hook is called without any hew lock, and may call malloc, free and mallctl.  While it runs, its thread's
 *           cache is set aside (it may be half changed), and its malloc uses an arena without hooks.  errno is
 *           preserved.
 * Not here  when hooks are called: hooked.c.
 */
#ifndef HEW_PAGE_HOOKS_H
#define HEW_PAGE_HOOKS_H

#include "base/compiler.h"

#include <stdatomic.h>

/* Every bool result is false for success.  A NULL member, except alloc, stands for a hook that always refuses. */
struct hew_extent_hooks {
    void *(*alloc)(struct hew_extent_hooks *hooks, void *new_address, size_t size, size_t alignment, bool *zero,
                   bool *commit, unsigned arena);
    bool (*dalloc)(struct hew_extent_hooks *hooks, void *address, size_t size, bool committed, unsigned arena);
    void (*destroy)(struct hew_extent_hooks *hooks, void *address, size_t size, bool committed, unsigned arena);
    bool (*commit)(struct hew_extent_hooks *hooks, void *address, size_t size, size_t offset, size_t length,
                   unsigned arena);
    bool (*decommit)(struct hew_extent_hooks *hooks, void *address, size_t size, size_t offset, size_t length,
                     unsigned arena);
    bool (*purge_lazy)(struct hew_extent_hooks *hooks, void *address, size_t size, size_t offset, size_t length,
                       unsigned arena);
    bool (*purge_forced)(struct hew_extent_hooks *hooks, void *address, size_t size, size_t offset, size_t length,
                         unsigned arena);
    bool (*split)(struct hew_extent_hooks *hooks, void *address, size_t size, size_t size_a, size_t size_b,
                  bool committed, unsigned arena);
    bool (*merge)(struct hew_extent_hooks *hooks, void *address_a, size_t size_a, void *address_b, size_t size_b,
                  bool committed, unsigned arena);
};

/* hew's default behaviour, as functions.  Programs get its address without const, as jemalloc's; it is not writable. */
extern const struct hew_extent_hooks hew_hooks_default;

/* How many nested hooks the calling thread is inside. */
extern HEW_HIDDEN __thread unsigned hew_hooks_depth;

/* Called around a thread's outermost hook.  The layer with thread caches sets it before there is one.  Relaxed. */
typedef void (*hew_hooks_guard_call)(bool inside);
extern HEW_HIDDEN _Atomic(hew_hooks_guard_call) hew_hooks_guard;

/* Around each call of a hook, with no lock held.  Returns errno, for hew_hooks_leave(). */
int hew_hooks_enter(void);
void hew_hooks_leave(int saved_errno);

#endif
