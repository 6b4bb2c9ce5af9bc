/* SPDX-License-Identifier: MIT */
/* What a thread has allocated and freed, told from its cache, against counting each operation. */
#include "cache/count.h"

#include "cache/magazine.h"
#include "cache/own.h"
#include "cache/thread.h"
#include "layers_alloc.h"
#include "layers_cache.h"
#include "layers_random.h"
#include "test.h"

#define SLOTS 600

static struct {
    void *objects[SLOTS];
    uint64_t allocated, freed;
} model;

static struct hew_cache *
new_thread(void)
{
    if (hew_small_end == 0) {
        CHECK(layers_boot());
    }
    model.allocated = model.freed = 0;
    return hew_thread_birth(true);
}

static void
take(unsigned slot, size_t size)
{
    model.objects[slot] = layers_malloc(size);
    model.allocated += hew_alloc_usable("test", model.objects[slot]);
}

static void
give(unsigned slot)
{
    model.freed += hew_alloc_usable("test", model.objects[slot]);
    layers_free(model.objects[slot]);
    model.objects[slot] = NULL;
}

/* A step of a program: takes, gives, or resizes one of its objects. */
static void
step(struct layers_random *random)
{
    unsigned slot = (unsigned)layers_random_below(random, SLOTS);
    size_t size = layers_random_below(random, 8) == 0 ? layers_random_below(random, (size_t)3 << 20)
                                                      : layers_random_below(random, 3000);
    if (model.objects[slot] == NULL) {
        take(slot, size + 1);
    } else if (layers_random_below(random, 4) != 0) {
        give(slot);
    } else {
        size_t before = hew_alloc_usable("test", model.objects[slot]);
        void *moved = hew_realloc_object(model.objects[slot], size + 1);
        size_t after = hew_alloc_usable("test", moved);
        model.allocated += after; /* also where nothing moved */
        model.freed += before;
        model.objects[slot] = moved;
    }
}

static void
give_all(void)
{
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        if (model.objects[slot] != NULL) {
            give(slot);
        }
    }
}

TEST(what_a_thread_has_allocated_and_freed_is_known_without_counting_it)
{
    struct hew_cache *cache = new_thread();
    struct layers_random random = {1};
    for (unsigned i = 0; i < 60000; i++) {
        step(&random);
        if (i % 997 == 0) {
            CHECK_EQUAL(hew_count_allocated(cache), model.allocated);
            CHECK_EQUAL(hew_count_freed(cache), model.freed);
        }
    }
    hew_magazine_send_all_home(cache);
    CHECK_EQUAL(hew_count_allocated(cache), model.allocated);
    CHECK_EQUAL(hew_count_freed(cache), model.freed);
    give_all();
    CHECK_EQUAL(hew_count_allocated(cache), hew_count_freed(cache));
    hew_thread_death();
    CHECK(layers_settled());
}

TEST(live_counters_go_on_from_there_and_move_with_every_operation)
{
    struct hew_cache *cache = new_thread();
    struct layers_random random = {2};
    for (unsigned i = 0; i < 5000; i++) {
        step(&random);
    }
    struct hew_cache_bytes *live = hew_thread_counters(cache);
    CHECK(hew_thread_counters(cache) == live);
    for (unsigned i = 0; i < 30000; i++) {
        step(&random);
        CHECK_EQUAL(live->allocated, model.allocated);
        CHECK_EQUAL(live->freed, model.freed);
    }
    CHECK_EQUAL(hew_count_allocated(cache), model.allocated);
    CHECK_EQUAL(hew_count_freed(cache), model.freed);
    give_all();
    hew_thread_death();
    CHECK(layers_settled());
}

