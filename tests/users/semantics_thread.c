/* SPDX-License-Identifier: MIT */
/*
 * What mallctl says of the calling thread, of explicit caches and of single objects.
 */
#include "jemalloc_calls.h"
#include "preload/under_test.h"
#include "unit/test.h"

#include <pthread.h>

TEST(the_counters_of_a_thread_are_exact)
{
    free(malloc(64 << 20)); /* a thread of the allocator's own, if it makes one for a large heap, begins here */
    uint64_t allocated = ctl_u64("thread.allocated"), freed = ctl_u64("thread.deallocated");
    static const size_t sizes[] = {1, 8, 9, 100, 1000, 14336, 14337, 20000, 100000, 1 << 20, 9 << 20};
    uint64_t usable = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        void *object = malloc(sizes[i]);
        usable += malloc_usable_size(object);
        CHECK_EQUAL(ctl_u64("thread.allocated") - allocated, usable);
        free(object);
        CHECK_EQUAL(ctl_u64("thread.deallocated") - freed, usable);
    }
}

TEST(realloc_counts_both_ends)
{
    uint64_t allocated = ctl_u64("thread.allocated"), freed = ctl_u64("thread.deallocated");
    void *object = malloc(100);
    object = realloc(object, 100000);
    object = realloc(object, 200000);
    object = realloc(object, 10);
    size_t kept = malloc_usable_size(object);
    CHECK_EQUAL((ctl_u64("thread.allocated") - allocated) - (ctl_u64("thread.deallocated") - freed), kept);
    free(object);
    CHECK_EQUAL(ctl_u64("thread.allocated") - allocated, ctl_u64("thread.deallocated") - freed);
}

TEST(the_counters_can_be_watched_through_pointers)
{
    uint64_t *allocated = NULL, *freed = NULL;
    CHECK_EQUAL(ctl_read("thread.allocatedp", &allocated, sizeof allocated), 0);
    CHECK_EQUAL(ctl_read("thread.deallocatedp", &freed, sizeof freed), 0);
    for (int i = 0; i < 1000; i++) {
        uint64_t a = __atomic_load_n(allocated, __ATOMIC_RELAXED), d = __atomic_load_n(freed, __ATOMIC_RELAXED);
        void *object = malloc(48);
        CHECK_EQUAL(__atomic_load_n(allocated, __ATOMIC_RELAXED) - a, 48);
        free(object);
        CHECK_EQUAL(__atomic_load_n(freed, __ATOMIC_RELAXED) - d, 48);
    }
    CHECK_EQUAL(ctl_u64("thread.allocated"), *allocated);
    CHECK_EQUAL(ctl_u64("thread.deallocated"), *freed);
}

TEST(a_thread_can_do_without_its_cache)
{
    bool off = false, on = true, was = false;
    size_t length = sizeof was;
    CHECK_EQUAL(mallctl("thread.tcache.enabled", &was, &length, &off, sizeof off), 0);
    CHECK(was);
    CHECK_EQUAL(ctl_do("thread.tcache.flush"), EFAULT);
    for (size_t size = 1; size < 100000; size = size * 5 / 4 + 1) {
        void *object = malloc(size);
        CHECK(object != NULL);
        free(object);
    }
    CHECK_EQUAL(mallctl("thread.tcache.enabled", &was, &length, &on, sizeof on), 0);
    CHECK(!was);
    CHECK_EQUAL(ctl_do("thread.tcache.flush"), 0);
    CHECK_EQUAL(ctl_do("thread.idle"), 0);
}

TEST(the_largest_cached_size_can_be_set_per_thread)
{
    size_t before = 0, wanted = 20000, now = 0, length = sizeof before;
    CHECK_EQUAL(mallctl("thread.tcache.max", &before, &length, &wanted, sizeof wanted), 0);
    CHECK(before >= 16384);
    CHECK_EQUAL(ctl_read("thread.tcache.max", &now, sizeof now), 0);
    CHECK_EQUAL(now, 20480);
    wanted = 0;
    CHECK_EQUAL(ctl_write("thread.tcache.max", &wanted, sizeof wanted), 0);
    CHECK_EQUAL(ctl_read("thread.tcache.max", &now, sizeof now), 0);
    CHECK(now <= 8);
    wanted = SIZE_MAX;
    CHECK_EQUAL(ctl_write("thread.tcache.max", &wanted, sizeof wanted), 0);
    CHECK_EQUAL(ctl_write("thread.tcache.max", &before, sizeof before), 0);
}

