/* SPDX-License-Identifier: MIT */
#include "cache/explicit.h"
#include "cache/magazine.h"
#include "cache/thread.h"
#include "layers.h"
#include "layers_cache.h"
#include "test.h"

TEST(numbers_are_given_lowest_first_and_again)
{
    CHECK(layers_boot());
    unsigned first, second, again;
    CHECK(hew_explicit_create(&first) && hew_explicit_create(&second));
    CHECK_EQUAL(first, 0);
    CHECK_EQUAL(second, 1);
    CHECK(hew_explicit_at(0) != NULL && hew_explicit_at(1) != NULL && hew_explicit_at(0) != hew_explicit_at(1));
    CHECK(hew_explicit_destroy(first));
    CHECK(hew_explicit_at(first) == NULL);
    CHECK(hew_explicit_create(&again));
    CHECK_EQUAL(again, first);
    CHECK(hew_explicit_destroy(again) && hew_explicit_destroy(second));
}

TEST(a_number_that_nobody_has_is_refused)
{
    static const unsigned strangers[] = {0, 7, HEW_EXPLICIT_MAX - 1, HEW_EXPLICIT_MAX, ~0u};
    for (unsigned i = 0; i < sizeof strangers / sizeof strangers[0]; i++) {
        CHECK(hew_explicit_at(strangers[i]) == NULL);
        CHECK(!hew_explicit_flush(strangers[i]));
        CHECK(!hew_explicit_destroy(strangers[i]));
    }
}

/* Takes and returns enough objects for the cache to hold some. */
static void
use(struct hew_cache *cache, unsigned code)
{
    void *objects[64];
    for (unsigned i = 0; i < 64; i++) {
        objects[i] = hew_magazine_pop(cache, code);
        CHECK(objects[i] != NULL);
    }
    for (unsigned i = 0; i < 64; i++) {
        hew_magazine_push(cache, code, objects[i]);
    }
}

TEST(flushing_and_destroying_give_everything_back)
{
    unsigned number, code = hew_code_of_size(48);
    CHECK(hew_explicit_create(&number));
    struct hew_cache *cache = hew_explicit_at(number);
    use(cache, code);
    CHECK(hew_count_depth(cache, code) > 0);
    CHECK(hew_explicit_flush(number));
    CHECK(layers_settled());
    use(cache, code);
    CHECK(hew_explicit_destroy(number));
    CHECK(layers_settled());
}

TEST(a_fork_leaves_it_in_the_list_of_caches)
{
    unsigned number, code = hew_code_of_size(48);
    CHECK(hew_explicit_create(&number));
    use(hew_explicit_at(number), code);
    size_t bytes = layers_cached_bytes();
    CHECK(bytes > 0);
    hew_thread_after_fork();
    CHECK_EQUAL(layers_cached_bytes(), 0);
    hew_explicit_after_fork();
    CHECK_EQUAL(layers_cached_bytes(), bytes);
    CHECK(hew_explicit_destroy(number));
    CHECK_EQUAL(layers_cached_bytes(), 0);
    CHECK(layers_settled());
}

TEST(what_it_counted_is_its_arenas_when_it_is_gone)
{
    unsigned number, code = hew_code_of_size(64);
    CHECK(hew_explicit_create(&number));
    struct hew_arena *arena = hew_explicit_at(number)->arena;
    uint64_t before = arena->requests[code];
    use(hew_explicit_at(number), code);
    CHECK(hew_explicit_destroy(number));
    CHECK_EQUAL(arena->requests[code] - before, 64);
}

TEST(there_are_so_many_and_no_more)
{
    unsigned number, made = 0;
    while (hew_explicit_create(&number)) {
        CHECK_EQUAL(number, made);
        made++;
    }
    CHECK_EQUAL(made, HEW_EXPLICIT_MAX);
    for (number = 0; number < made; number++) {
        CHECK(hew_explicit_destroy(number));
    }
}
