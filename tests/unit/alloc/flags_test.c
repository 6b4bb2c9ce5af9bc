/* SPDX-License-Identifier: MIT */
#include "alloc/flags.h"

#include "alloc/request.h"
#include "cache/count.h"
#include "cache/explicit.h"
#include "cache/magazine.h"
#include "layers_alloc.h"
#include "page/hooks.h"
#include "test.h"

#define ZERO HEW_FLAGS_ZERO
#define NO_CACHE 0x100
#define CACHE(number) ((int)(((unsigned)(number) + 2) << 8))
#define ARENA(index) ((int)(((unsigned)(index) + 1) << 20))
#define MIB ((size_t)1 << 20)

static void
boot_once(void)
{
    if (hew_small_end == 0) {
        CHECK(layers_boot());
        hew_options.narenas = 4;
    }
}

static void
end_test(void)
{
    layers_end_thread();
    CHECK(layers_settled());
}

static unsigned
arena_of(const void *object)
{
    return hew_map_extent((uintptr_t)object)->arena;
}

static size_t
usable(const void *object)
{
    return hew_alloc_usable("test", object);
}

static bool
all_zero(const unsigned char *bytes, size_t from, size_t to)
{
    while (from < to && bytes[from] == 0) {
        from++;
    }
    return from >= to;
}

TEST(the_usable_size_is_known_beforehand)
{
    boot_once();
    static const size_t sizes[] = {0, 1, 8, 9, 100, 4096, 14336, 14337, 16384, 16385, 100000, 3 * MIB};
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int lg = 0; lg <= 23; lg++) {
            unsigned char *object = hew_flags_alloc(sizes[i], lg | ZERO);
            CHECK(object != NULL);
            CHECK_EQUAL((uintptr_t)object & (((uintptr_t)1 << lg) - 1), 0);
            CHECK_EQUAL(usable(object), hew_flags_usable(sizes[i], lg));
            CHECK(all_zero(object, 0, usable(object)));
            memset(object, 0xee, usable(object));
            hew_flags_are_of_size("test", object, sizes[i], lg);
            hew_flags_are_of_size("test", object, usable(object), lg);
            hew_flags_free("test", object, lg);
        }
    }
    end_test();
}

TEST(what_cannot_be_is_refused)
{
    CHECK(hew_flags_alloc(SIZE_MAX, 0) == NULL);
    CHECK(hew_flags_alloc(SIZE_MAX - 4096, 12) == NULL);
    CHECK(hew_flags_alloc(8, 63) == NULL);
    CHECK(hew_flags_alloc(MIB, 47) == NULL);
    CHECK(hew_flags_alloc(8, ARENA(4)) == NULL);
    CHECK(hew_flags_alloc(8, ARENA(4094)) == NULL);
    CHECK(hew_flags_alloc(8, CACHE(17)) == NULL);
    CHECK_EQUAL(hew_flags_usable(SIZE_MAX, 0), 0);
    CHECK_EQUAL(hew_flags_usable(1, 63), 0);
    void *object = hew_flags_alloc(8, 0);
    static const int strange[] = {63, ARENA(4000), CACHE(17)};
    for (unsigned i = 0; i < sizeof strange / sizeof strange[0]; i++) {
        CHECK(hew_flags_realloc(object, 100, strange[i]) == NULL);
        CHECK_EQUAL(usable(object), 8);
    }
    CHECK(hew_flags_realloc(object, SIZE_MAX, 0) == NULL);
    CHECK_EQUAL(hew_flags_resize(object, SIZE_MAX, SIZE_MAX, 0), 8);
    hew_flags_free("test", object, CACHE(17)); /* a cache that does not exist: to its owner */
    end_test();
}

TEST(an_arena_that_is_named_serves_the_request)
{
    for (unsigned index = 0; index < 4; index++) {
        for (size_t size = 1; size < 4 * MIB; size = size * 3 + 1) {
            void *object = hew_flags_alloc(size, ARENA(index));
            CHECK_EQUAL(arena_of(object), index);
            object = hew_flags_realloc(object, size * 2, ARENA(index) | ZERO);
            CHECK_EQUAL(arena_of(object), index);
            hew_flags_free("test", object, 0);
        }
    }
    end_test();
}

