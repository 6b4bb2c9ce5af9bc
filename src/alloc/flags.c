/* SPDX-License-Identifier: MIT */
/*
 * flags: decodes mallocx's flags and finds the arena and cache that they name.  After that the request is handled like
 * any other, from that source.
 */
#include "alloc/flags.h"

#include "alloc/aligned.h"
#include "alloc/fast.h"
#include "alloc/foreign.h"
#include "alloc/harden.h"
#include "alloc/realloc.h"
#include "alloc/request.h"
#include "base/bytes.h"
#include "cache/explicit.h"
#include "page/hooks.h"

#include <string.h>

enum { CACHE_OWN = 0, CACHE_NONE = 1, CACHE_FIRST = 2, ARENA_OWN = 0, ARENA_FIRST = 1 };

static size_t
alignment_of(int flags)
{
    return (size_t)1 << (flags & HEW_FLAGS_LG_ALIGN);
}

/* Inside a program's extent hook the thread is already working on an arena, and perhaps on a cache.  Requests made
 * there use neither: they are served from elsewhere and freed directly. */
static bool
inside_a_hook(void)
{
    return HEW_UNLIKELY(hew_hooks_depth != 0);
}

static unsigned
cache_of(int flags)
{
    return ((unsigned)flags & HEW_FLAGS_CACHE) >> 8;
}

static unsigned
arena_of(int flags)
{
    return (unsigned)flags >> 20;
}

/* The first request for an automatic arena creates it. */
static struct hew_arena *
find_arena(unsigned index)
{
    struct hew_arena *arena = hew_arena_at(index);
    return HEW_LIKELY(arena != NULL) || index >= hew_arena_limit() ? arena : hew_arena_get(index);
}

/* Returns false if the arena or cache does not exist. */
static bool
find_source(struct hew_source *source, int flags)
{
    unsigned arena = arena_of(flags), cache = cache_of(flags);
    *source = hew_request_own();
    if (inside_a_hook()) {
        return source->arena != NULL;
    }
    if (arena != ARENA_OWN) {
        source->arena = find_arena(arena - ARENA_FIRST);
    }
    if (cache >= CACHE_FIRST) {
        source->cache = hew_explicit_at(cache - CACHE_FIRST);
        return source->cache != NULL && source->arena != NULL;
    }
    if (cache == CACHE_NONE || (source->own != NULL && source->own->arena != source->arena)) {
        source->cache = NULL;
    }
    return source->arena != NULL;
}

/* Does what malloc's fast path does, for a class other than that of the size.  NULL: take the slow path. */
static void *
take_aligned(size_t size, int flags)
{
    bool zero = (flags & HEW_FLAGS_ZERO) != 0;
    if (!hew_size_is_small(size)) {
        return zero || alignment_of(flags) > HEW_PAGE ? NULL : hew_fast_take_large(size);
    }
    unsigned code = hew_aligned_code(size, alignment_of(flags));
    void *object = code == HEW_CODE_NONE ? NULL : hew_cache_pop(hew_cache_self, code);
    return object != NULL && zero ? hew_bytes_zero(object, hew_slab_shapes[code].size) : object;
}

void *
hew_flags_alloc(size_t size, int flags)
{
    struct hew_source source;
    bool plain = (flags & ~(HEW_FLAGS_LG_ALIGN | HEW_FLAGS_ZERO)) == 0;
    void *object = plain ? take_aligned(size, flags) : NULL;
    if (object != NULL || !find_source(&source, flags)) {
        return object;
    }
    return hew_request(&source, size == 0 ? 1 : size, alignment_of(flags), (flags & HEW_FLAGS_ZERO) != 0);
}

/* Zeroes what `object` gained beyond its former usable size, `before`, if the flags ask for it. */
static void *
zero_gained(void *object, size_t before, int flags)
{
    size_t now = hew_alloc_usable("rallocx", object);
    if ((flags & HEW_FLAGS_ZERO) != 0 && now > before) {
        hew_bytes_zero((char *)object + before, now - before);
    }
    return object;
}

