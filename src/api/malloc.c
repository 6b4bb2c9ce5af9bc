/* SPDX-License-Identifier: MIT */
/*
 * malloc: the C entry points.
 *
 * Fast path: no #if, no loop, no lock, no atomic read-modify-write.  Each rare case leaves through one tail call.
 * Instruction budgets: malloc 18, free 15; tests/golden/fast_path.txt enforces them.
 */
#include "api/malloc.h"
#include "alloc/alloc.h"
#include "alloc/harden.h"
#include "alloc/realloc.h"
#include "api/boot.h"
#include "base/options.h"
#include "os/fatal.h"
#include "stats/outside.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

/* Not every libc's headers declare these: two from C23, and an old name. */
void cfree(void *object);
void free_sized(void *object, size_t size);
void free_aligned_sized(void *object, size_t alignment, size_t size);

/* Every failed request ends here.  An impossible request may be the very first call, so this loads the settings
 * first. */
HEW_COLD void *
hew_out_of_memory(const char *function)
{
    hew_boot();
    if (hew_options.xmalloc) {
        hew_fatal(HEW_FATAL_out_of_memory, function, 0, NULL);
    }
    errno = ENOMEM;
    return NULL;
}

static HEW_NOINLINE void *
malloc_any(size_t size)
{
    void *object = hew_fast_take_large(size);
    object = object != NULL ? object : hew_alloc_slow(size);
    return HEW_LIKELY(object != NULL) ? object : hew_out_of_memory("malloc");
}

/* With hardening:check or full. */
static HEW_NOINLINE void *
malloc_marked(size_t size)
{
    void *object = size <= HEW_SMALL_MAX ? hew_harden_take(hew_small_code(size)) : NULL;
    return HEW_LIKELY(object != NULL) ? object : malloc_any(size);
}

HEW_NOINLINE void *
hew_malloc_slow(size_t size)
{
    return hew_marks_wanted() ? malloc_marked(size) : malloc_any(size);
}

HEW_EXPORT void *
malloc(size_t size)
{
    return hew_entry_malloc(size);
}

static HEW_NOINLINE void
free_slow(void *object)
{
    hew_alloc_free("free", object);
}

HEW_EXPORT void
free(void *object)
{
    if (HEW_LIKELY(hew_fast_give(object))) {
        return;
    }
    free_slow(object);
}

HEW_EXPORT void *
calloc(size_t count, size_t size)
{
    size_t bytes;
    if (HEW_UNLIKELY(__builtin_mul_overflow(count, size, &bytes))) {
        return hew_out_of_memory("calloc");
    }
    return hew_entry_calloc(bytes);
}

HEW_EXPORT void *
realloc(void *object, size_t size)
{
    if (object == NULL) {
        return hew_entry_malloc(size);
    }
    if (size == 0) {
        atomic_fetch_add_explicit(&hew_stats_zero_reallocs, 1, memory_order_relaxed);
        if (hew_options.zero_realloc == HEW_ZERO_REALLOC_ABORT) {
            hew_misuse(HEW_FATAL_zero_realloc, "realloc", (uintptr_t)object, NULL);
            return NULL;
        }
        if (hew_options.zero_realloc == HEW_ZERO_REALLOC_FREE) {
            free(object);
            return NULL;
        }
        size = 1;
    }
    void *result = hew_realloc_object(object, size);
    return HEW_LIKELY(result != NULL) ? result : hew_out_of_memory("realloc");
}

HEW_EXPORT void *
reallocarray(void *object, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        return hew_out_of_memory("reallocarray");
    }
    return realloc(object, bytes);
}

HEW_EXPORT void
cfree(void *object)
{
    free(object);
}

/* C23: `size` must be the requested size. */
HEW_EXPORT void
free_sized(void *object, size_t size)
{
    if (hew_alloc_is_sized("free_sized", object, size, 0)) {
        free(object);
    }
}

HEW_EXPORT void
free_aligned_sized(void *object, size_t alignment, size_t size)
{
    if (!hew_bits_is_power_of_two(alignment)) {
        hew_misuse(HEW_FATAL_bad_alignment, "free_aligned_sized", (uintptr_t)object, NULL);
    } else if (hew_alloc_is_sized("free_aligned_sized", object, size, alignment)) {
        free(object);
    }
}

/* Returns NULL with ENOMEM if out of memory.  `alignment` is a power of two. */
static void *
aligned(const char *function, size_t alignment, size_t size)
{
    void *object = hew_fast_take_aligned(size, alignment);
    object = HEW_LIKELY(object != NULL) ? object : hew_alloc_aligned(size, alignment, false);
    return HEW_LIKELY(object != NULL) ? object : hew_out_of_memory(function);
}

HEW_EXPORT int
posix_memalign(void **result, size_t alignment, size_t size)
{
    if (!hew_bits_is_power_of_two(alignment) || alignment < sizeof(void *)) {
        return EINVAL;
    }
    int saved = errno;
    void *object = aligned("posix_memalign", alignment, size);
    errno = saved;
    if (object == NULL) {
        return ENOMEM;
    }
    *result = object;
    return 0;
}

HEW_EXPORT void *
aligned_alloc(size_t alignment, size_t size)
{
    if (!hew_bits_is_power_of_two(alignment)) {
        errno = EINVAL;
        return NULL;
    }
    return aligned("aligned_alloc", alignment, size);
}

/* As in glibc, an alignment that is not a power of two is raised to the next one. */
HEW_EXPORT void *
memalign(size_t alignment, size_t size)
{
    if (alignment > SIZE_MAX / 2 + 1) {
        errno = EINVAL;
        return NULL;
    }
    return aligned("memalign", (size_t)1 << hew_bits_ceil_log2(alignment == 0 ? 1 : alignment), size);
}

HEW_EXPORT void *
valloc(size_t size)
{
    return aligned("valloc", hew_system_page, size);
}

HEW_EXPORT void *
pvalloc(size_t size)
{
    if (size > HEW_SIZE_MAX - hew_system_page) {
        return hew_out_of_memory("pvalloc");
    }
    return aligned("pvalloc", hew_system_page, hew_system_pages(size == 0 ? 1 : size));
}

HEW_EXPORT size_t
malloc_usable_size(void *object)
{
    return hew_alloc_usable("malloc_usable_size", object);
}

/* libc's internal names, which some programs and old libraries call. */
#define HEW_ALIAS(result, name, of, ...) HEW_EXPORT result name(__VA_ARGS__) __attribute__((alias(#of), copy(of)))
HEW_ALIAS(void *, __libc_malloc, malloc, size_t);
HEW_ALIAS(void, __libc_free, free, void *);
HEW_ALIAS(void, __libc_cfree, free, void *);
HEW_ALIAS(void *, __libc_calloc, calloc, size_t, size_t);
HEW_ALIAS(void *, __libc_realloc, realloc, void *, size_t);
HEW_ALIAS(void *, __libc_memalign, memalign, size_t, size_t);
HEW_ALIAS(void *, __libc_valloc, valloc, size_t);
HEW_ALIAS(void *, __libc_pvalloc, pvalloc, size_t);
HEW_ALIAS(int, __posix_memalign, posix_memalign, void **, size_t, size_t);