TEST(without_a_cache_each_object_comes_from_its_slab_and_goes_back)
{
    unsigned code = hew_code_of_size(48);
    void *warm = hew_flags_alloc(48, 0); /* the thread's cache has some now */
    struct hew_cache *cache = hew_cache_self;
    size_t depth = hew_cache_depth(cache, code);
    struct hew_bin *bin = &cache->arena->bins[code];
    uint64_t taken = bin->counts.nmalloc, returned = bin->counts.ndalloc;
    void *object = hew_flags_alloc(48, NO_CACHE);
    CHECK_EQUAL(bin->counts.nmalloc, taken + 1);
    hew_flags_free("test", object, NO_CACHE);
    CHECK_EQUAL(bin->counts.ndalloc, returned + 1);
    CHECK_EQUAL(hew_cache_depth(cache, code), depth);
    hew_flags_free("test", warm, 0);
    end_test();
}

TEST(the_own_arena_by_name_still_means_the_own_cache)
{
    void *warm = hew_flags_alloc(48, 0), *object = hew_flags_alloc(48, ARENA(hew_cache_self->arena->index));
    hew_flags_free("test", warm, 0);
    CHECK(hew_flags_alloc(48, ARENA(hew_cache_self->arena->index)) == warm);
    hew_flags_free("test", warm, 0);
    hew_flags_free("test", object, 0);
    end_test();
}

TEST(an_explicit_cache_keeps_what_is_freed_into_it)
{
    unsigned number;
    CHECK(hew_explicit_create(&number));
    for (size_t size = 10; size < 200000; size *= 10) {
        void *object = hew_flags_alloc(size, CACHE(number) | ARENA(2));
        CHECK_EQUAL(arena_of(object), 2);
        hew_flags_free("test", object, CACHE(number));
        CHECK(hew_flags_alloc(size, CACHE(number)) == object);
        hew_flags_free("test", object, CACHE(number));
    }
    CHECK(hew_explicit_destroy(number));
    end_test();
}

TEST(an_explicit_cache_keeps_objects_of_private_arenas)
{
    unsigned number, code = hew_code_of_size(100);
    CHECK(hew_explicit_create(&number));
    struct hew_arena *arena = hew_arena_get(4);
    arena->pages.heap->is_private = true;
    void *object = hew_flags_alloc(100, ARENA(4) | CACHE(number)),
         *large = hew_flags_alloc(50000, ARENA(4) | CACHE(number));
    CHECK_EQUAL(hew_map_code((uintptr_t)object), HEW_CODE_SLOW);
    size_t depth = hew_cache_depth(hew_explicit_at(number), code);
    hew_flags_free("test", object, CACHE(number));
    hew_flags_free("test", large, CACHE(number));
    CHECK_EQUAL(hew_cache_depth(hew_explicit_at(number), code), depth + 1);
    CHECK(hew_flags_alloc(50000, CACHE(number)) == large);
    hew_flags_free("test", large, 0);
    CHECK(hew_explicit_destroy(number));
    end_test();
}

TEST(a_thread_is_told_what_it_asked_for_whatever_way_it_asked)
{
    unsigned number;
    CHECK(hew_explicit_create(&number));
    hew_flags_free("test", hew_flags_alloc(1, 0), 0);
    struct hew_cache *own = hew_cache_self;
    const int flags[] = {0, NO_CACHE, ARENA(3), CACHE(number), CACHE(number) | ARENA(1), 6, 13 | NO_CACHE};
    uint64_t allocated = hew_count_allocated(own), freed = hew_count_freed(own);
    for (unsigned i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        for (size_t size = 5; size < 3 * MIB; size = size * 2 + 11) {
            void *object = hew_flags_alloc(size, flags[i]);
            allocated += usable(object);
            CHECK_EQUAL(hew_count_allocated(own), allocated);
            freed += usable(object);
            hew_flags_free("test", object, flags[i]);
            CHECK_EQUAL(hew_count_freed(own), freed);
        }
    }
    CHECK(hew_explicit_destroy(number));
    CHECK_EQUAL(hew_count_freed(own), freed);
    end_test();
}

TEST(what_a_reallocation_gains_is_zeroed_and_the_rest_kept)
{
    for (size_t size = 1; size < 2 * MIB; size = size * 2 + 3) {
        unsigned char *object = hew_flags_alloc(size, 0);
        size_t before = usable(object);
        memset(object, 7, before);
        object = hew_flags_realloc(object, size * 2 + 1, ZERO | 6);
        CHECK_EQUAL((uintptr_t)object % 64, 0);
        CHECK_EQUAL(usable(object), hew_flags_usable(size * 2 + 1, 6));
        CHECK(object[0] == 7 && object[before - 1] == 7 && all_zero(object, before, usable(object)));
        object = hew_flags_realloc(object, 1, 0);
        CHECK(object[0] == 7);
        CHECK_EQUAL(usable(object), 8);
        hew_flags_free("test", object, 0);
    }
    end_test();
}

