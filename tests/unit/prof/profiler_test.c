/* SPDX-License-Identifier: MIT */
#include "prof/profiler.h"

#include "base/options.h"
#include "layers_alloc.h"
#include "prof/samples.h"
#include "prof/snapshot.h"
#include "test.h"

#include <pthread.h>
#include <stdlib.h>

enum { MANY = 200000 };

static void *objects[MANY];

/* What api/boot.c does, with a new thread that samples a byte in 2^lg_sample. */
static struct hew_prof_own *
begin(unsigned lg_sample)
{
    static bool booted;
    if (!booted) {
        booted = true;
        CHECK(layers_boot());
        layers_attend = hew_prof_attend;
        layers_sample_freed = hew_prof_freed;
        layers_keep_place = hew_prof_keep_place;
        hew_options.prof = true;
        hew_prof_seed = 42;
        hew_prof_boot();
    }
    hew_prof_reset(lg_sample);
    hew_prof_birth(hew_alloc_own_cache());
    return hew_prof_own();
}

static void
end(void)
{
    hew_prof_death(hew_alloc_own_cache());
    layers_end_thread();
}

static struct hew_prof_totals
live(void)
{
    struct hew_snapshot snapshot;
    CHECK(hew_snapshot_take(&snapshot, 1));
    struct hew_prof_totals totals = snapshot.live;
    hew_snapshot_give(&snapshot);
    return totals;
}

static void
allocate(size_t count, size_t size)
{
    for (size_t i = 0; i < count; i++) {
        objects[i] = layers_malloc(size);
    }
}

static void
release(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        layers_free(objects[i]);
    }
}

TEST(with_a_sample_of_every_byte_the_counts_are_exact)
{
    begin(0);
    allocate(1000, 100);
    CHECK_EQUAL(live().objects, 1000);
    CHECK_EQUAL(live().bytes, 1000 * 112);
    release(500);
    CHECK_EQUAL(live().objects, 0 + 500);
    for (size_t i = 500; i < 1000; i++) {
        layers_free(objects[i]);
    }
    CHECK_EQUAL(live().objects, 0);
    CHECK_EQUAL(hew_prof_table_sizes().stacks, 0);
    end();
}

TEST(a_sampled_object_is_as_large_as_its_class_and_holds_what_is_written)
{
    begin(0);
    static const size_t sizes[] = {1, 16, 100, 4096, HEW_SMALL_MAX, HEW_SMALL_MAX + 1, 1 << 20, 9 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char *object = layers_malloc(sizes[i]);
        size_t usable = hew_alloc_usable("test", object);
        CHECK(sizes[i] <= HEW_SMALL_MAX ? usable == hew_class_size(hew_class_index(sizes[i])) : usable >= sizes[i]);
        memset(object, 0x5a, usable);
        object = hew_realloc_object(object, sizes[i] * 3);
        CHECK_EQUAL(object[usable - 1], 0x5a);
        CHECK_EQUAL(live().objects, 1);
        layers_free(object);
    }
    CHECK_EQUAL(live().objects, 0);
    end();
}

