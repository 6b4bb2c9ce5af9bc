/* SPDX-License-Identifier: MIT */
#include "cache/budget.h"
#include "cache/count.h"
#include "ctl_calls.h"
#include "layers_alloc.h"
#include "test.h"

#include <pthread.h>

static struct hew_cache *
boot_once(void)
{
    if (hew_small_end == 0) {
        CHECK(layers_boot());
        hew_options.narenas = 4;
    }
    return hew_alloc_own_cache();
}

static uint64_t
read_bytes(const char *name)
{
    uint64_t bytes = 0;
    CHECK_EQUAL(ctl_read(name, &bytes, sizeof bytes), 0);
    return bytes;
}

TEST(bytes_allocated_and_freed_are_counted_at_once)
{
    boot_once();
    uint64_t allocated = read_bytes("thread.allocated"), freed = read_bytes("thread.deallocated");
    void *small = layers_malloc(100), *large = layers_malloc(3 * HEW_CACHED_MAX);
    CHECK_EQUAL(read_bytes("thread.allocated") - allocated, 112 + 3 * HEW_CACHED_MAX);
    layers_free(small);
    CHECK_EQUAL(read_bytes("thread.deallocated") - freed, 112);
    layers_free(large);
    CHECK_EQUAL(read_bytes("thread.deallocated") - freed, 112 + 3 * HEW_CACHED_MAX);
}

TEST(the_peak_is_the_most_that_was_held_when_it_was_looked_at)
{
    boot_once();
    CHECK_EQUAL(ctl_do("thread.peak.reset"), 0);
    CHECK_EQUAL(read_bytes("thread.peak.read"), 0);
    void *object = layers_malloc(2 * HEW_CACHED_MAX);
    CHECK_EQUAL(read_bytes("thread.peak.read"), 2 * HEW_CACHED_MAX);
    layers_free(object);
    CHECK_EQUAL(read_bytes("thread.peak.read"), 2 * HEW_CACHED_MAX);
    CHECK_EQUAL(ctl_do("thread.peak.reset"), 0);
    CHECK_EQUAL(read_bytes("thread.peak.read"), 0);
}

TEST(what_a_thread_only_frees_is_no_peak)
{
    boot_once();
    void *object = layers_malloc(2 * HEW_CACHED_MAX);
    CHECK_EQUAL(ctl_do("thread.peak.reset"), 0);
    layers_free(object);
    CHECK_EQUAL(read_bytes("thread.peak.read"), 0);
}

TEST(the_cache_is_flushed_switched_off_and_on)
{
    struct hew_cache *cache = boot_once();
    bool off = false, on = true, before = false;
    unsigned code = hew_code_of_size(64);
    layers_free(layers_malloc(64));
    layers_free(layers_malloc(64));
    CHECK_EQUAL(ctl_do("thread.tcache.flush"), 0);
    CHECK_EQUAL(hew_count_depth(cache, code), 0);
    CHECK_EQUAL(ctl_exchange("thread.tcache.enabled", &before, &off, sizeof off), 0);
    CHECK(before && !cache->caching);
    CHECK_EQUAL(ctl_do("thread.tcache.flush"), EFAULT);
    layers_free(layers_malloc(64));
    CHECK_EQUAL(hew_count_depth(cache, code), 0);
    size_t largest = 4096;
    CHECK_EQUAL(ctl_write("thread.tcache.max", &largest, sizeof largest), EFAULT);
    CHECK_EQUAL(ctl_exchange("thread.tcache.enabled", &before, &on, sizeof on), 0);
    CHECK(!before && cache->caching);
}

static size_t
set_largest(size_t size)
{
    size_t largest = 0;
    CHECK_EQUAL(ctl_write("thread.tcache.max", &size, sizeof size), 0);
    CHECK_EQUAL(ctl_read("thread.tcache.max", &largest, sizeof largest), 0);
    return largest;
}

TEST(the_largest_cached_size_becomes_a_class_and_is_bounded)
{
    struct hew_cache *cache = boot_once();
    CHECK_EQUAL(set_largest(4000), 4096);
    CHECK_EQUAL(hew_budget_most(cache->own, hew_code_of_size(4097)), 0);
    CHECK_EQUAL(set_largest(0), 8);
    CHECK_EQUAL(set_largest(SIZE_MAX), HEW_CACHED_MAX);
    CHECK_EQUAL(set_largest(hew_options.tcache_max), hew_options.tcache_max);
}

