/* SPDX-License-Identifier: MIT */
#include "alloc/alloc.h"

#include "alloc/aligned.h"
#include "alloc/fast.h"
#include "alloc/request.h"
#include "cache/budget.h"
#include "cache/depot.h"
#include "cache/magazine.h"
#include "cache/thread.h"
#include "layers_alloc.h"
#include "layers_cache.h"
#include "test.h"

#include "fakes/faults.h"

#include <pthread.h>

static void
boot_once(void)
{
    if (hew_small_end == 0) {
        CHECK(layers_boot());
        hew_options.narenas = 2;
    }
}

static void
end_test(void)
{
    layers_end_thread();
    CHECK(layers_settled());
}

static bool
all_bytes_are(const unsigned char *bytes, size_t size, unsigned char value)
{
    return size == 0 || (bytes[0] == value && memcmp(bytes, bytes + 1, size - 1) == 0);
}

static size_t
expected_usable(size_t size)
{
    return size <= hew_options.tcache_max ? hew_code_size(hew_code_for(size)) : hew_bits_round_up(size, HEW_PAGE);
}

/* The profiler makes a sampled object slow; freed, it waits beside those of its size that were not sampled. */
TEST(an_object_that_was_sampled_comes_back_as_one_of_its_class)
{
    boot_once();
    size_t size = (size_t)768 << 10, before = hew_options.tcache_max;
    hew_options.tcache_max = (size_t)4 << 20;
    unsigned code = hew_large_code(size);
    CHECK(code != HEW_CODE_SLOW);
    struct hew_arena *arena = hew_arena_get(0);
    struct hew_extent *extent = hew_large_take(arena, size, HEW_PAGE, code);
    hew_alloc_mark_sampled(extent, NULL);
    hew_large_give(extent);
    CHECK(hew_shelf_is_filled(&arena->pages.heap->shelf));
    void *object = NULL;
    CHECK_EQUAL(hew_large_take_some(arena, code, &object, 1), 1);
    CHECK(object == (void *)extent->address);
    CHECK_EQUAL(hew_map_code((uintptr_t)object), code);
    CHECK(hew_extent_is_out(extent, (uintptr_t)object, code));
    hew_large_give_back(extent);
    hew_options.tcache_max = before;
    end_test();
}

TEST(every_size_around_every_class_is_usable_aligned_and_checked)
{
    boot_once();
    for (unsigned index = 0; hew_class_size(index) <= (size_t)5 << 20; index++) {
        for (size_t size = hew_class_size(index) - 1; size <= hew_class_size(index) + 1; size++) {
            unsigned char *object = layers_malloc(size);
            CHECK(object != NULL);
            CHECK_EQUAL(hew_alloc_usable("malloc_usable_size", object), expected_usable(size));
            CHECK_EQUAL((uintptr_t)object % (size <= 8 ? 8 : 16), 0);
            CHECK_EQUAL((uintptr_t)object % (size <= HEW_SMALL_MAX ? 8 : HEW_PAGE), 0);
            memset(object, 0x3c, expected_usable(size));
            hew_alloc_is_sized("free_sized", object, size, 0);
            layers_free(object);
        }
    }
    end_test();
}

TEST(an_object_from_before_a_class_was_opened_is_as_good_as_a_later_one)
{
    boot_once();
    size_t fine = 6656, coarse = 7168;
    unsigned char *before = layers_malloc(fine), *aligned = layers_malloc(fine);
    CHECK_EQUAL(hew_alloc_usable("malloc_usable_size", before), coarse);
    hew_size_class_open(hew_code_of_size(coarse));
    unsigned char *after = layers_malloc(fine);
    CHECK_EQUAL(hew_alloc_usable("malloc_usable_size", after), fine);
    hew_alloc_is_sized("free_sized", before, fine, 0);
    hew_alloc_is_sized("free_aligned_sized", aligned, fine, 512);
    hew_alloc_is_sized("free_sized", after, fine, 0);
    memset(before, 0x51, fine);
    before = hew_realloc_object(before, fine);
    CHECK(all_bytes_are(before, fine, 0x51));
    layers_free(before);
    layers_free(aligned);
    layers_free(after);
    end_test();
}