TEST(a_sampled_object_keeps_its_place_in_a_slab_as_long_as_it_lives)
{
    enum { COUNT = 1000, SIZE = 100 };
    struct hew_samples samples;
    hew_options.prof_slabs = true;
    begin(0);
    allocate(COUNT, SIZE);
    objects[COUNT] = layers_malloc(1 << 20);
    CHECK(hew_samples_take(&samples));
    CHECK_EQUAL(samples.count, COUNT + 1);
    size_t placed = 0, full = 0;
    for (size_t i = 0; i < samples.count; i++) {
        const struct hew_sample *row = &samples.rows[i];
        CHECK(row->depth > 0 && row->weight == UINT64_C(1) << HEW_WEIGHT_SHIFT);
        if (row->requested == SIZE) {
            CHECK_EQUAL(row->usable, 112);
            CHECK_EQUAL(row->slab.regions, row->slab.bytes / 112);
            full += row->slab.free_regions == 0;
            placed++;
        } else {
            CHECK(row->place == NULL && row->slab.regions == 0);
        }
    }
    CHECK_EQUAL(placed, COUNT);
    CHECK(full > COUNT / 2); /* one behind the other */
    hew_samples_give(&samples);

    /* One of each slab's worth stays, and its slab with it. */
    size_t regions = hew_slab_shapes[hew_small_code(SIZE)].regions, kept = 0;
    for (size_t i = 0; i < COUNT; i++) {
        if (i % regions == 0) {
            objects[kept++] = objects[i];
        } else {
            layers_free(objects[i]);
        }
    }
    layers_free(objects[COUNT]);
    CHECK(hew_samples_take(&samples));
    CHECK_EQUAL(samples.count, kept);
    for (size_t i = 0; i < samples.count; i++) {
        CHECK(samples.rows[i].slab.regions == regions && samples.rows[i].slab.free_regions > 0);
    }
    hew_samples_give(&samples);
    release(kept);
    CHECK(hew_samples_take(&samples));
    CHECK_EQUAL(samples.count, 0);
    hew_samples_give(&samples);
    hew_options.prof_slabs = false;
    end();
}

TEST(a_reset_forgets_samples_and_gives_back_their_places_when_they_are_freed)
{
    struct hew_samples samples;
    hew_options.prof_slabs = true;
    begin(0);
    allocate(100, 48);
    hew_prof_reset(0);
    CHECK(hew_samples_take(&samples));
    CHECK_EQUAL(samples.count, 0);
    hew_samples_give(&samples);
    unsigned code = hew_small_code(48);
    struct hew_bin *bin = &hew_alloc_own_cache()->arena->bins[code];
    uint64_t given = bin->counts.ndalloc;
    release(100);
    CHECK_EQUAL(bin->counts.ndalloc - given, 100);
    hew_options.prof_slabs = false;
    end();
}

/* The estimate of `count` objects of `size` bytes lies within six deviations of the truth. */
static void
check_estimate(size_t count, size_t size)
{
    allocate(count, size);
    struct hew_prof_totals totals = live();
    size_t usable = hew_alloc_usable("test", objects[0]);
    double truth = (double)count * (double)usable, estimate = (double)totals.weight_bytes;
    double chance = (double)usable / (double)totals.weight_bytes * (double)totals.objects;
    double deviation = (double)usable, variance = (double)count * (1 - chance) / chance;
    double error = (estimate - truth) / deviation;
    CHECK(error * error <= 36 * variance + 1);
    if (!(error * error <= 36 * variance + 1)) {
        printf("size %zu: %.0f bytes estimated, %.0f true\n", size, estimate, truth);
    }
    double objects_error = (double)totals.weight_objects / 65536 - (double)count;
    CHECK(objects_error * objects_error <= 36 * variance + 1);
    release(count);
    CHECK_EQUAL(live().objects, 0);
}

TEST(estimates_are_unbiased_for_every_size)
{
    begin(12);
    check_estimate(MANY, 8);
    check_estimate(MANY, 100);
    check_estimate(MANY / 4, 1000);
    check_estimate(20000, 5000);
    check_estimate(2000, 20000);
    check_estimate(200, 300000);
    check_estimate(20, 3 << 20);
    end();
}

TEST(nothing_is_sampled_while_the_switch_of_the_process_or_of_the_thread_is_off)
{
    struct hew_prof_own *own = begin(0);
    hew_prof_active = false;
    allocate(1000, 64);
    CHECK_EQUAL(live().objects, 0);
    hew_prof_active = true;
    own->active = false;
    allocate(1000, 64);
    CHECK_EQUAL(live().objects, 0);
    own->active = true;
    allocate(1000, 64);
    CHECK_EQUAL(live().objects, 1000);
    release(1000);
    end();
}

