/* SPDX-License-Identifier: MIT */
/*
 * hooks: a table of extent hooks that keeps its own books: which extents there are, and which of them are committed.
 *
 * Promises  a call that does not fit the books (a split of what is no extent, a merge of what are no neighbours, a second
 *           dalloc ...) counts in hooks_wrong.  What is not committed cannot be touched: it has no access.
 *           Fresh memory is full of 0xc3 unless hooks_zero is set.  Thread-safe; never allocates.
 * Knobs     hooks_refuse: names, as "split,dalloc", of hooks that refuse; hooks_odds: then each nth call only.
 */
#ifndef HEW_TESTS_FAKES_HOOKS_H
#define HEW_TESTS_FAKES_HOOKS_H

#include "page/hooks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define HOOKS_MAX 16384
#define HOOKS_MARK 0xc3

struct hooks_extent {
    char *address;
    size_t size;
    bool committed;
};

static pthread_mutex_t hooks_lock = PTHREAD_MUTEX_INITIALIZER;
static struct hooks_extent hooks_extents[HOOKS_MAX]; /* unordered; all guarded by hooks_lock */
static unsigned hooks_count;
static size_t hooks_bytes;

static const char *hooks_refuse = "";
static unsigned hooks_odds = 1;
static bool hooks_zero, hooks_commit_late;
static void (*hooks_inside)(void); /* called in every hook, without hooks_lock */
static atomic_uint hooks_wrong, hooks_turn;
static atomic_uint hooks_allocs, hooks_dallocs, hooks_destroys, hooks_commits, hooks_decommits, hooks_lazy,
    hooks_forced, hooks_splits, hooks_merges;

static inline bool
hooks_refuses(const char *name)
{
    const char *at = strstr(hooks_refuse, name);
    return at != NULL && atomic_fetch_add(&hooks_turn, 1) % hooks_odds == 0;
}

static inline void
hooks_begin_call(atomic_uint *calls)
{
    atomic_fetch_add(calls, 1);
    if (hooks_inside != NULL) {
        hooks_inside();
    }
}

static inline bool
hooks_note(bool fits, const char *what, const void *address, size_t size)
{
    if (!fits) {
        hooks_wrong++;
        printf("hooks: %s of %p, %zu bytes: no such extent\n", what, address, size);
    }
    return fits;
}

/* Under the lock. */
static inline struct hooks_extent *
hooks_find(const void *address, size_t size)
{
    for (unsigned i = 0; i < hooks_count; i++) {
        if (hooks_extents[i].address == address && hooks_extents[i].size == size) {
            return &hooks_extents[i];
        }
    }
    return NULL;
}

static inline void
hooks_add(char *address, size_t size, bool committed)
{
    if (hooks_note(hooks_count < HOOKS_MAX, "one too many", address, size)) {
        hooks_extents[hooks_count++] = (struct hooks_extent){address, size, committed};
    }
}