TEST(an_arena_keeps_the_requests_of_threads_that_have_gone_or_moved)
{
    struct hew_cache *cache = new_thread();
    struct hew_arena *first = cache->arena, *second = hew_arena_get(first->index + 1);
    unsigned code = hew_code_of_size(48);
    uint64_t before = first->requests[code];
    for (unsigned i = 0; i < 3000; i++) {
        layers_free(layers_malloc(48));
    }
    uint64_t allocated = hew_count_allocated(cache), freed = hew_count_freed(cache);
    hew_thread_bind(cache, second);
    CHECK_EQUAL(first->requests[code] - before, 3000);
    CHECK(hew_count_allocated(cache) == allocated && hew_count_freed(cache) == freed);
    for (unsigned i = 0; i < 500; i++) {
        layers_free(layers_malloc(48));
    }
    hew_thread_death();
    CHECK_EQUAL(first->requests[code] - before, 3000);
    CHECK_EQUAL(second->requests[code], 500);
    CHECK(layers_settled());
}

TEST(without_caching_nothing_is_kept_and_everything_is_counted)
{
    struct hew_cache *cache = new_thread();
    hew_own_set_caching(cache, false);
    struct layers_random random = {3};
    for (unsigned i = 0; i < 5000; i++) {
        step(&random);
    }
    CHECK_EQUAL(layers_cached_bytes(), 0);
    CHECK_EQUAL(hew_count_allocated(cache), model.allocated);
    CHECK_EQUAL(hew_count_freed(cache), model.freed);
    hew_own_set_caching(cache, true);
    give_all();
    CHECK(layers_cached_bytes() > 0);
    hew_thread_death();
    CHECK(layers_settled());
}

static unsigned attended;
static struct hew_extent *sampled_extents[64];

/* Samples every object that is due, and lets the next one of its class be due after 10. */
static void *
sample_each(struct hew_cache *cache, struct hew_arena *arena, unsigned code, size_t size, struct hew_extent *large)
{
    static char mark;
    if ((cache->due & HEW_DUE_SAMPLE) == 0 || attended == 64) {
        return NULL;
    }
    if (large != NULL) {
        cache->until_sample = 1 << 20;
        hew_alloc_mark_sampled(large, &mark);
        sampled_extents[attended++] = large;
        return NULL;
    }
    hew_magazine_sample_after(cache, cache->due_code, 10);
    struct hew_extent *extent = hew_alloc_sampled(arena, cache->due_code, &mark);
    sampled_extents[attended++] = extent;
    return (void *)extent->address;
}

static unsigned samples_freed;

static void
note_freed(struct hew_extent *extent)
{
    samples_freed += extent->large.sample != NULL;
}

TEST(a_sampled_object_is_an_object_like_any_other_and_its_end_is_told)
{
    struct hew_cache *cache = new_thread();
    hew_options.prof = true;
    layers_attend = sample_each;
    layers_sample_freed = note_freed;
    hew_magazine_sample_after(cache, hew_code_of_size(100), 10);
    unsigned due = attended;
    void *objects[100];
    for (unsigned i = 0; i < 100; i++) {
        objects[i] = layers_malloc(100);
        memset(objects[i], (int)i, 112);
        CHECK_EQUAL(hew_alloc_usable("test", objects[i]), 112);
    }
    CHECK_EQUAL(attended - due, 10);
    CHECK_EQUAL(hew_count_allocated(cache), 100 * 112);
    for (unsigned i = 0; i < 100; i++) {
        CHECK_EQUAL(*(unsigned char *)objects[i], i);
        layers_free(objects[i]);
    }
    CHECK_EQUAL(samples_freed, 10);
    CHECK_EQUAL(hew_count_freed(cache), 100 * 112);
    hew_options.prof = false;
    layers_attend = NULL;
    layers_sample_freed = NULL;
    hew_thread_death();
    CHECK(layers_settled());
}

TEST(the_user_chooses_how_much_of_a_class_is_kept)
{
    struct hew_cache *cache = new_thread();
    unsigned code = hew_code_of_size(64);
    hew_own_set_count(cache, code, 3);
    void *objects[50];
    for (unsigned i = 0; i < 50; i++) {
        objects[i] = layers_malloc(64);
    }
    for (unsigned i = 0; i < 50; i++) {
        layers_free(objects[i]);
        CHECK(hew_count_depth(cache, code) <= 3);
    }
    hew_own_set_count(cache, code, 0);
    layers_free(layers_malloc(64));
    CHECK_EQUAL(hew_count_depth(cache, code), 0);
    hew_thread_death();
    CHECK(layers_settled());
}