TEST(objects_that_are_older_than_a_reset_are_not_taken_off_again)
{
    begin(0);
    allocate(100, 64);
    hew_prof_reset(0);
    CHECK_EQUAL(live().objects, 0);
    objects[100] = layers_malloc(64);
    release(100);
    CHECK_EQUAL(live().objects, 1);
    layers_free(objects[100]);
    CHECK_EQUAL(live().objects, 0);
    end();
}

static unsigned allocations_seen, frees_seen;

static void
on_sample(const void *object, size_t size, void **frames, unsigned depth, size_t usable)
{
    allocations_seen++;
    CHECK(object != NULL && size == 50 && usable == 64 && depth > 0 && frames[0] != NULL);
    layers_free(layers_malloc(50)); /* is not sampled, or this would never end */
}

static void
on_free(const void *object, size_t usable)
{
    frees_seen++;
    CHECK(usable == 64);
    layers_free(layers_malloc(64));
}

TEST(hooks_see_each_sample_and_may_allocate_and_free)
{
    begin(0);
    hew_prof_hooks[HEW_PROF_ON_SAMPLE] = (hew_prof_function)on_sample;
    hew_prof_hooks[HEW_PROF_ON_FREE] = (hew_prof_function)on_free;
    allocate(10, 50);
    release(10);
    hew_prof_hooks[HEW_PROF_ON_SAMPLE] = hew_prof_hooks[HEW_PROF_ON_FREE] = NULL;
    CHECK_EQUAL(allocations_seen, 10);
    CHECK_EQUAL(frees_seen, 10);
    CHECK_EQUAL(live().objects, 0);
    end();
}

static void *kept;

static void
free_kept(const void *object, size_t usable)
{
    void *other = kept;
    kept = NULL;
    if (other != NULL) {
        layers_free(other); /* a sampled one, freed by a thread that is at work in the profiler */
    }
}

TEST(a_sampled_object_that_is_freed_inside_the_profiler_is_taken_off_too)
{
    begin(0);
    kept = layers_malloc(64);
    void *object = layers_malloc(64);
    hew_prof_hooks[HEW_PROF_ON_FREE] = (hew_prof_function)free_kept;
    layers_free(object);
    hew_prof_hooks[HEW_PROF_ON_FREE] = NULL;
    layers_free(layers_malloc(64));
    CHECK_EQUAL(live().objects, 0);
    end();
}

static void *
work(void *unused)
{
    void *mine[100];
    hew_prof_birth(hew_alloc_own_cache());
    for (unsigned round = 0; round < 200; round++) {
        for (unsigned i = 0; i < 100; i++) {
            mine[i] = layers_malloc(i * 40 + 1);
        }
        for (unsigned i = 0; i < 100; i++) {
            layers_free(mine[i]);
        }
    }
    hew_prof_death(hew_alloc_own_cache());
    hew_thread_death();
    return unused;
}

TEST(threads_that_come_and_go_leave_nothing_behind)
{
    pthread_t threads[4];
    begin(4);
    for (unsigned i = 0; i < 4; i++) {
        CHECK_EQUAL(pthread_create(&threads[i], NULL, work, NULL), 0);
    }
    for (unsigned i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    CHECK_EQUAL(live().objects, 0);
    CHECK_EQUAL(hew_prof_table_sizes().counters, 0);
    end();
    CHECK_EQUAL(hew_prof_table_sizes().threads, 0);
}

TEST(counts_by_class_follow_live_and_ever)
{
    begin(0);
    unsigned index = hew_code_for(700) - 1;
    struct hew_prof_class before = hew_prof_class_counts(index);
    allocate(3, 700);
    layers_free(objects[0]);
    struct hew_prof_class after = hew_prof_class_counts(index);
    CHECK_EQUAL(after.live_count - before.live_count, 2);
    CHECK_EQUAL(after.live_bytes - before.live_bytes, 1400);
    CHECK_EQUAL(after.ever_count - before.ever_count, 3);
    CHECK_EQUAL(after.ever_bytes - before.ever_bytes, 2100);
    layers_free(objects[1]);
    layers_free(objects[2]);
    end();
}
