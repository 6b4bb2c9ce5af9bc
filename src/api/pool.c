/* SPDX-License-Identifier: MIT */
/*
 * pool: the functions of hew/pool.h.
 */
#include "hew/pool.h"

#include "api/boot.h"
#include "api/malloc.h"
#include "pool/fast.h"
#include "pool/life.h"
#include "pool/range.h"
#include "pool/serve.h"

#include <errno.h>
#include <string.h>

HEW_EXPORT struct hew_pool_set *
hew_pool_create(const struct hew_pool_size *sizes, size_t count, const struct hew_pool_options *options)
{
    int error;
    hew_boot();
    struct hew_pool_set *set = hew_pool_life_begin(sizes, count, options, &error);
    if (set == NULL) {
        errno = error;
    }
    return set;
}

HEW_EXPORT int
hew_pool_destroy(struct hew_pool_set *set)
{
    return set == NULL || hew_pool_life_end(set, false) ? 0 : EBUSY;
}

HEW_EXPORT void
hew_pool_destroy_with_objects(struct hew_pool_set *set)
{
    if (set != NULL) {
        hew_pool_life_end(set, true);
    }
}

static HEW_NOINLINE void *
take_slowly(struct hew_pool_set *set, size_t size, bool zero)
{
    void *object = hew_pool_serve(set, size, zero);
    if (HEW_UNLIKELY(object == NULL)) {
        errno = ENOMEM;
    }
    return object;
}

HEW_EXPORT void *
hew_pool_malloc(struct hew_pool_set *set, size_t size)
{
    void *object = hew_pool_fast_take(set, size);
    if (HEW_LIKELY(object != NULL)) {
        return object;
    }
    return hew_pool_fast_passes(set, size) ? hew_entry_malloc(size) : take_slowly(set, size, false);
}

/* The thread has cached no object of the size, or must not zero one. */
static HEW_NOINLINE void *
calloc_slowly(struct hew_pool_set *set, size_t size)
{
    hew_pool_set_examine("hew_pool_calloc", set);
    unsigned number = hew_pool_lookup_find(&set->lookup, size);
    if (HEW_UNLIKELY(number < set->count && set->classes[number].kind.construct != NULL)) {
        errno = EINVAL;
        return NULL;
    }
    return take_slowly(set, size, true);
}

HEW_EXPORT void *
hew_pool_calloc(struct hew_pool_set *set, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    void *object = HEW_LIKELY(set->plain) ? hew_pool_fast_take(set, bytes) : NULL;
    if (HEW_LIKELY(object != NULL)) {
        return memset(object, 0, bytes);
    }
    return hew_pool_fast_passes(set, bytes) ? hew_entry_calloc(bytes) : calloc_slowly(set, bytes);
}

static HEW_NOINLINE void
free_elsewhere(struct hew_pool_set *set, void *object)
{
    if (!hew_pool_fast_give_dynamic(set, object)) {
        hew_pool_serve_free(set, "hew_pool_free", object);
    }
}

HEW_EXPORT void
hew_pool_free(struct hew_pool_set *set, void *object)
{
    if (HEW_LIKELY(hew_pool_fast_give(set, object))) {
        return;
    }
    if (!hew_pool_fast_is_mallocs(set, object)) {
        free_elsewhere(set, object);
    } else if (!hew_fast_give_by_call(object)) {
        hew_alloc_free("hew_pool_free", object);
    }
}

HEW_EXPORT void *
hew_pool_realloc(struct hew_pool_set *set, void *object, size_t size)
{
    if (object == NULL) {
        return hew_pool_malloc(set, size);
    }
    if (size == 0) {
        hew_pool_free(set, object);
        return NULL;
    }
    size_t usable = hew_pool_serve_usable(set, "hew_pool_realloc", object);
    if (size <= usable && (hew_pool_range_of((uintptr_t)object) != NULL || size > usable / 2)) {
        return object;
    }
    void *moved = hew_pool_malloc(set, size);
    if (moved == NULL) {
        return size <= usable ? object : NULL;
    }
    memcpy(moved, object, usable < size ? usable : size);
    hew_pool_free(set, object);
    return moved;
}

HEW_EXPORT size_t
hew_pool_usable_size(struct hew_pool_set *set, const void *object)
{
    return hew_pool_serve_usable(set, "hew_pool_usable_size", object);
}

HEW_EXPORT size_t
hew_pool_size_for(struct hew_pool_set *set, size_t size)
{
    hew_pool_set_examine("hew_pool_size_for", set);
    unsigned number = hew_pool_lookup_find(&set->lookup, size);
    return number < set->count ? set->classes[number].stride : 0;
}

HEW_EXPORT struct hew_pool_set *
hew_pool_of(const void *object)
{
    hew_boot();
    struct hew_pool_range *range = hew_pool_range_of((uintptr_t)object);
    return range == NULL ? NULL : range->set;
}

HEW_EXPORT size_t
hew_pool_trim(struct hew_pool_set *set)
{
    return hew_pool_serve_trim(set);
}

HEW_EXPORT size_t
hew_pool_read_figures(struct hew_pool_set *set, struct hew_pool_set_figures *total, struct hew_pool_figures *figures,
                      size_t room)
{
    return hew_pool_life_figures(set, total, figures, room);
}
