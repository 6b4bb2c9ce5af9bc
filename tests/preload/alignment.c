/* SPDX-License-Identifier: MIT */
/*
 * alignment: what malloc promises about addresses at every size, and the aligned calls for every power of two.
 *
 * An object of n bytes may hold any type of at most n bytes: alignment 16 from 16 bytes on, 8 from 8 bytes on.
 */
#include "under_test.h"
#include "unit/test.h"

#include <malloc.h>

enum { MOST = 64 };

static const size_t largest_alignment = (size_t)64 << 20;

static size_t
natural_alignment(size_t size)
{
    return size >= 16 ? 16 : size >= 8 ? 8 : 1;
}

/* Writes the ends, and a page in the middle: enough to find memory that is not there. */
static void
touch(unsigned char *object, size_t size)
{
    if (size == 0)
        return;
    object[0] = 1;
    object[size / 2] = 1;
    object[size - 1] = 1;
}

/* Holds a few objects of the size at once: the first of a slab is aligned by chance, the second is not. */
static size_t
count_misaligned(size_t size, void *(*make)(size_t))
{
    void *object[MOST];
    size_t wrong = 0, count = size < 65536 ? MOST : 3;
    for (size_t i = 0; i < count; i++) {
        object[i] = make(size);
        wrong += object[i] == NULL || (uintptr_t)object[i] % natural_alignment(size) != 0;
        if (object[i] != NULL)
            touch(object[i], size);
    }
    for (size_t i = 0; i < count; i++)
        free(object[i]);
    return wrong;
}

static void *
make_by_malloc(size_t size)
{
    return malloc(size);
}

static void *
make_by_calloc(size_t size)
{
    return calloc(1, size);
}

static void *
make_by_realloc(size_t size)
{
    return realloc(malloc(size / 2 + 1), size);
}

TEST(malloc_is_naturally_aligned_at_every_size)
{
    for (size_t size = 1; size <= 20000; size++)
        CHECK_EQUAL(count_misaligned(size, make_by_malloc), 0);
    for (size_t size = 20001; size <= largest_alignment; size += size / 5)
        CHECK_EQUAL(count_misaligned(size, make_by_malloc), 0);
}

TEST(calloc_and_realloc_are_naturally_aligned)
{
    for (size_t size = 1; size <= (size_t)4 << 20; size += size / 9 + 1) {
        CHECK_EQUAL(count_misaligned(size, make_by_calloc), 0);
        CHECK_EQUAL(count_misaligned(size, make_by_realloc), 0);
    }
}

/* Every call that takes an alignment, one after the other. */
static unsigned char *
make_aligned(unsigned how, size_t alignment, size_t size)
{
    void *object = NULL;
    switch (how % 3) {
    case 0:
        return aligned_alloc(alignment, size);
    case 1:
        return memalign(alignment, size);
    default:
        return posix_memalign(&object, alignment, size) == 0 ? object : NULL;
    }
}

static void
check_aligned(size_t alignment, size_t size)
{
    unsigned char *object[6];
    for (unsigned i = 0; i < 6; i++) {
        object[i] = make_aligned(i, alignment, size);
        if (object[i] == NULL || (uintptr_t)object[i] % alignment != 0 || malloc_usable_size(object[i]) < size) {
            printf("alignment %zu, size %zu: %p, usable %zu\n", alignment, size, (void *)object[i],
                   object[i] != NULL ? malloc_usable_size(object[i]) : 0);
            CHECK(!"an aligned object is not what was asked for");
        }
        if (object[i] != NULL)
            touch(object[i], size);
    }
    for (unsigned i = 0; i < 6; i++)
        free(object[i]);
}

TEST(aligned_calls_serve_every_power_of_two_with_every_kind_of_size)
{
    for (size_t alignment = 8; alignment <= largest_alignment; alignment *= 2) {
        const size_t sizes[] = {1,    8,    alignment - 1, alignment, alignment + 1, alignment * 3 / 2, 100,
                                1000, 4096, 5000,          16384,     100000,        (1 << 20) + 3};
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
            check_aligned(alignment, sizes[i]);
    }
}

TEST(small_sizes_with_small_alignments_all_agree)
{
    for (size_t alignment = 8; alignment <= 4096; alignment *= 2) {
        for (size_t size = 1; size <= 2 * alignment + 64; size += alignment > 256 ? 37 : 5)
            check_aligned(alignment, size);
    }
}

TEST(an_aligned_object_can_be_reallocated_and_keeps_its_bytes)
{
    for (size_t alignment = 8; alignment <= (size_t)4 << 20; alignment *= 2) {
        unsigned char *object = memalign(alignment, 300);
        CHECK(object != NULL);
        memset(object, 0x6b, 300);
        object = realloc(object, 70000);
        size_t kept = 0;
        while (kept < 300 && object[kept] == 0x6b)
            kept++;
        CHECK_EQUAL(kept, 300);
        object = realloc(object, 10);
        CHECK(object[0] == 0x6b && object[9] == 0x6b);
        free(object);
    }
}

TEST(neighbours_of_aligned_objects_stay_whole)
{
    unsigned char *object[256];
    for (size_t i = 0; i < 256; i++) {
        object[i] = memalign((size_t)8 << i % 10, 24 + i);
        memset(object[i], (int)i, 24 + i);
    }
    for (size_t i = 0; i < 256; i++) {
        CHECK(object[i][0] == (unsigned char)i && object[i][24 + i - 1] == (unsigned char)i);
        free(object[i]);
    }
}
