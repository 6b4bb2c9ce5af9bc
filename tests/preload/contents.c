/* SPDX-License-Identifier: MIT */
/*
 * contents: calloc's zeros on memory that was dirty, and the bytes that realloc must carry along.
 */
#include "under_test.h"
#include "unit/test.h"

#include <malloc.h>

static const size_t largest_calloc = (size_t)8 << 20, largest_realloc = (size_t)64 << 20;

static bool
all_equal(const unsigned char *object, unsigned char value, size_t size)
{
    return size == 0 || (object[0] == value && memcmp(object, object + 1, size - 1) == 0);
}

/* Leaves the memory of freed objects of this size dirty, then asks for zeros: several, as a cache hands out several. */
static void
check_calloc_after_dirt(size_t size)
{
    enum { MOST = 16 };
    unsigned char *object[MOST];
    size_t count = size <= 65536 ? MOST : 2;
    for (unsigned round = 0; round < 2; round++) {
        for (size_t i = 0; i < count; i++) {
            object[i] = malloc(size);
            CHECK(object[i] != NULL);
            memset(object[i], 0xa5, malloc_usable_size(object[i]));
        }
        for (size_t i = 0; i < count; i++)
            free(object[i]);
        for (size_t i = 0; i < count; i++) {
            object[i] = round == 0 ? calloc(1, size) : calloc(size, 1);
            CHECK(object[i] != NULL);
            if (!all_equal(object[i], 0, size)) {
                printf("calloc of %zu bytes\n", size);
                CHECK(!"calloc handed out memory that is not zero");
            }
        }
        for (size_t i = 0; i < count; i++)
            free(object[i]);
    }
}

TEST(calloc_is_zero_on_dirty_memory_at_every_size)
{
    for (size_t size = 1; size <= 5000; size++)
        check_calloc_after_dirt(size);
    for (size_t size = 5001; size <= largest_calloc; size += size / 11)
        check_calloc_after_dirt(size);
    check_calloc_after_dirt(largest_calloc);
}

TEST(calloc_is_zero_on_memory_that_other_sizes_left_dirty)
{
    unsigned char *filler[64];
    for (size_t size = 64; size <= (size_t)1 << 20; size *= 4) {
        for (size_t i = 0; i < 64; i++) {
            filler[i] = malloc(size + i * 40);
            memset(filler[i], 0xee, size + i * 40);
        }
        for (size_t i = 0; i < 64; i++)
            free(filler[i]);
        for (size_t i = 0; i < 64; i++) {
            filler[i] = calloc(i + 1, size / 16);
            CHECK(all_equal(filler[i], 0, (i + 1) * (size / 16)));
        }
        for (size_t i = 0; i < 64; i++)
            free(filler[i]);
    }
}

static void
write_pattern(unsigned char *object, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        object[i] = (unsigned char)(i * 31 + (i >> 8) * 7 + (i >> 16));
}

static size_t
kept_pattern(const unsigned char *object, size_t size)
{
    size_t i = 0;
    while (i < size && object[i] == (unsigned char)(i * 31 + (i >> 8) * 7 + (i >> 16)))
        i++;
    return i;
}

/* From size to size; every byte is compared at each step. */
static void
walk_chain(const size_t *sizes, size_t count)
{
    unsigned char *object = malloc(sizes[0]);
    write_pattern(object, 0, sizes[0]);
    for (size_t i = 1; i < count; i++) {
        size_t kept = sizes[i] < sizes[i - 1] ? sizes[i] : sizes[i - 1];
        object = realloc(object, sizes[i]);
        CHECK(object != NULL && malloc_usable_size(object) >= sizes[i]);
        size_t found = kept_pattern(object, kept);
        if (found != kept) {
            printf("realloc from %zu to %zu: wrong at byte %zu\n", sizes[i - 1], sizes[i], found);
            CHECK(!"realloc has lost bytes");
        }
        write_pattern(object, kept, sizes[i]);
    }
    free(object);
}

TEST(realloc_keeps_every_byte_while_it_doubles_and_halves)
{
    size_t sizes[64], count = 0;
    for (size_t size = 8; size <= largest_realloc; size *= 2)
        sizes[count++] = size;
    for (size_t size = largest_realloc / 2; size >= 8; size /= 2)
        sizes[count++] = size;
    walk_chain(sizes, count);
}

TEST(realloc_keeps_every_byte_through_odd_steps)
{
    size_t sizes[400], count = 0;
    for (size_t size = 1; size <= (size_t)2 << 20; size += size / 8 + 1)
        sizes[count++] = size;
    for (size_t size = (size_t)2 << 20; size >= 2; size -= size / 7 + 1)
        sizes[count++] = size;
    walk_chain(sizes, count);
}

TEST(realloc_keeps_every_byte_between_far_sizes)
{
    const size_t sizes[] = {8,     1 << 20, 24,      4096,     16,       (8 << 20) + 1, 100,
                            70000, 64,      2097152, 14 << 10, 14337,    3 << 20,       48,
                            33,    1 << 25, 1 << 24, 12,       40 << 20, 39 << 20,      8};
    walk_chain(sizes, sizeof sizes / sizeof sizes[0]);
}

TEST(realloc_leaves_the_neighbours_alone)
{
    enum { COUNT = 200 };
    static unsigned char *object[COUNT];
    static size_t size[COUNT];
    uint64_t random = 5;
    for (size_t i = 0; i < COUNT; i++) {
        size[i] = under_test_random(&random) % 3000 + 1;
        object[i] = malloc(size[i]);
        memset(object[i], (int)i, size[i]);
    }
    for (size_t step = 0; step < 40000; step++) {
        size_t i = under_test_random(&random) % COUNT, draw = under_test_random(&random);
        size_t larger = draw % (draw % 50 == 0 ? 300000 : 5000) + 1, kept = larger < size[i] ? larger : size[i];
        if (!all_equal(object[i], (unsigned char)i, size[i]))
            CHECK(!"an object changed while its neighbours were reallocated");
        object[i] = realloc(object[i], larger);
        if (!all_equal(object[i], (unsigned char)i, kept))
            CHECK(!"realloc has lost bytes");
        memset(object[i], (int)i, larger);
        size[i] = larger;
    }
    for (size_t i = 0; i < COUNT; i++)
        free(object[i]);
}

TEST(realloc_to_the_same_size_keeps_the_object)
{
    for (size_t size = 1; size <= (size_t)16 << 20; size = size * 3 + 1) {
        unsigned char *object = malloc(size);
        write_pattern(object, 0, size);
        object = realloc(object, size);
        CHECK_EQUAL(kept_pattern(object, size), size);
        free(object);
    }
}