static inline void *
hooks_alloc(struct hew_extent_hooks *hooks, void *new_address, size_t size, size_t alignment, bool *zero, bool *commit,
            unsigned arena)
{
    (void)hooks;
    (void)arena;
    hooks_begin_call(&hooks_allocs);
    char *wide = mmap(NULL, size + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (new_address != NULL || hooks_refuses("alloc") || wide == MAP_FAILED) {
        return NULL;
    }
    char *memory = wide + (alignment - ((uintptr_t)wide & (alignment - 1)));
    munmap(wide, (size_t)(memory - wide));
    munmap(memory + size, (size_t)(wide + alignment - memory));
    bool committed = *commit || !hooks_commit_late;
    if (committed) {
        mprotect(memory, size, PROT_READ | PROT_WRITE);
    }
    bool zeroed = *zero || hooks_zero || !committed;
    if (!zeroed) {
        memset(memory, HOOKS_MARK, size);
    }
    *zero = zeroed;
    *commit = committed;
    pthread_mutex_lock(&hooks_lock);
    hooks_add(memory, size, committed);
    hooks_bytes += size;
    pthread_mutex_unlock(&hooks_lock);
    return memory;
}

/* Takes an extent off the books. */
static inline bool
hooks_remove(const char *what, void *address, size_t size, bool committed)
{
    pthread_mutex_lock(&hooks_lock);
    struct hooks_extent *extent = hooks_find(address, size);
    bool fits = hooks_note(extent != NULL && extent->committed == committed, what, address, size);
    if (fits) {
        *extent = hooks_extents[--hooks_count];
        hooks_bytes -= size;
    }
    pthread_mutex_unlock(&hooks_lock);
    return fits;
}

static inline bool
hooks_dalloc(struct hew_extent_hooks *hooks, void *address, size_t size, bool committed, unsigned arena)
{
    (void)hooks;
    (void)arena;
    hooks_begin_call(&hooks_dallocs);
    if (hooks_refuses("dalloc")) {
        return true;
    }
    if (hooks_remove("dalloc", address, size, committed)) {
        munmap(address, size);
    }
    return false;
}

static inline void
hooks_destroy(struct hew_extent_hooks *hooks, void *address, size_t size, bool committed, unsigned arena)
{
    (void)hooks;
    (void)arena;
    hooks_begin_call(&hooks_destroys);
    if (hooks_remove("destroy", address, size, committed)) {
        munmap(address, size);
    }
}

/* Whether that extent is on the books. */
static inline bool
hooks_known(const char *what, void *address, size_t size, size_t offset, size_t length)
{
    pthread_mutex_lock(&hooks_lock);
    bool inside = offset <= size && length <= size - offset;
    bool fits = hooks_note(inside && hooks_find(address, size) != NULL, what, address, size);
    pthread_mutex_unlock(&hooks_lock);
    return fits;
}

static inline void
hooks_set_committed(void *address, size_t size, bool committed)
{
    pthread_mutex_lock(&hooks_lock);
    hooks_find(address, size)->committed = committed;
    pthread_mutex_unlock(&hooks_lock);
}

static inline bool
hooks_commit(struct hew_extent_hooks *hooks, void *address, size_t size, size_t offset, size_t length, unsigned arena)
{
    (void)hooks;
    (void)arena;
    hooks_begin_call(&hooks_commits);
    if (hooks_refuses("!commit") || !hooks_known("commit", address, size, offset, length)) {
        return true;
    }
    mprotect((char *)address + offset, length, PROT_READ | PROT_WRITE);
    hooks_set_committed(address, size, true);
    return false;
}

static inline bool
hooks_decommit(struct hew_extent_hooks *hooks, void *address, size_t size, size_t offset, size_t length, unsigned arena)
{
    (void)hooks;
    (void)arena;
    hooks_begin_call(&hooks_decommits);
    if (hooks_refuses("decommit") || !hooks_known("decommit", address, size, offset, length)) {
        return true;
    }
    madvise((char *)address + offset, length, MADV_DONTNEED);
    mprotect((char *)address + offset, length, PROT_NONE);
    hooks_set_committed(address, size, false);
    return false;
}

static inline bool
hooks_purge_lazy(struct hew_extent_hooks *hooks, void *address, size_t size, size_t offset, size_t length,
                 unsigned arena)
{
    (void)hooks;
    (void)arena;
    hooks_begin_call(&hooks_lazy);
    if (hooks_refuses("lazy") || !hooks_known("purge_lazy", address, size, offset, length)) {
        return true;
    }
    memset((char *)address + offset, 0x5c,
           length); /* the contents are lost, and nothing is said of what comes instead */
    return false;
}

static inline bool
hooks_purge_forced(struct hew_extent_hooks *hooks, void *address, size_t size, size_t offset, size_t length,
                   unsigned arena)
{
    (void)hooks;
    (void)arena;
    hooks_begin_call(&hooks_forced);
    if (hooks_refuses("forced") || !hooks_known("purge_forced", address, size, offset, length)) {
        return true;
    }
    madvise((char *)address + offset, length, MADV_DONTNEED);
    return false;
}

static inline bool
hooks_split(struct hew_extent_hooks *hooks, void *address, size_t size, size_t size_a, size_t size_b, bool committed,
            unsigned arena)
{
    (void)hooks;
    (void)arena;
    hooks_begin_call(&hooks_splits);
    if (hooks_refuses("split")) {
        return true;
    }
    pthread_mutex_lock(&hooks_lock);
    struct hooks_extent *extent = hooks_find(address, size);
    if (hooks_note(extent != NULL && size_a + size_b == size && size_a != 0 && size_b != 0 &&
                       extent->committed == committed,
                   "split", address, size)) {
        extent->size = size_a;
        hooks_add((char *)address + size_a, size_b, committed);
    }
    pthread_mutex_unlock(&hooks_lock);
    return false;
}

static inline bool
hooks_merge(struct hew_extent_hooks *hooks, void *address_a, size_t size_a, void *address_b, size_t size_b,
            bool committed, unsigned arena)
{
    (void)hooks;
    (void)arena;
    hooks_begin_call(&hooks_merges);
    if (hooks_refuses("merge")) {
        return true;
    }
    pthread_mutex_lock(&hooks_lock);
    struct hooks_extent *low = hooks_find(address_a, size_a), *high = hooks_find(address_b, size_b);
    bool fits = low != NULL && high != NULL && (char *)address_a + size_a == (char *)address_b &&
                low->committed == committed && high->committed == committed;
    if (hooks_note(fits, "merge", address_a, size_a)) {
        low->size += size_b;
        *high = hooks_extents[--hooks_count];
    }
    pthread_mutex_unlock(&hooks_lock);
    return false;
}

static struct hew_extent_hooks hooks_table = {hooks_alloc,        hooks_dalloc,   hooks_destroy,
                                              hooks_commit,       hooks_decommit, hooks_purge_lazy,
                                              hooks_purge_forced, hooks_split,    hooks_merge};

/* Everything as at first; nothing may be out. */
static inline void
hooks_begin(void)
{
    hooks_refuse = "";
    hooks_odds = 1;
    hooks_zero = hooks_commit_late = false;
    hooks_inside = NULL;
    hooks_wrong = hooks_allocs = hooks_dallocs = hooks_destroys = hooks_commits = hooks_decommits = 0;
    hooks_lazy = hooks_forced = hooks_splits = hooks_merges = hooks_count = 0;
    hooks_bytes = 0;
}

#endif