/* A class cut to 4,368 bytes is aligned to 16: larger alignments take the next class, whatever the size. */
TEST(objects_around_a_class_that_was_cut_to_a_size_are_as_aligned_as_others)
{
    boot_once();
    unsigned coarse = hew_code_of_size(5120);
    unsigned char *before = layers_malloc(4300);
    for (unsigned i = 0; i < 8; i++) {
        hew_size_class_ask(coarse, 4360);
    }
    hew_size_class_open(coarse);
    CHECK_EQUAL(hew_code_size(coarse - 1), 4368);
    hew_alloc_is_sized("free_sized", before, 4300, 0);
    layers_free(before);
    for (size_t size = 4096; size <= 4700; size += 17) {
        for (size_t alignment = 16; alignment <= HEW_PAGE; alignment *= 2) {
            for (unsigned i = 0; i < 3; i++) { /* the first fills the magazine */
                unsigned char *fast = hew_fast_take_aligned(size, alignment);
                unsigned char *object = fast != NULL ? fast : hew_alloc_aligned(size, alignment, false);
                CHECK_EQUAL((uintptr_t)object % alignment, 0);
                CHECK(hew_alloc_usable("malloc_usable_size", object) >= size);
                hew_alloc_is_sized("free_aligned_sized", object, size, alignment);
                layers_free(object);
            }
        }
    }
    end_test();
}

TEST(a_request_of_no_bytes_is_an_object_like_any_other)
{
    boot_once();
    void *one = layers_malloc(0), *two = layers_malloc(0);
    CHECK(one != NULL && two != NULL && one != two);
    CHECK(hew_alloc_usable("malloc_usable_size", one) >= 1);
    hew_alloc_is_sized("free_sized", one, 0, 0);
    layers_free(one);
    layers_free(two);
    end_test();
}

TEST(null_is_nothing_to_every_function_that_takes_an_object)
{
    boot_once();
    CHECK_EQUAL(hew_alloc_usable("malloc_usable_size", NULL), 0);
    hew_alloc_free("free", NULL);
    hew_alloc_is_sized("free_sized", NULL, 100, 0);
    hew_alloc_is_sized("free_aligned_sized", NULL, 100, 64);
}

static void
check_aligned(size_t size, size_t alignment)
{
    unsigned char *object = hew_alloc_aligned(size, alignment, false);
    CHECK(object != NULL);
    CHECK_EQUAL((uintptr_t)object & (alignment - 1), 0);
    size_t usable = hew_alloc_usable("malloc_usable_size", object);
    CHECK(usable >= size);
    memset(object, 0x7e, usable);
    hew_alloc_is_sized("free_aligned_sized", object, size, alignment);
    layers_free(object);
}

TEST(every_size_can_be_had_at_every_alignment)
{
    boot_once();
    static const size_t sizes[] = {0,     1,     8,     9,     24,    63,     64,      65,      100,
                                   1000,  1024,  1025,  4095,  4096,  4097,   8192,    12288,   14335,
                                   14336, 14337, 16384, 20480, 65536, 100000, 1048576, 1048577, 3000000};
    for (size_t alignment = 1; alignment <= (size_t)16 << 20; alignment *= 2) {
        for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            check_aligned(sizes[i], alignment);
        }
    }
    end_test();
}

TEST(the_class_of_a_size_rounded_up_to_an_alignment_is_the_smallest_that_serves)
{
    boot_once();
    unsigned wrong = 0;
    for (size_t alignment = 1; alignment <= HEW_SMALL_MAX; alignment *= 2) {
        for (size_t size = 1; hew_bits_round_up(size, alignment) <= HEW_SMALL_MAX; size++) {
            size_t whole = hew_bits_round_up(size, alignment);
            unsigned code = hew_small_codes[(whole + 7) >> 3];
            wrong += hew_code_size(code) % alignment == 0 && code != hew_aligned_code(size, alignment);
        }
    }
    CHECK_EQUAL(wrong, 0);
    CHECK(hew_fast_take_aligned(0, 64) == NULL); /* nothing that is rounded to nothing */
    CHECK(hew_fast_take_aligned(SIZE_MAX - 5, 64) == NULL);
    end_test();
}

