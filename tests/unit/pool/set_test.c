/* SPDX-License-Identifier: MIT */
/*
 * set: pool sets below api/: what sizes become, what is refused, bounds, what a caller plugs in.  Growth: grow_test.c.
 */
#include "pool/set.h"

#include "os/process.h"
#include "pool/range.h"
#include "sets.h"
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static int
error_of(const struct hew_pool_size *sizes, size_t count, const struct hew_pool_options *options)
{
    int error = -1;
    CHECK(hew_pool_life_begin(sizes, count, options, &error) == NULL);
    return error;
}

TEST(sizes_come_in_any_order_and_those_that_round_up_to_the_same_are_one)
{
    static const struct hew_pool_size sizes[] = {{1000, 10}, {24, 5}, {64, 3}, {32, 7}, {20, 1}};
    struct hew_pool_set *set = begin(sizes, COUNT(sizes), NULL);
    CHECK_EQUAL(set->count, 3);
    CHECK_EQUAL(figures_of(set, 0).size, 32);
    CHECK_EQUAL(figures_of(set, 0).fixed, 13);
    CHECK_EQUAL(figures_of(set, 1).size, 64);
    CHECK_EQUAL(figures_of(set, 2).size, 1008);
    CHECK_EQUAL(hew_pool_lookup_find(&set->lookup, 1008), 2);
    CHECK_EQUAL(hew_pool_lookup_find(&set->lookup, 1009), 3);
    CHECK(hew_pool_life_end(set, false));
}

TEST(bad_declarations_are_refused)
{
    static const struct hew_pool_size zero[] = {{64, 10}, {0, 10}}, huge[] = {{SIZE_MAX, 1}},
                                      overflow[] = {{1 << 20, SIZE_MAX / 1000}};
    static struct hew_pool_size many[HEW_POOL_SIZES_MAX + 1];
    for (unsigned i = 0; i < COUNT(many); i++) {
        many[i] = (struct hew_pool_size){(i + 1) * 16, 1};
    }
    CHECK_EQUAL(error_of(zero, 2, NULL), EINVAL);
    CHECK_EQUAL(error_of(huge, 1, NULL), EINVAL);
    CHECK_EQUAL(error_of(overflow, 1, NULL), EINVAL);
    CHECK_EQUAL(error_of(NULL, 1, NULL), EINVAL);
    CHECK_EQUAL(error_of(hundred, 0, NULL), EINVAL);
    CHECK_EQUAL(error_of(many, COUNT(many), NULL), EINVAL);
    struct hew_pool_set *set = begin(many, HEW_POOL_SIZES_MAX, NULL);
    CHECK(set != NULL && hew_pool_life_end(set, false));
    static const struct hew_pool_size halves[] = {{(size_t)1 << (HEW_LG_ADDRESS - 2), 1},
                                                  {(size_t)3 << (HEW_LG_ADDRESS - 3), 1}};
    CHECK_EQUAL(error_of(halves, 2, NULL), EINVAL); /* each could be, both cannot */
}

TEST(more_than_the_machine_has_is_refused_before_anything_is_made)
{
    size_t machine = hew_os_machine_memory();
    struct hew_pool_size small[] = {{16, machine / 16 + 1}}, large[] = {{machine / 2, 3}},
                         most[] = {{16, (size_t)1 << 41}};
    size_t mapped = hew_page_counts(hew_arena_get(0)->pages.heap).mapped;
    CHECK_EQUAL(error_of(small, 1, NULL), ENOMEM);
    CHECK_EQUAL(error_of(large, 1, NULL), ENOMEM);
    CHECK_EQUAL(error_of(most, 1, NULL), ENOMEM);
    CHECK_EQUAL(hew_page_counts(hew_arena_get(0)->pages.heap).mapped, mapped);
}

TEST(bad_options_are_refused)
{
    static const struct hew_pool_source no_give = {.take = NULL};
    static const struct hew_pool_kind other[] = {{.size = 48}};
    CHECK_EQUAL(error_of(hundred, 1, &(struct hew_pool_options){.alignment = 48}), EINVAL);
    CHECK_EQUAL(error_of(hundred, 1, &(struct hew_pool_options){.alignment = (size_t)4 << 20}), EINVAL);
    CHECK_EQUAL(error_of(hundred, 1, &(struct hew_pool_options){.source = &no_give}), EINVAL);
    CHECK_EQUAL(error_of(hundred, 1, &(struct hew_pool_options){.kinds = other, .kinds_count = 1}), EINVAL);
    CHECK_EQUAL(error_of(hundred, 1, &(struct hew_pool_options){.most_bytes = 100}), ENOMEM);
}

