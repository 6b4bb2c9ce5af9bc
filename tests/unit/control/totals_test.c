/* SPDX-License-Identifier: MIT */
#include "control/totals.h"

#include "cache/magazine.h"
#include "cache/thread.h"
#include "layers.h"
#include "test.h"

#define MIB ((size_t)1 << 20)

TEST(before_the_first_arena_everything_is_nothing)
{
    struct hew_totals totals = hew_totals_read();
    CHECK_EQUAL(totals.allocated + totals.cached + totals.active + totals.dirty + totals.muzzy + totals.retained, 0);
    CHECK_EQUAL(totals.mapped, 0);
    CHECK_EQUAL(totals.arenas, 0);
    CHECK_EQUAL(totals.threads, 0);
}

TEST(totals_follow_a_small_and_a_large_object_through_their_lives)
{
    CHECK(layers_boot());
    unsigned code = hew_code_of_size(1000);
    struct hew_cache *cache = hew_thread_birth(true);
    void *small = hew_magazine_pop(cache, code);
    struct hew_extent *large = hew_arena_take_large(cache->arena, 3 * MIB, HEW_PAGE, HEW_CODE_SLOW);
    struct hew_totals totals = hew_totals_read();
    size_t cached = hew_cache_depth(cache, code) * 1024;
    CHECK_EQUAL(totals.arenas, 1);
    CHECK_EQUAL(totals.cached, cached);
    CHECK_EQUAL(totals.allocated, 1024 + cached + 3 * MIB);
    CHECK_EQUAL(totals.active, hew_slab_shapes[code].pages * HEW_PAGE + 3 * MIB);
    CHECK_EQUAL(totals.mapped, totals.active + totals.dirty + totals.muzzy + totals.retained);
    CHECK(totals.metadata >= sizeof *cache);

    hew_arena_give_large(large);
    totals = hew_totals_read();
    CHECK_EQUAL(totals.dirty, 3 * MIB);
    CHECK_EQUAL(totals.purged, 0);
    hew_page_decay(&cache->arena->pages, 0, true);
    totals = hew_totals_read();
    CHECK_EQUAL(totals.dirty, 0);
    CHECK_EQUAL(totals.purged, 3 * MIB);

    hew_magazine_push(cache, code, small);
    CHECK_EQUAL(hew_totals_read().cached, cached + 1024);
    hew_thread_death();
    totals = hew_totals_read();
    CHECK_EQUAL(totals.allocated, 0);
    CHECK_EQUAL(totals.cached, 0);
}

TEST(the_text_has_a_line_for_each_number)
{
    char buffer[1024];
    struct hew_text text;
    hew_text_begin(&text, buffer, sizeof buffer);
    hew_totals_describe(&text);
    static const char *const names[] = {"hew: bytes\n", "  allocated        0\n", "  in thread caches 0\n",
        "  active pages     ", "  dirty pages      0\n", "  muzzy pages      0\n", "  retained         ",
        "  mapped           ", "  metadata         ", "  purged so far    3145728\n", "arenas             1\n",
        "threads            0\n"};
    const char *at = buffer;
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *found = strstr(at, names[i]);
        CHECK(found != NULL);
        at = found == NULL ? at : found + strlen(names[i]);
    }
}