TEST(aligned_objects_lie_side_by_side_without_overlap)
{
    boot_once();
    for (size_t alignment = 16; alignment <= HEW_GRAIN; alignment *= 2) {
        unsigned char *objects[40];
        for (unsigned i = 0; i < 40; i++) {
            objects[i] = hew_alloc_aligned(alignment / 2 + 1, alignment, false);
            CHECK_EQUAL((uintptr_t)objects[i] % alignment, 0);
            memset(objects[i], (int)i, hew_alloc_usable("malloc_usable_size", objects[i]));
        }
        for (unsigned i = 0; i < 40; i++) {
            CHECK(all_bytes_are(objects[i], hew_alloc_usable("malloc_usable_size", objects[i]), (unsigned char)i));
            layers_free(objects[i]);
        }
    }
    end_test();
}

TEST(aligned_objects_of_a_small_class_are_counted_like_others)
{
    boot_once();
    struct hew_cache *cache = layers_start_thread();
    unsigned code = hew_aligned_code(100, 64);
    uint64_t before = hew_cache_requests(cache, code);
    for (unsigned i = 0; i < 5000; i++) {
        layers_free(hew_alloc_aligned(100, 64, false));
    }
    CHECK_EQUAL(hew_cache_requests(cache, code) - before, 5000);
    end_test();
}

TEST(large_zeroed_memory_that_was_used_before_is_zeroed_by_the_system)
{
    boot_once();
    const size_t bytes = (size_t)20 << 20;
    for (size_t threshold = 0; threshold <= HEW_OPTION_CLASS_MAX; threshold += HEW_OPTION_CLASS_MAX) {
        hew_options.calloc_madvise_threshold = threshold;
        unsigned char *object = layers_malloc(bytes);
        memset(object, 7, bytes);
        layers_free(object);
        faults_count("madvise");
        unsigned char *zeroed = hew_alloc_aligned(bytes, 1, true);
        faults_end();
        CHECK_EQUAL(faults_asked, threshold == 0);
        CHECK(zeroed[0] == 0 && memcmp(zeroed, zeroed + 1, bytes - 1) == 0);
        layers_free(zeroed);
    }
    hew_options.calloc_madvise_threshold = 8388608;
    end_test();
}

TEST(zeroed_memory_is_zero_also_when_it_was_used_before)
{
    boot_once();
    static const size_t sizes[] = {15000, 16384, 20000, 100000, 1 << 20, (1 << 20) + 1, 5 << 20};
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (unsigned round = 0; round < 4; round++) {
            size_t alignment = round < 3 ? HEW_PAGE : (size_t)1 << 16;
            unsigned char *object =
                round < 3 ? hew_alloc_large(sizes[i], true) : hew_alloc_aligned(sizes[i], alignment, true);
            CHECK(all_bytes_are(object, sizes[i], 0));
            memset(object, 0xee, hew_alloc_usable("malloc_usable_size", object));
            layers_free(object);
        }
    }
    for (size_t size = 1; size <= HEW_SMALL_MAX; size = size * 2 + 1) {
        for (unsigned round = 0; round < 2; round++) {
            unsigned char *object = hew_alloc_aligned(size, 64, true);
            CHECK(all_bytes_are(object, size, 0));
            memset(object, 0xee, hew_alloc_usable("malloc_usable_size", object));
            layers_free(object);
        }
    }
    end_test();
}

TEST(what_no_system_can_give_is_refused)
{
    boot_once();
    static const size_t sizes[] = {HEW_SIZE_MAX,        HEW_SIZE_MAX - HEW_PAGE, HEW_SIZE_MAX + 1, SIZE_MAX,
                                   SIZE_MAX - HEW_PAGE, (size_t)1 << 62,         (size_t)1 << 47};
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        CHECK(hew_alloc_large(sizes[i], false) == NULL);
        CHECK(hew_alloc_large(sizes[i], true) == NULL);
        CHECK(hew_alloc_aligned(sizes[i], 16, false) == NULL);
        CHECK(hew_alloc_aligned(sizes[i], (size_t)1 << 21, false) == NULL);
    }
    for (unsigned bit = 47; bit < 64; bit++) {
        CHECK(hew_alloc_aligned(1, (size_t)1 << bit, false) == NULL);
        CHECK(hew_alloc_aligned((size_t)1 << 20, (size_t)1 << bit, false) == NULL);
    }
    end_test();
}