TEST(an_object_is_aligned_to_every_power_of_two_that_divides_its_size)
{
    static const struct hew_pool_size sizes[] = {{16, 50}, {48, 50}, {64, 50}, {4096, 50}, {16384, 5}};
    struct hew_pool_set *set = begin(sizes, COUNT(sizes), NULL);
    for (unsigned i = 0; i < COUNT(sizes); i++) {
        size_t natural = sizes[i].size & -sizes[i].size;
        take_many(set, sizes[i].size, 100); /* beyond the fixed group, too */
        for (unsigned k = 0; k < 100; k++) {
            CHECK_EQUAL((uintptr_t)objects[k] % natural, 0);
            CHECK_EQUAL(hew_pool_serve_usable(set, "test", objects[k]), sizes[i].size);
        }
        give_many(set, 100);
    }
    CHECK(hew_pool_life_end(set, false));
    set = begin(hundred, 1, &(struct hew_pool_options){.alignment = 65536});
    void *object = take(set, 64);
    CHECK_EQUAL((uintptr_t)object % 65536, 0);
    give(set, object);
    CHECK(hew_pool_life_end(set, false));
}

TEST(at_a_bound_the_fallback_serves_or_nobody)
{
    struct hew_pool_options null = {.most_pools = 1, .dynamic_count = 50, .beyond = HEW_POOL_BEYOND_NULL};
    struct hew_pool_set *set = begin(hundred, 1, &null);
    take_many(set, 64, 10000);
    unsigned got = 0;
    for (unsigned i = 0; i < 10000; i++) {
        got += objects[i] != NULL;
    }
    CHECK_EQUAL(got, 150);
    CHECK_EQUAL(figures_of(set, 0).beyond, 10000 - 150);
    give_many(set, 10000);
    CHECK(hew_pool_life_end(set, false));
    set = begin(hundred, 1, &(struct hew_pool_options){.fixed_only = true});
    take_many(set, 64, 150);
    CHECK(hew_pool_range_of((uintptr_t)objects[99]) != NULL);
    CHECK(hew_pool_range_of((uintptr_t)objects[149]) == NULL);
    memset(objects[149], 1, 64);
    give_many(set, 150);
    CHECK(hew_pool_life_end(set, false));
    set = begin(hundred, 1, &(struct hew_pool_options){.most_bytes = 16384 + 65536, .beyond = HEW_POOL_BEYOND_NULL});
    take_many(set, 64, 10000);
    CHECK(objects[100 + 1023] != NULL && objects[100 + 1024] == NULL);
    give_many(set, 10000);
    CHECK(hew_pool_life_end(set, false));
}

TEST(what_is_larger_than_every_size_is_the_general_allocators)
{
    struct hew_pool_set *set = begin(hundred, 1, NULL);
    void *object = take(set, 65);
    CHECK(hew_pool_range_of((uintptr_t)object) == NULL);
    CHECK(hew_pool_serve_usable(set, "test", object) >= 65);
    give(set, object);
    CHECK(hew_pool_life_end(set, false));
}

TEST(a_set_with_objects_in_use_is_not_destroyed_unless_that_is_wanted)
{
    struct hew_pool_set *set = begin(hundred, 1, NULL);
    void *object = take(set, 64);
    CHECK(!hew_pool_life_end(set, false));
    give(set, object);
    CHECK(hew_pool_life_end(set, false));
    set = begin(hundred, 1, NULL);
    take_many(set, 64, 500);
    CHECK(hew_pool_life_end(set, true));
    CHECK(hew_pool_range_of((uintptr_t)objects[0]) == NULL && hew_pool_range_of((uintptr_t)objects[499]) == NULL);
}

TEST(plain_functions_know_a_pools_objects)
{
    struct hew_pool_set *set = begin(hundred, 1, NULL);
    void *object = take(set, 40);
    CHECK_EQUAL(hew_alloc_usable("test", object), 64);
    hew_alloc_is_sized("test", object, 40, 16);
    CHECK(hew_realloc_object(object, 60) == object);
    strcpy(object, "kept");
    char *moved = hew_realloc_object(object, 1000);
    CHECK_TEXT(moved, "kept");
    CHECK_EQUAL(figures_of(set, 0).in_use, 0);
    layers_free(moved);
    object = take(set, 40);
    layers_free(object);
    hew_alloc_free_into("test", take(set, 40), NULL);
    CHECK_EQUAL(figures_of(set, 0).in_use, 0);
    CHECK(hew_pool_life_end(set, false));
}