TEST(limits_of_classes_are_read_by_size_and_written_as_ranges)
{
    boot_once();
    const char *text = "100-200:7|5000-5000:3", *broken = "100-200:9|x", *nothing = NULL;
    size_t limit = 0, size = 128, length = sizeof limit;
    CHECK_EQUAL(ctl_write("thread.tcache.ncached_max.write", &text, sizeof text), 0);
    CHECK_EQUAL(hew_ctl_by_name("thread.tcache.ncached_max.read_sizeclass", &limit, &length, &size, sizeof size), 0);
    CHECK_EQUAL(limit, 7);
    CHECK_EQUAL(ctl_write("thread.tcache.ncached_max.write", &broken, sizeof broken), EINVAL);
    CHECK_EQUAL(ctl_write("thread.tcache.ncached_max.write", &nothing, sizeof nothing), EINVAL);
    CHECK_EQUAL(hew_ctl_by_name("thread.tcache.ncached_max.read_sizeclass", &limit, &length, &size, sizeof size), 0);
    CHECK_EQUAL(limit, 7);
    size = HEW_CACHED_MAX + 1;
    CHECK_EQUAL(hew_ctl_by_name("thread.tcache.ncached_max.read_sizeclass", &limit, &length, &size, sizeof size),
                EINVAL);
    CHECK_EQUAL(ctl_read("thread.tcache.ncached_max.read_sizeclass", &limit, sizeof limit), EINVAL);
}

TEST(an_idle_thread_keeps_nothing)
{
    struct hew_cache *cache = boot_once();
    layers_free(layers_malloc(64));
    CHECK_EQUAL(ctl_do("thread.idle"), 0);
    for (unsigned code = 1; code <= HEW_CODE_CACHED_LAST; code++) {
        CHECK_EQUAL(hew_count_depth(cache, code), 0);
    }
}

TEST(the_arena_of_a_thread_is_read_and_out_of_range_refused)
{
    struct hew_cache *cache = boot_once();
    static const unsigned wrong[] = {4, 5, 4095, 4096, 4097, 0xffffffff};
    unsigned index = 77;
    CHECK_EQUAL(ctl_read("thread.arena", &index, sizeof index), 0);
    CHECK_EQUAL(index, cache->arena->index);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK_EQUAL(ctl_write("thread.arena", &wrong[i], sizeof wrong[i]), EFAULT);
    }
    CHECK_EQUAL(ctl_write("thread.arena", &index, sizeof index), 0);
    CHECK_EQUAL(ctl_write("thread.arena", &index, 8), EINVAL);
}

TEST(with_arenas_by_CPU_a_thread_moves_only_to_an_arena_that_a_program_made)
{
    struct hew_cache *cache = boot_once();
    unsigned home = cache->arena->index, other = home == 0 ? 1 : 0, made = 0;
    CHECK_EQUAL(ctl_read("arenas.create", &made, sizeof made), 0);
    hew_options.percpu_arena = HEW_PERCPU_ARENA_PERCPU;
    CHECK_EQUAL(ctl_write("thread.arena", &home, sizeof home), 0);
    CHECK_EQUAL(ctl_write("thread.arena", &other, sizeof other), EPERM);
    CHECK_EQUAL(ctl_write("thread.arena", &made, sizeof made), 0);
    hew_options.percpu_arena = HEW_PERCPU_ARENA_DISABLED;
    CHECK_EQUAL(ctl_write("thread.arena", &home, sizeof home), 0);
}

/* Last: from here on the thread is counted at each operation. */
TEST(the_counters_move_right_after_malloc_and_free)
{
    boot_once();
    uint64_t *allocated = NULL, *freed = NULL, *again = NULL;
    CHECK_EQUAL(ctl_read("thread.allocatedp", &allocated, sizeof allocated), 0);
    CHECK_EQUAL(ctl_read("thread.deallocatedp", &freed, sizeof freed), 0);
    CHECK_EQUAL(ctl_read("thread.allocatedp", &again, sizeof again), 0);
    CHECK(allocated == again && allocated != freed);
    uint64_t before = *allocated, freed_before = *freed;
    CHECK_EQUAL(read_bytes("thread.allocated"), before);
    void *object = layers_malloc(1);
    CHECK_EQUAL(*allocated - before, 8);
    layers_free(object);
    CHECK_EQUAL(*freed - freed_before, 8);
    CHECK_EQUAL(read_bytes("thread.deallocated"), *freed);
}