TEST(a_large_object_that_was_freed_serves_the_next_request_of_its_class)
{
    boot_once();
    unsigned char *first = layers_malloc(20000), *second;
    layers_free(first);
    second = layers_malloc(18000); /* the same class, fewer pages */
    CHECK(second == first);
    CHECK_EQUAL(hew_alloc_usable("malloc_usable_size", second), 20480);
    layers_free(second);
    second = layers_malloc(16385);
    CHECK(second == first);
    CHECK_EQUAL(hew_alloc_usable("malloc_usable_size", second), 20480);
    hew_alloc_is_sized("free_sized", second, 16385, 0);
    layers_free(second);
    end_test();
}

static void *
free_all(void *objects)
{
    for (void **object = objects; *object != NULL; object++) {
        layers_free(*object);
    }
    layers_end_thread();
    return NULL;
}

TEST(objects_freed_by_another_thread_go_home)
{
    boot_once();
    static void *objects[3001];
    for (unsigned i = 0; i < 3000; i++) {
        objects[i] = layers_malloc(i * 7 % 30000);
    }
    pthread_t other;
    CHECK_EQUAL(pthread_create(&other, NULL, free_all, objects), 0);
    pthread_join(other, NULL);
    end_test();
}

TEST(a_thread_without_a_cache_is_served_all_the_same)
{
    boot_once();
    layers_without_caches = true;
    for (unsigned round = 0; round < 2; round++) {
        void *objects[200];
        for (unsigned i = 0; i < 200; i++) {
            size_t size = i * i * 10;
            objects[i] = layers_malloc(size);
            CHECK(objects[i] != NULL);
            memset(objects[i], 1, size);
        }
        for (unsigned i = 0; i < 200; i++) {
            layers_free(objects[i]);
        }
        CHECK_EQUAL(layers_cached_bytes(), 0);
        CHECK(layers_settled());
        hew_thread_death(); /* and so is one whose cache is gone */
    }
    hew_cache_self = &hew_cache_none;
    layers_without_caches = false;
}

TEST(no_memory_is_null_and_nothing_is_lost)
{
    boot_once();
    void *kept = layers_malloc(100);
    memset(kept, 0x11, 100);
    hew_os_faults.refuse = layers_refuse_everything;
    CHECK(hew_alloc_large((size_t)64 << 30, false) == NULL);
    CHECK(hew_alloc_large((size_t)64 << 30, true) == NULL);
    CHECK(hew_alloc_aligned((size_t)64 << 30, (size_t)1 << 22, false) == NULL);
    static void *objects[1 << 17];
    unsigned count = 0;
    while (count < 1 << 17 && (objects[count] = layers_malloc(14000)) != NULL) {
        count++;
    }
    CHECK(count < 1 << 17);
    CHECK(all_bytes_are(kept, 100, 0x11));
    hew_os_faults.refuse = NULL;
    void *again = layers_malloc(14000);
    CHECK(again != NULL);
    layers_free(again);
    while (count > 0) {
        layers_free(objects[--count]);
    }
    layers_free(kept);
    end_test();
}

TEST(relief_returns_what_the_thread_has_cached_and_every_free_page)
{
    boot_once();
    for (size_t size = 1; size < (size_t)4 << 20; size = size * 3 + 1) {
        void *objects[20];
        for (unsigned i = 0; i < 20; i++) {
            objects[i] = layers_malloc(size);
        }
        for (unsigned i = 0; i < 20; i++) {
            layers_free(objects[i]);
        }
    }
    CHECK(layers_cached_bytes() > 0);
    hew_request_relieve();
    CHECK_EQUAL(layers_cached_bytes(), 0);
    for (unsigned index = 0; index < 2 && hew_arena_at(index) != NULL; index++) {
        struct hew_page_counts counts = hew_page_counts(hew_arena_at(index)->pages.heap);
        CHECK_EQUAL(counts.dirty + counts.muzzy + counts.retained, 0);
        CHECK_EQUAL(counts.mapped, counts.active);
    }
    CHECK(layers_settled()); /* the thread's cache is there still, and empty */
    end_test();
}

TEST(due_work_is_passed_up_after_a_large_free)
{
    boot_once();
    layers_purges_due = 0;
    hew_page_due = 0;
    layers_free(layers_malloc((size_t)8 << 20));
    CHECK_EQUAL(hew_page_due, 1);
    CHECK(layers_purges_due > 0);
    hew_page_due = 0;
    end_test();
}