/* Constructors. */
static unsigned built, unbuilt, refused;

static int
construct(void *object, size_t size, void *context)
{
    if (context != NULL && refused > 0) {
        refused--;
        return -1;
    }
    built++;
    memset(object, 7, size);
    return 0;
}

static void
destruct(void *object, size_t size, void *context)
{
    unbuilt += ((char *)object)[size - 1] == 7;
}

TEST(a_cached_object_is_constructed_once_and_stays_as_it_was_left)
{
    struct hew_pool_kind kind = {.size = 64, .construct = construct, .destruct = destruct};
    struct hew_pool_options options = {.kinds = &kind, .kinds_count = 1, .dynamic_count = 100};
    struct hew_pool_set *set = begin(hundred, 1, &options);
    built = unbuilt = 0;
    for (unsigned round = 0; round < 5; round++) {
        take_many(set, 64, 90);
        for (unsigned i = 0; i < 90; i++) {
            CHECK(((char *)objects[i])[0] == 7 && ((char *)objects[i])[63] == 7);
        }
        give_many(set, 90);
    }
    CHECK(built >= 90 && built <= 100);
    take_many(set, 64, 1000);
    give_many(set, 1000);
    hew_pool_serve_trim(set);
    CHECK(unbuilt >= 800); /* those of pools that went */
    CHECK(hew_pool_life_end(set, false));
    CHECK_EQUAL(built, unbuilt);
}

TEST(an_object_whose_constructor_fails_is_not_handed_out)
{
    struct hew_pool_kind kind = {.size = 64, .construct = construct, .destruct = destruct, .context = &kind};
    struct hew_pool_options options = {
        .kinds = &kind, .kinds_count = 1, .fixed_only = true, .beyond = HEW_POOL_BEYOND_NULL};
    struct hew_pool_set *set = begin(hundred, 1, &options);
    refused = 1000000;
    CHECK(take(set, 64) == NULL);
    refused = 0;
    void *object = take(set, 64);
    CHECK(object != NULL && *(char *)object == 7);
    give(set, object);
    CHECK(hew_pool_life_end(set, false));
}

/* A caller's memory. */
#define REGION ((size_t)4 << 20)
static char *region;
static size_t region_used, region_pieces;

static void *
region_take(void *context, size_t size, size_t alignment)
{
    size_t from = hew_bits_round_up((uintptr_t)region + region_used, alignment) - (uintptr_t)region;
    if (from + size > REGION) {
        return NULL;
    }
    region_used = from + size;
    region_pieces++;
    return region + from;
}

static void
region_give(void *context, void *piece, size_t size)
{
    region_pieces--;
}

TEST(a_callers_source_brings_all_memory_and_gets_all_of_it_back)
{
    const struct hew_pool_source source = {region_take, region_give, NULL};
    struct hew_pool_options options = {.source = &source, .beyond = HEW_POOL_BEYOND_NULL};
    region = hew_os_map(REGION, HEW_PAGE);
    struct hew_pool_set *set = begin(hundred, 1, &options);
    take_many(set, 64, 5000);
    for (unsigned i = 0; i < 5000; i++) {
        CHECK((char *)objects[i] >= region && (char *)objects[i] < region + REGION);
    }
    CHECK_EQUAL(region_pieces, 1 + figures_of(set, 0).pools);
    give_many(set, 5000);
    CHECK(hew_pool_life_end(set, false));
    CHECK_EQUAL(region_pieces, 0);
    region_used = REGION; /* exhausted */
    CHECK_EQUAL(error_of(hundred, 1, &options), ENOMEM);
    hew_os_unmap(region, REGION);
}

static void *
source_of_our_own(void *context, size_t size, size_t alignment)
{
    return hew_alloc_aligned(size, alignment, false);
}

static void
free_our_own(void *context, void *piece, size_t size)
{
    layers_free(piece);
}

TEST(memory_that_malloc_gave_out_is_no_source)
{
    const struct hew_pool_source source = {source_of_our_own, free_our_own, NULL};
    CHECK_EQUAL(error_of(hundred, 1, &(struct hew_pool_options){.source = &source}), ENOMEM);
}

/* A caller's ring, without locks for one thread. */
struct ring {
    size_t first, last, room;
    void *slots[];
};
static unsigned rings;

static void *
ring_begin(void *context, size_t size, size_t count)
{
    struct ring *ring = calloc(1, sizeof *ring + (count + 1) * sizeof(void *));
    ring->room = count + 1;
    rings++;
    return ring;
}