void *
hew_flags_realloc(void *object, size_t size, int flags)
{
    struct hew_source source;
    size_t usable = hew_alloc_usable("rallocx", object), alignment = alignment_of(flags);
    bool foreign = hew_foreign_is(object, hew_map_code((uintptr_t)object));
    flags = hew_foreign_flags(flags, HEW_FLAGS_LG_ALIGN | HEW_FLAGS_ZERO);
    if (!foreign) {
        hew_alloc_check_kept("rallocx", object);
    }
    size = size == 0 ? 1 : size;
    if (size > HEW_LARGE_MAX || alignment > HEW_LARGE_MAX || !find_source(&source, flags)) {
        return NULL;
    }
    struct hew_arena *arena = arena_of(flags) == ARENA_OWN ? NULL : source.arena;
    void *same = foreign ? NULL : hew_realloc_without_copy(object, usable, size, alignment, arena);
    if (same != NULL) {
        return zero_gained(same, usable, flags);
    }
    void *copy = hew_request(&source, size, alignment, false);
    if (copy == NULL) {
        return NULL;
    }
    size_t room = hew_alloc_usable("rallocx", copy);
    hew_bytes_copy(copy, object, usable < room ? usable : room);
    hew_flags_free("rallocx", object, flags);
    return zero_gained(copy, usable, flags);
}

size_t
hew_flags_resize(void *object, size_t size, size_t extra, int flags)
{
    size_t usable = hew_alloc_usable("xallocx", object);
    if (hew_foreign_is(object, hew_map_code((uintptr_t)object))) {
        return usable;
    }
    hew_alloc_check_kept("xallocx", object);
    bool aligned = ((uintptr_t)object & (alignment_of(flags) - 1)) == 0;
    bool resizes = usable > HEW_SMALL_MAX && !hew_alloc_is_apart(object);
    if (!resizes || size > HEW_LARGE_MAX || !aligned) {
        return usable;
    }
    size_t most = extra > HEW_LARGE_MAX - size ? HEW_LARGE_MAX : size + extra;
    if (most <= HEW_SMALL_MAX) {
        return usable; /* a large object cannot become small in place */
    }
    size_t now = hew_realloc_in_place(object, size > HEW_SMALL_MAX ? size : HEW_SMALL_MAX + 1, most);
    zero_gained(object, usable, flags);
    return now;
}

void
hew_flags_free(const char *function, void *object, int flags)
{
    unsigned cache = cache_of(hew_foreign_flags(flags, 0));
    if (cache == CACHE_OWN || inside_a_hook()) {
        hew_alloc_free(function, object);
    } else {
        hew_alloc_free_into(function, object, cache == CACHE_NONE ? NULL : hew_explicit_at(cache - CACHE_FIRST));
    }
}

bool
hew_flags_are_of_size(const char *function, void *object, size_t size, int flags)
{
    return hew_alloc_is_sized(function, object, size == 0 ? 1 : size, alignment_of(flags));
}

size_t
hew_flags_usable(size_t size, int flags)
{
    size_t alignment = alignment_of(flags);
    if (HEW_UNLIKELY(hew_options.hardening == HEW_HARDENING_SAMPLE)) {
        hew_upcalls.guard_trust_sizes();
    }
    if (size > HEW_LARGE_MAX || alignment > HEW_LARGE_MAX) {
        return 0;
    }
    size_t with_tail = size + hew_harden_extra(size);
    bool tailed = hew_harden_is_full() && hew_aligned_code(with_tail, alignment) != HEW_CODE_NONE;
    return tailed ? size : hew_aligned_usable(with_tail, alignment);
}

size_t
hew_batch_alloc(const struct hew_batch *batch)
{
    size_t done = 0;
    while (done < batch->count && (batch->objects[done] = hew_flags_alloc(batch->size, batch->flags)) != NULL) {
        done++;
    }
    return done;
}
