/* SPDX-License-Identifier: MIT */
/* harden with full: where objects lie, how long a free one waits, and that no right program is reported. */
#include "hardened.h"

#include "alloc/flags.h"
#include "cache/count.h"
#include "fakes/child.h"

#include <string.h>

TEST(objects_of_every_size_come_and_go_without_a_report)
{
    harden_begin(HEW_HARDENING_FULL);
    static char *objects[3000];
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < 3000; i++) {
            size_t size = i * (round + 1) % 20000;
            objects[i] = layers_malloc(size);
            size_t usable = hew_alloc_usable("malloc_usable_size", objects[i]);
            CHECK(size > HEW_SMALL_MAX - HEW_HARDEN_WORD ? usable >= size : usable == size);
            CHECK(hew_alloc_is_sized("free_sized", objects[i], size, 0));
            memset(objects[i], 0xff, size);
        }
        for (unsigned i = 0; i < 3000; i++) {
            objects[i] = hew_realloc_object(objects[i], i + 1);
            CHECK(i % 20000 == 0 || round != 0 || (unsigned char)objects[i][0] == 0xff);
        }
        for (unsigned i = 0; i < 3000; i++) {
            layers_free(objects[(i * 7) % 3000]);
        }
    }
    CHECK_EQUAL(harden_reports, 0);
}

TEST(a_small_object_reads_as_zeros)
{
    harden_begin(HEW_HARDENING_FULL);
    for (unsigned i = 0; i < 5000; i++) {
        unsigned char *object = layers_malloc(200);
        CHECK(object[0] == 0 && memcmp(object, object + 1, 199) == 0);
        memset(object, 0x77, 200);
        layers_free(object);
    }
}

TEST(a_free_object_waits_for_a_thousand_frees)
{
    harden_begin(HEW_HARDENING_FULL);
    void *object = layers_malloc(100);
    layers_free(object);
    for (unsigned i = 0; i < 1000; i++) {
        void *other = layers_malloc(100);
        CHECK(other != object);
        layers_free(other);
    }
}

TEST(a_waiting_object_counts_as_freed_and_as_cached)
{
    harden_begin(HEW_HARDENING_FULL);
    struct hew_cache *cache = hew_cache_self->real;
    for (unsigned i = 0; i < 3000; i++) {
        layers_free(layers_malloc(100));
    }
    CHECK(hew_count_apart(cache) >= (size_t)2048 * 112);
    void *object = layers_malloc(100);
    uint64_t allocated = hew_count_allocated(cache), freed = hew_count_freed(cache);
    layers_free(object);
    CHECK_EQUAL(hew_count_freed(cache) - freed, 112);
    hew_harden_end();
    CHECK_EQUAL(hew_count_freed(cache) - freed, 112);
    CHECK_EQUAL(hew_count_allocated(cache) - allocated, 0);
    CHECK_EQUAL(hew_count_apart(cache), 0);
}

TEST(an_object_has_the_size_that_was_foretold)
{
    harden_begin(HEW_HARDENING_FULL);
    for (size_t size = 1; size < 20000; size += 7) {
        void *object = hew_flags_alloc(size, 0);
        CHECK_EQUAL(hew_alloc_usable("sallocx", object), hew_flags_usable(size, 0));
        layers_free(object);
    }
}

/* As the heap profiler does: a sample lies apart from the slabs, here on memory that is not zero. */
static void *
sample_on_dirty_memory(struct hew_cache *cache, struct hew_arena *arena, unsigned code, size_t size,
                       struct hew_extent *large)
{
    struct hew_extent *extent = hew_alloc_sampled(arena, code, cache);
    CHECK(extent != NULL && large == NULL && size == 100);
    return memset((void *)extent->address, 0xa5, HEW_GRAIN);
}

TEST(a_sample_that_was_requested_as_zeros_is_zeros)
{
    harden_begin(HEW_HARDENING_FULL);
    struct hew_cache *cache = hew_cache_self->real;
    layers_attend = sample_on_dirty_memory;
    cache->due = HEW_DUE_SAMPLE;
    unsigned char *object = hew_flags_alloc(100, HEW_FLAGS_ZERO);
    layers_attend = NULL;
    CHECK_EQUAL(hew_map_code((uintptr_t)object), HEW_CODE_SLOW);
    CHECK(object[0] == 0 && memcmp(object, object + 1, 99) == 0);
    hew_map_extent((uintptr_t)object)->large.sample = NULL;
    layers_free(object);
}

