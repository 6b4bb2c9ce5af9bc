/* SPDX-License-Identifier: MIT */
/*
 * mallocx: jemalloc's functions that take flags.  With flags 0 they are malloc and free.
 */
#include "alloc/alloc.h"
#include "alloc/flags.h"
#include "alloc/utilization.h"
#include "api/boot.h"
#include "api/malloc.h"

#include "jemalloc/jemalloc.h"

static HEW_NOINLINE void *
mallocx_slow(size_t size, int flags)
{
    void *object = hew_flags_alloc(size, flags);
    return HEW_LIKELY(object != NULL) ? object : hew_out_of_memory("mallocx");
}

HEW_EXPORT void *
mallocx(size_t size, int flags)
{
    return HEW_LIKELY(flags == 0) ? hew_entry_malloc(size) : mallocx_slow(size, flags);
}

HEW_EXPORT void *
rallocx(void *object, size_t size, int flags)
{
    void *result = object == NULL ? hew_flags_alloc(size, flags) : hew_flags_realloc(object, size, flags);
    return HEW_LIKELY(result != NULL) ? result : hew_out_of_memory("rallocx");
}

HEW_EXPORT size_t
xallocx(void *object, size_t size, size_t extra, int flags)
{
    return object == NULL ? 0 : hew_flags_resize(object, size, extra, flags);
}

HEW_EXPORT size_t
sallocx(const void *object, int flags)
{
    return hew_alloc_usable("sallocx", object);
}

static HEW_NOINLINE void
dallocx_slow(void *object, int flags)
{
    hew_flags_free("dallocx", object, flags);
}

HEW_EXPORT void
dallocx(void *object, int flags)
{
    if (HEW_UNLIKELY((flags & HEW_FLAGS_CACHE) != 0) || HEW_UNLIKELY(!hew_fast_give(object))) {
        dallocx_slow(object, flags);
    }
}

static HEW_NOINLINE void
sdallocx_slow(void *object, size_t size, int flags)
{
    if (flags == 0 && hew_fast_give_sized_large(object, size)) {
        return;
    }
    if (!hew_flags_are_of_size("sdallocx", object, size, flags)) {
        return;
    }
    if ((flags & HEW_FLAGS_CACHE) != 0 || !hew_fast_give_by_call(object)) {
        hew_flags_free("sdallocx", object, flags);
    }
}

HEW_EXPORT void
sdallocx(void *object, size_t size, int flags)
{
    if (HEW_UNLIKELY(flags != 0) || HEW_UNLIKELY(!hew_fast_give_sized(object, size))) {
        sdallocx_slow(object, size, flags);
    }
}

HEW_EXPORT size_t
nallocx(size_t size, int flags)
{
    if (HEW_UNLIKELY(!hew_is_booted())) { /* may be the very first call */
        hew_boot();
    }
    return hew_flags_usable(size, flags);
}

HEW_EXPORT int
je_get_defrag_hint(void *object)
{
    return hew_utilization_should_move(object);
}