static size_t
ring_take(void *store, void **taken, size_t wanted)
{
    struct ring *ring = store;
    size_t count = 0;
    while (count < wanted && ring->first != ring->last) {
        taken[count++] = ring->slots[ring->first];
        ring->first = (ring->first + 1) % ring->room;
    }
    return count;
}

static void
ring_give(void *store, void *const *given, size_t count)
{
    struct ring *ring = store;
    for (size_t i = 0; i < count; i++) {
        ring->slots[ring->last] = given[i];
        ring->last = (ring->last + 1) % ring->room;
    }
}

static void
ring_end(void *store)
{
    free(store);
    rings--;
}

TEST(a_callers_ring_keeps_the_fixed_groups)
{
    const struct hew_pool_backing backing = {ring_begin, ring_take, ring_give, ring_end, NULL};
    struct hew_pool_set *set = begin(hundred, 1, &(struct hew_pool_options){.backing = &backing});
    CHECK_EQUAL(rings, 1);
    for (unsigned round = 0; round < 3; round++) {
        take_many(set, 64, 300);
        CHECK(figures_of(set, 0).pools >= 1);
        give_many(set, 300);
    }
    CHECK_EQUAL(figures_of(set, 0).in_use, 0);
    CHECK(hew_pool_life_end(set, false));
    CHECK_EQUAL(rings, 0);
}

/* A caller's fallback: one object. */
static char only[4096];
static bool only_taken;

static void *
only_take(void *context, size_t size, size_t alignment)
{
    bool can = !only_taken && size <= sizeof only;
    only_taken = only_taken || can;
    return can ? only : NULL;
}

static bool
only_owns(void *context, const void *object)
{
    return object == only;
}

static void
only_give(void *context, void *object)
{
    only_taken = false;
}

static size_t
only_size(void *context, const void *object)
{
    return sizeof only;
}

TEST(a_callers_fallback_serves_what_the_pools_do_not)
{
    const struct hew_pool_fallback fallback = {only_take, only_owns, only_give, only_size, NULL};
    struct hew_pool_set *set = begin(hundred, 1, &(struct hew_pool_options){.fallback = &fallback});
    void *object = take(set, 1000);
    CHECK(object == only);
    CHECK(take(set, 1000) == NULL);
    CHECK_EQUAL(hew_pool_serve_usable(set, "test", object), 4096);
    give(set, object);
    CHECK(!only_taken);
    CHECK(hew_pool_life_end(set, false));
}

/* Threads. */
static void *
take_and_end(void *set)
{
    void *object = take(set, 64);
    CHECK(figures_of(set, 0).at_hand > 0);
    give(set, object);
    hew_pool_life_leave();
    layers_end_thread();
    return NULL;
}

TEST(a_thread_that_ends_gives_back_what_it_has_at_hand)
{
    struct hew_pool_set *set = begin(hundred, 1, NULL);
    pthread_t thread;
    for (unsigned i = 0; i < 3; i++) {
        pthread_create(&thread, NULL, take_and_end, set);
        pthread_join(thread, NULL);
        CHECK_EQUAL(figures_of(set, 0).at_hand, 0);
        CHECK_EQUAL(figures_of(set, 0).in_use, 0);
    }
    CHECK(hew_pool_life_end(set, false));
}

TEST(sets_come_and_go_many_times_and_no_more_than_255_live_together)
{
    static struct hew_pool_set *sets[HEW_POOL_SETS_MAX];
    for (unsigned i = 0; i < 300; i++) {
        struct hew_pool_set *set = begin(hundred, 1, NULL);
        give(set, take(set, 10));
        CHECK(hew_pool_life_end(set, false));
    }
    for (unsigned i = 0; i < HEW_POOL_SETS_MAX; i++) {
        sets[i] = begin(hundred, 1, NULL);
        give(sets[i], take(sets[i], 10));
    }
    CHECK_EQUAL(error_of(hundred, 1, NULL), EAGAIN);
    for (unsigned i = 0; i < HEW_POOL_SETS_MAX; i++) {
        CHECK(hew_pool_life_end(sets[i], false));
    }
}

TEST(without_memory_create_fails_and_nothing_stays)
{
    hew_os_faults.refuse = layers_refuse_everything;
    layers_use_up_metadata();
    int error = error_of(hundred, 1, NULL);
    hew_os_faults.refuse = NULL;
    CHECK_EQUAL(error, ENOMEM);
    struct hew_pool_set *set = begin(hundred, 1, NULL);
    CHECK(set != NULL && hew_pool_life_end(set, false));
}
