/* SPDX-License-Identifier: MIT */
/*
 * layers_alloc: the upcalls for a test of alloc/, in place of api/boot.c.  Included by one source of a program.
 *
 * A thread gets its cache when it first allocates, and ends it itself with hew_thread_death().
 */
#ifndef HEW_TESTS_LAYERS_ALLOC_H
#define HEW_TESTS_LAYERS_ALLOC_H

#include "alloc/alloc.h"
#include "alloc/fast.h"
#include "alloc/harden.h"
#include "alloc/realloc.h"
#include "cache/thread.h"
#include "layers.h"

#include <stdlib.h>
#include <string.h>

static bool layers_without_caches; /* as with tcache:false; set while no thread has a cache */
static _Atomic unsigned layers_purges_due;

static struct hew_cache *
layers_start_thread(void)
{
    if (hew_cache_self == &hew_cache_gone) {
        return NULL;
    }
    if (hew_cache_is_real(hew_cache_self)) {
        return hew_cache_self->real;
    }
    struct hew_cache *cache = hew_thread_birth(!layers_without_caches);
    if (cache != NULL && hew_marks_wanted() && !hew_harden_birth(cache)) {
        hew_thread_death(); /* no operation may go unchecked */
        return NULL;
    }
    return cache;
}

/* How many operations a model runs: `usual`, or with the environment variable HEW_TEST_SHARE that part of them. */
static inline unsigned
layers_operations(unsigned usual)
{
    const char *share = getenv("HEW_TEST_SHARE");
    return share == NULL ? usual : usual / (unsigned)strtoul(share, NULL, 10);
}

/* Before layers_boot(): a level of hardening, check or full, from the environment variable HEW_TEST_HARDENING. */
static inline void
layers_harden(void)
{
    const char *level = getenv("HEW_TEST_HARDENING");
    if (level != NULL) {
        hew_options.hardening = strcmp(level, "full") == 0 ? HEW_HARDENING_FULL : HEW_HARDENING_CHECK;
        hew_harden_boot();
    }
}

static void
layers_note_purge_due(bool freeing)
{
    layers_purges_due++;
}

/* A test that wants samples puts its own in. */
static void *(*layers_attend)(struct hew_cache *cache, struct hew_arena *arena, unsigned code, size_t size,
                              struct hew_extent *large);
static void (*layers_sample_freed)(struct hew_extent *extent);
static bool (*layers_keep_place)(void *sampled, unsigned code, void *place);

static void *
layers_pass_attend(struct hew_cache *cache, struct hew_arena *arena, unsigned code, size_t size,
                   struct hew_extent *large)
{
    void *sampled = layers_attend == NULL ? NULL : layers_attend(cache, arena, code, size, large);
    cache->due = 0;
    return sampled;
}

static void
layers_pass_sample_freed(struct hew_extent *extent)
{
    if (layers_sample_freed != NULL) {
        layers_sample_freed(extent);
    }
}

static bool
layers_pass_keep_place(void *sampled, unsigned code, void *place)
{
    return layers_keep_place != NULL && layers_keep_place(sampled, code, place);
}

/* Of stats/peak.c, where a test links that. */
HEW_WEAK void hew_stats_peak_look(void);

static void
layers_pass_heap_grown(void)
{
    if (hew_stats_peak_look != NULL) {
        hew_stats_peak_look();
    }
}

/* Of pool/serve.c, where a test links that. */
HEW_WEAK void hew_pool_serve_plain_free(const char *function, void *object);
HEW_WEAK size_t hew_pool_serve_plain_usable(const char *function, const void *object);

/* Of guard/guard.c, likewise. */
HEW_WEAK size_t hew_guard_free(const char *function, void *object);
HEW_WEAK size_t hew_guard_usable(const char *function, const void *object);
HEW_WEAK void hew_guard_trust_sizes(void);

const struct hew_upcalls hew_upcalls = {
    layers_start_thread,   layers_pass_attend,     layers_pass_sample_freed,  layers_pass_keep_place,
    layers_note_purge_due, layers_pass_heap_grown, hew_pool_serve_plain_free, hew_pool_serve_plain_usable,
    hew_guard_free,        hew_guard_usable,       hew_guard_trust_sizes,
};

/* What malloc and free do with the fast paths that api/ has. */
static inline void *
layers_malloc(size_t size)
{
    volatile size_t asked = size; /* a compiler that knows the size warns of the branch that is not taken */
    void *object = hew_fast_take(asked);
    return object != NULL ? object : hew_alloc_slow(asked);
}

static inline void
layers_free(void *object)
{
    if (!hew_fast_give(object)) {
        hew_alloc_free("free", object);
    }
}

/* The calling thread has no cache any more, as a thread that has not begun. */
static inline void
layers_end_thread(void)
{
    hew_harden_end();
    hew_thread_death();
    hew_cache_self = &hew_cache_none;
}

#endif
