/* SPDX-License-Identifier: MIT */
/*
 * malloc: the C functions that a program calls; they interpose the allocator's.
 *
 * Promises  each returns what the allocator's own function returns, errno included.
 */
#include "format/format.h"
#include "record/calls.h"
#include "record/next.h"

#include <string.h>

#define NEXT(name) hew_next_functions.name

HEW_EXPORT void *malloc(size_t size);
HEW_EXPORT void free(void *object);
HEW_EXPORT void cfree(void *object);
HEW_EXPORT void *calloc(size_t count, size_t size);
HEW_EXPORT void *realloc(void *object, size_t size);
HEW_EXPORT void *reallocarray(void *object, size_t count, size_t size);
HEW_EXPORT void *memalign(size_t alignment, size_t size);
HEW_EXPORT void *aligned_alloc(size_t alignment, size_t size);
HEW_EXPORT int posix_memalign(void **object, size_t alignment, size_t size);
HEW_EXPORT void *valloc(size_t size);
HEW_EXPORT void *pvalloc(size_t size);

void *
malloc(size_t size)
{
    void *object;

    if (!hew_next_ready()) {
        return hew_next_early(size);
    }
    object = NEXT(malloc)(size);
    hew_trace_made(object, HEW_TRACE_MALLOC, size, 0);
    return object;
}

void
free(void *object)
{
    if (object == NULL || HEW_UNLIKELY(hew_next_is_early(object)) || !hew_next_ready()) {
        return;
    }
    hew_trace_ended(object);
    NEXT(free)(object);
}

void
cfree(void *object)
{
    free(object);
}

void *
calloc(size_t count, size_t size)
{
    void *object;
    size_t bytes;

    if (!hew_next_ready()) {
        return __builtin_mul_overflow(count, size, &bytes) ? NULL : hew_next_early(bytes);
    }
    object = NEXT(calloc)(count, size);
    hew_trace_made(object, HEW_TRACE_CALLOC, count * size, 0);
    return object;
}

/* Memory that the loader got during the search is copied: only this library knows it. */
static void *
realloc_early(void *object, size_t size)
{
    void *moved = malloc(size);

    if (moved != NULL) {
        size_t most = hew_next_early_left(object);
        memcpy(moved, object, size < most ? size : most);
    }
    return moved;
}

void *
realloc(void *object, size_t size)
{
    void *result;
    uint32_t before;

    if (object == NULL) {
        if (!hew_next_ready()) {
            return hew_next_early(size);
        }
        result = NEXT(realloc)(NULL, size);
        hew_trace_made(result, HEW_TRACE_MALLOC, size, 0);
        return result;
    }
    if (HEW_UNLIKELY(hew_next_is_early(object)) || !hew_next_ready()) {
        return realloc_early(object, size);
    }
    before = hew_trace_before_realloc(object);
    result = NEXT(realloc)(object, size);
    hew_trace_after_realloc(object, before, result, size);
    return result;
}

void *
reallocarray(void *object, size_t count, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(object, bytes);
}

/* If the alignment is not a power of two, its effect depends on the allocator: no alignment is recorded. */
static void *
made_aligned(void *object, size_t alignment, size_t size)
{
    bool power = alignment != 0 && (alignment & (alignment - 1)) == 0;

    hew_trace_made(object, power ? HEW_TRACE_ALIGNED : HEW_TRACE_MALLOC, size, alignment);
    return object;
}

void *
memalign(size_t alignment, size_t size)
{
    return hew_next_ready() ? made_aligned(NEXT(memalign)(alignment, size), alignment, size) : NULL;
}

void *
aligned_alloc(size_t alignment, size_t size)
{
    return hew_next_ready() ? made_aligned(NEXT(aligned_alloc)(alignment, size), alignment, size) : NULL;
}

int
posix_memalign(void **object, size_t alignment, size_t size)
{
    int error;

    if (!hew_next_ready()) {
        return ENOMEM;
    }
    error = NEXT(posix_memalign)(object, alignment, size);
    if (error == 0) {
        made_aligned(*object, alignment, size);
    }
    return error;
}

void *
valloc(size_t size)
{
    return hew_next_ready() ? made_aligned(NEXT(valloc)(size), 4096, size) : NULL;
}

void *
pvalloc(size_t size)
{
    return hew_next_ready() ? made_aligned(NEXT(pvalloc)(size), 4096, (size + 4095) & ~(size_t)4095) : NULL;
}