TEST(in_place_large_objects_grow_and_shrink_and_small_ones_stay)
{
    void *small = hew_flags_alloc(100, 0);
    CHECK_EQUAL(hew_flags_resize(small, 1, 0, 0), 112);
    CHECK_EQUAL(hew_flags_resize(small, 200, 5000, 0), 112);
    hew_request_relieve();
    unsigned char *large = hew_flags_alloc(MIB, 0);
    memset(large, 9, MIB);
    CHECK_EQUAL(hew_flags_resize(large, MIB, 0, 0), MIB);
    CHECK_EQUAL(hew_flags_resize(large, 100000, 0, 0), 114688);
    CHECK_EQUAL(hew_flags_resize(large, 100000, 100000, ZERO), 229376); /* into what it has just given up */
    CHECK(large[0] == 9 && large[114687] == 9 && all_zero(large, 114688, 229376));
    CHECK(hew_flags_resize(large, MIB << 20, 0, 0) < MIB << 20);
    CHECK(hew_flags_resize(large, 100, 100, 0) >= 100000); /* never becomes a small one */
    CHECK_EQUAL(hew_flags_resize(large, 100, 20000, 0), 20480);
    CHECK_EQUAL(hew_flags_resize(large, 0, 0, 0), 20480);
    hew_flags_are_of_size("test", large, 20000, 0);
    hew_flags_free("test", large, 0);
    hew_flags_free("test", small, 0);
    end_test();
}

TEST(inside_an_extent_hook_arenas_and_caches_are_not_touched)
{
    unsigned number;
    CHECK(hew_explicit_create(&number));
    struct hew_cache *cache = hew_explicit_at(number);
    unsigned code = hew_code_of_size(100);
    hew_hooks_depth = 1;
    void *object = hew_flags_alloc(100, ARENA(3) | CACHE(number));
    CHECK(object != NULL && hew_cache_depth(cache, code) == 0);
    object = hew_flags_realloc(object, 1000, ARENA(3) | CACHE(number));
    hew_flags_free("test", object, CACHE(number));
    hew_hooks_depth = 0;
    CHECK_EQUAL(hew_cache_depth(cache, hew_code_of_size(1000)), 0);
    CHECK(hew_explicit_destroy(number));
    end_test();
}

static unsigned samples;

static void *
sample_it(struct hew_cache *cache, struct hew_arena *arena, unsigned code, size_t size, struct hew_extent *large)
{
    CHECK(large == NULL && size == 90 && cache->due_code == HEW_CODE_NONE && cache->until_sample < 0);
    cache->until_sample = 10000;
    cache->due = 0;
    samples++;
    void *mine = hew_flags_alloc(1000, 0); /* as a program's function may that is called in the middle of this */
    CHECK_EQUAL(arena_of(mine), cache->arena->index);
    CHECK(arena_of(mine) != arena->index);
    hew_flags_free("test", mine, 0);
    return (void *)hew_alloc_sampled(arena, code, &samples)->address;
}

TEST(requests_past_the_cache_are_sampled_by_their_bytes_and_in_their_arena)
{
    hew_flags_free("test", hew_flags_alloc(1, 0), 0);
    hew_cache_self->until_sample = 10000;
    hew_options.prof = true;
    layers_attend = sample_it;
    uint64_t allocated = hew_count_allocated(hew_cache_self), freed = hew_count_freed(hew_cache_self);
    for (unsigned i = 0; i < 1000; i++) {
        void *object = hew_flags_alloc(90, 6 | NO_CACHE | ARENA(2));
        CHECK_EQUAL(usable(object), 128);
        CHECK_EQUAL(arena_of(object), 2);
        hew_flags_are_of_size("test", object, 90, 6);
        hew_flags_free("test", object, i % 2 == 0 ? NO_CACHE : 0);
    }
    CHECK_EQUAL(samples, 12);
    CHECK_EQUAL(hew_count_allocated(hew_cache_self) - allocated, 128000 + 12 * 1024);
    hew_options.prof = false;
    layers_attend = NULL;
    hew_magazine_drop_all(hew_cache_self);
    CHECK_EQUAL(hew_count_freed(hew_cache_self) - freed, 128000 + 12 * 1024);
    end_test();
}