TEST(slots_can_be_set_per_class)
{
    const char *rule = "1-64:12|1024-1024:8", *wrong = "1-64";
    size_t size = 48, slots = 0, length = sizeof slots;
    CHECK_EQUAL(ctl_write("thread.tcache.ncached_max.write", &rule, sizeof rule), 0);
    CHECK_EQUAL(mallctl("thread.tcache.ncached_max.read_sizeclass", &slots, &length, &size, sizeof size), 0);
    CHECK_EQUAL(slots, 12);
    CHECK_EQUAL(ctl_write("thread.tcache.ncached_max.write", &wrong, sizeof wrong), EINVAL);
    size = SIZE_MAX;
    CHECK_EQUAL(mallctl("thread.tcache.ncached_max.read_sizeclass", &slots, &length, &size, sizeof size), EINVAL);
}

TEST(an_explicit_cache_lives_and_dies)
{
    unsigned cache = ctl_unsigned("tcache.create");
    CHECK(cache != UINT32_MAX);
    for (int i = 0; i < 100; i++) {
        void *object = mallocx(64, MALLOCX_TCACHE(cache));
        CHECK(object != NULL);
        dallocx(object, MALLOCX_TCACHE(cache));
    }
    CHECK_EQUAL(ctl_write("tcache.flush", &cache, sizeof cache), 0);
    CHECK_EQUAL(ctl_write("tcache.flush", &cache, 8), EINVAL);
    CHECK_EQUAL(ctl_write("tcache.destroy", &cache, sizeof cache), 0);
    unsigned again = ctl_unsigned("tcache.create");
    CHECK_EQUAL(again, cache);
    CHECK_EQUAL(ctl_write("tcache.destroy", &again, sizeof again), 0);
}

/* jemalloc says 0 for an index that its table has room for, and crashes beyond. */
TEST(a_cache_that_is_not_there_is_left_alone)
{
    static const unsigned none[] = {3000, 4094, 4096, 1 << 20, UINT32_MAX - 2, UINT32_MAX - 1, UINT32_MAX};
    for (size_t i = 0; i < (under_test_strict() ? 7 : 2); i++) {
        int flushed = ctl_write("tcache.flush", &none[i], sizeof none[i]);
        int destroyed = ctl_write("tcache.destroy", &none[i], sizeof none[i]);
        CHECK(flushed == EFAULT || (i < 2 && flushed == 0));
        CHECK(destroyed == EFAULT || (i < 2 && destroyed == 0));
    }
}

TEST(the_peak_of_a_thread_falls_only_by_reset)
{
    CHECK_EQUAL(ctl_do("thread.peak.reset"), 0);
    free(malloc(8 << 20));
    uint64_t peak = ctl_u64("thread.peak.read");
    CHECK(peak >= 8 << 20);
    CHECK(peak < 16 << 20);
    CHECK_EQUAL(ctl_do("thread.peak.reset"), 0);
    CHECK(ctl_u64("thread.peak.read") < 1 << 20);
}

TEST(an_object_knows_how_full_its_slab_is)
{
    struct {
        void *slab;
        size_t free_regions, regions, bytes, bin_free, bin_regions;
    } answer;
    size_t length = sizeof answer;
    void *objects[8];
    for (int i = 0; i < 8; i++) {
        objects[i] = malloc(48);
    }
    CHECK_EQUAL(mallctl("experimental.utilization.query", &answer, &length, &objects[3], sizeof objects[3]), 0);
    CHECK(answer.regions > 0 && answer.free_regions < answer.regions);
    CHECK(answer.bytes >= answer.regions * 48 && answer.bytes % 4096 == 0);
    /* A sampled object stands alone, in no bin. */
    CHECK(answer.regions == 1 || (answer.bin_regions >= answer.regions && answer.bin_free <= answer.bin_regions));
    length = 40;
    CHECK_EQUAL(mallctl("experimental.utilization.query", &answer, &length, &objects[3], sizeof objects[3]), EINVAL);
    size_t many[3 * 8];
    length = sizeof many;
    CHECK_EQUAL(mallctl("experimental.utilization.batch_query", many, &length, objects, sizeof objects), 0);
    CHECK(many[10] == answer.regions && many[11] == answer.bytes);
    length = sizeof many - 8;
    CHECK_EQUAL(mallctl("experimental.utilization.batch_query", many, &length, objects, sizeof objects), EINVAL);
    for (int i = 0; i < 8; i++) {
        free(objects[i]);
    }
    void *large = malloc(1 << 20);
    length = 3 * sizeof *many;
    CHECK_EQUAL(mallctl("experimental.utilization.batch_query", many, &length, &large, sizeof large), 0);
    CHECK(many[0] == 0 && many[1] == 1 && many[2] >= 1 << 20);
    free(large);
}

