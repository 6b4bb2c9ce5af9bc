/* SPDX-License-Identifier: MIT */
/*
 * hew: the functions of hew/hew.h that handle objects.  hew_control.c has the others.
 */
#include "hew/hew.h"

#include "alloc/alloc.h"
#include "alloc/batch.h"
#include "alloc/flags.h"
#include "alloc/utilization.h"
#include "api/boot.h"
#include "api/malloc.h"
#include "base/bits.h"
#include "cache/count.h"

#include <errno.h>

/* The handles use the same numbers as the flags. */
_Static_assert(sizeof(hew_arena_id) == sizeof(uint32_t) && sizeof(hew_cache_id) == sizeof(uint32_t), "plain numbers");

/* Returns false if flags cannot express the request. */
static bool
read_request(int *flags, const struct hew_request *request)
{
    *flags = 0;
    if (request == NULL) {
        return true;
    }
    size_t alignment = request->alignment == 0 ? 1 : request->alignment;
    unsigned number = request->arena.number << 20 | request->cache.number << 8;
    *flags = (int)(number | hew_bits_floor_log2(alignment)) | (request->zero ? HEW_FLAGS_ZERO : 0);
    return hew_bits_is_power_of_two(alignment) && request->arena.number < 1 << 12 && request->cache.number < 1 << 12;
}

static void *
refuse(int error)
{
    errno = error;
    return NULL;
}

HEW_EXPORT void *
hew_alloc(size_t size, const struct hew_request *request)
{
    int flags;
    if (request == NULL) {
        return hew_entry_malloc(size);
    }
    if (!read_request(&flags, request)) {
        return refuse(EINVAL);
    }
    void *object = hew_flags_alloc(size, flags);
    return object != NULL ? object : hew_out_of_memory("hew_alloc");
}

HEW_EXPORT void *
hew_resize(void *object, size_t size, const struct hew_request *request)
{
    int flags;
    if (object == NULL) {
        return hew_alloc(size, request);
    }
    if (!read_request(&flags, request)) {
        return refuse(EINVAL);
    }
    void *result = hew_flags_realloc(object, size, flags);
    return result != NULL ? result : hew_out_of_memory("hew_resize");
}

HEW_EXPORT size_t
hew_resize_in_place(void *object, size_t least, size_t most, const struct hew_request *request)
{
    int flags;
    if (object == NULL || !read_request(&flags, request) || most < least) {
        return hew_usable_size(object);
    }
    return hew_flags_resize(object, least, most - least, flags);
}

HEW_EXPORT void
hew_free(void *object, const struct hew_request *request)
{
    int flags;
    if (!read_request(&flags, request)) {
        flags = 0;
    }
    if ((flags & HEW_FLAGS_CACHE) != 0 || !hew_fast_give_by_call(object)) {
        hew_flags_free("hew_free", object, flags);
    }
}

HEW_EXPORT void
hew_free_sized(void *object, size_t size, const struct hew_request *request)
{
    int flags;
    if (request == NULL && HEW_LIKELY(hew_fast_give_sized(object, size))) {
        return;
    }
    if (!read_request(&flags, request) || hew_flags_are_of_size("hew_free_sized", object, size, flags)) {
        hew_free(object, request);
    }
}

HEW_EXPORT size_t
hew_alloc_many(void **objects, size_t count, size_t size, const struct hew_request *request)
{
    struct hew_batch batch = {objects, count, size, 0};
    return read_request(&batch.flags, request) ? hew_batch_alloc(&batch) : 0;
}

HEW_EXPORT size_t
hew_usable_size(const void *object)
{
    return hew_alloc_usable("hew_usable_size", object);
}

HEW_EXPORT size_t
hew_size_for(size_t size, const struct hew_request *request)
{
    int flags;
    hew_boot();
    return read_request(&flags, request) ? hew_flags_usable(size, flags) : 0;
}

HEW_EXPORT struct hew_thread_figures
hew_read_thread(void)
{
    struct hew_thread_figures figures = {0, 0};
    struct hew_cache *cache = hew_alloc_own_cache();
    if (cache != NULL) {
        figures.allocated = hew_count_allocated(cache);
        figures.freed = hew_count_freed(cache);
    }
    return figures;
}

HEW_EXPORT int
hew_read_fill(const void *object, struct hew_fill *fill)
{
    struct hew_utilization_bin answer;
    bool ours = hew_utilization_query(object, &answer);
    *fill = (struct hew_fill){answer.extent.free_regions, answer.extent.regions, answer.extent.bytes};
    return ours ? 0 : EINVAL;
}

HEW_EXPORT bool
hew_should_move(const void *object)
{
    return hew_utilization_should_move(object);
}