/* A hook lets the program continue: the object is still the program's, which may mend it. */
TEST(an_overflow_that_a_hook_received_leaves_the_object_allocated)
{
    harden_begin(HEW_HARDENING_FULL);
    char *object = layers_malloc(100), saved = object[100];
    object[100] = 'x';
    layers_free(object);
    CHECK(harden_reports == 1 && strstr(harden_last, "written beyond its end") != NULL);
    object[100] = saved;
    CHECK_EQUAL(hew_alloc_usable("malloc_usable_size", object), 100);
    layers_free(object);
    CHECK_EQUAL(harden_reports, 1);
    layers_free(object);
    CHECK(harden_reports == 2 && strstr(harden_last, "double free") != NULL);
}

static volatile char *freed_large;

static void
read_it(void)
{
    _exit(freed_large[4096] & 0);
}

/* Both a large class, and an object without one. */
TEST(a_free_large_object_waits_and_cannot_be_touched)
{
    harden_begin(HEW_HARDENING_FULL);
    static const size_t sizes[] = {20480, (size_t)1 << 20};
    struct hew_cache *cache = hew_cache_self->real;
    for (unsigned s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        hew_harden_end(); /* none waits from before */
        char *object = layers_malloc(sizes[s]);
        memset(object, 1, sizes[s]);
        uint64_t freed = hew_count_freed(cache);
        size_t apart = hew_count_apart(cache);
        layers_free(object);
        if (hew_count_apart(cache) == apart) {
            printf("# no fences before Linux 6.13\n");
            return;
        }
        CHECK_EQUAL(hew_count_apart(cache) - apart, sizes[s]);
        CHECK_EQUAL(hew_count_freed(cache) - freed, sizes[s]);
        freed_large = object;
        CHECK(child_run(read_it).status != 0);
        layers_free(object);
        CHECK(harden_reports == 1 && strstr(harden_last, "double free") != NULL);
        harden_reports = 0;
        for (unsigned i = 0; i < 63; i++) {
            char *other = layers_malloc(sizes[s]);
            CHECK(other != object);
            layers_free(other);
        }
        CHECK_EQUAL(hew_count_freed(cache) - freed, 64 * sizes[s]);
    }
    hew_harden_end();
    CHECK_EQUAL(hew_count_apart(cache), 0);
    CHECK_EQUAL(harden_reports, 0);
}

/* A program that writes before an object meets the end of another one, or a free region. */
TEST(a_write_before_an_object_is_reported_later)
{
    harden_begin(HEW_HARDENING_FULL);
    void *objects[16];
    for (unsigned i = 0; i < 16; i++) {
        objects[i] = layers_malloc(64);
    }
    memset((char *)objects[8] - 16, 'o', 16);
    for (unsigned i = 0; i < 16; i++) {
        layers_free(objects[i]);
    }
    for (unsigned i = 0; i < 100000 && harden_reports == 0; i++) {
        layers_free(layers_malloc(64));
    }
    CHECK(harden_reports != 0);
}

/* Without chance there would be a few distances. */
TEST(objects_lie_at_many_distances)
{
    harden_begin(HEW_HARDENING_FULL);
    static const size_t sizes[] = {16, 100, 1000};
    static bool seen[1 << 16];
    for (unsigned s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        unsigned distances = 0;
        memset(seen, 0, sizeof seen);
        uintptr_t before = (uintptr_t)layers_malloc(sizes[s]);
        for (unsigned i = 0; i < 1000; i++) {
            uintptr_t now = (uintptr_t)layers_malloc(sizes[s]);
            size_t distance = (now - before) / 16 % (sizeof seen / sizeof seen[0]);
            distances += !seen[distance];
            seen[distance] = true;
            before = now;
        }
        CHECK(distances >= 256);
    }
}