/* jemalloc has no answer but a crash. */
TEST(a_foreign_pointer_has_no_slab)
{
    size_t many[3] = {7, 7, 7}, answer[6], length;
    int here = 0;
    void *wrong[] = {&here, NULL, (void *)8, (void *)UINTPTR_MAX, (void *)(uintptr_t)&ctl_name};
    for (size_t i = 0; under_test_strict() && i < sizeof wrong / sizeof *wrong; i++) {
        length = sizeof many;
        CHECK_EQUAL(mallctl("experimental.utilization.batch_query", many, &length, &wrong[i], sizeof wrong[i]), EINVAL);
        CHECK(many[0] == 7 && many[1] == 7 && many[2] == 7);
        length = sizeof answer;
        CHECK_EQUAL(mallctl("experimental.utilization.query", answer, &length, &wrong[i], sizeof wrong[i]), EINVAL);
    }
}

TEST(many_objects_come_in_one_call)
{
    void *objects[100];
    struct {
        void **objects;
        size_t count, size;
        int flags;
    } wanted = {objects, 100, 96, 0};
    size_t got = 0, length = sizeof got;
    CHECK_EQUAL(mallctl("experimental.batch_alloc", &got, &length, &wanted, sizeof wanted), 0);
    CHECK_EQUAL(got, 100);
    for (size_t i = 0; i < got; i++) {
        memset(objects[i], (int)i, 96);
    }
    for (size_t i = 0; i < got; i++) {
        CHECK(*(unsigned char *)objects[i] == i);
        free(objects[i]);
    }
    length = 4;
    CHECK_EQUAL(mallctl("experimental.batch_alloc", &got, &length, &wanted, sizeof wanted), EINVAL);
    CHECK_EQUAL(length, 0);
}

TEST(background_threads_can_be_stopped_and_started)
{
    bool was = false, off = false, on = true, now = true;
    size_t length = sizeof was;
    CHECK_EQUAL(mallctl("background_thread", &was, &length, &off, sizeof off), 0);
    CHECK_EQUAL(ctl_read("background_thread", &now, sizeof now), 0);
    CHECK(!now);
    CHECK_EQUAL(ctl_write("background_thread", &on, sizeof on), 0);
    CHECK_EQUAL(ctl_read("background_thread", &now, sizeof now), 0);
    CHECK(now);
    CHECK_EQUAL(ctl_write("background_thread", &was, sizeof was), 0);
    size_t most = ctl_size("max_background_threads"), many = 100000;
    CHECK(most >= 1 && most != SIZE_MAX);
    CHECK_EQUAL(ctl_write("max_background_threads", &many, sizeof many), EINVAL);
}

TEST(a_realloc_within_the_class_counts_what_it_kept_as_freed_and_allocated)
{
    static const size_t sizes[] = {100, 5000, 20000, 100000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        void *object = malloc(sizes[i]);
        size_t usable = malloc_usable_size(object);
        uint64_t allocated = ctl_u64("thread.allocated"), freed = ctl_u64("thread.deallocated");
        object = realloc(object, sizes[i] + 1);
        CHECK_EQUAL(ctl_u64("thread.allocated") - allocated, usable);
        CHECK_EQUAL(ctl_u64("thread.deallocated") - freed, usable);
        object = rallocx(object, sizes[i], 0);
        CHECK_EQUAL(ctl_u64("thread.allocated") - allocated, 2 * usable);
        CHECK_EQUAL(ctl_u64("thread.deallocated") - freed, 2 * usable);
        CHECK_EQUAL(xallocx(object, sizes[i], 0, 0), usable);
        CHECK_EQUAL(ctl_u64("thread.allocated") - allocated, 2 * usable);
        free(object);
        CHECK_EQUAL(ctl_u64("thread.deallocated") - freed, 3 * usable);
    }
}
