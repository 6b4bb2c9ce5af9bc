/* SPDX-License-Identifier: MIT */
/*
 * layers_alloc: the upcalls for a test of alloc/, in place of api/boot.c.  Included by one source of a program.
 *
 * A thread gets its cache when it first allocates, and ends it itself with hew_thread_death().
 */
#ifndef HEW_TESTS_LAYERS_ALLOC_H
#define HEW_TESTS_LAYERS_ALLOC_H

#include "alloc/alloc.h"
#include "alloc/realloc.h"
#include "cache/thread.h"
#include "layers.h"

static bool layers_without_caches; /* as with tcache:false; set while no thread has a cache */
static _Atomic unsigned layers_purges_due;

static struct hew_cache *
layers_start_thread(void)
{
    if (layers_without_caches || hew_cache_self == &hew_cache_gone) {
        return NULL;
    }
    return hew_cache_is_real(hew_cache_self) ? hew_cache_self : hew_thread_birth();
}

static void
layers_note_purge_due(bool freeing)
{
    layers_purges_due++;
}

const struct hew_upcalls hew_upcalls = {layers_start_thread, layers_note_purge_due};

/* What malloc and free do with the fast paths that api/ has. */
static inline void *
layers_malloc(size_t size)
{
    if (size > HEW_SMALL_MAX) {
        return hew_alloc_large(size, false);
    }
    void *object = hew_cache_pop(hew_cache_self, hew_small_codes[(size + 7) >> 3]);
    return object != NULL ? object : hew_alloc_small(size);
}

static inline void
layers_free(void *object)
{
    if (!hew_cache_push(hew_cache_self, hew_map_code((uintptr_t)object), object)) {
        hew_alloc_free("free", object);
    }
}

/* The calling thread has no cache any more, as a thread that has not begun. */
static inline void
layers_end_thread(void)
{
    hew_thread_death();
    hew_cache_self = &hew_cache_none;
}

#endif
