/* SPDX-License-Identifier: MIT */
/*
 * Arenas through mallctl: indices and their special values, life and death, decay, names, statistics by arena.
 */
#include "jemalloc_calls.h"
#include "preload/under_test.h"
#include "unit/test.h"

TEST(the_index_after_the_last_means_all_arenas)
{
    unsigned arenas = ctl_unsigned("arenas.narenas");
    CHECK(arenas >= 1 && arenas < 4096);
    CHECK_EQUAL(ctl_do(ctl_name("arena.%zu.purge", arenas)), 0);
    CHECK_EQUAL(ctl_do(ctl_name("arena.%zu.decay", arenas)), 0);
    CHECK_EQUAL(ctl_do("arena.4096.purge"), 0);
    CHECK_EQUAL(ctl_do("arena.4096.decay"), 0);
    CHECK_EQUAL(ctl_do(ctl_name("arena.%zu.purge", arenas + 1)), ENOENT);
    CHECK_EQUAL(ctl_do(ctl_name("arena.%zu.decay", arenas + 1)), ENOENT);
    CHECK_EQUAL(ctl_do("arena.4098.purge"), ENOENT);
    CHECK_EQUAL(ctl_do("arena.4294967296.purge"), ENOENT);
    CHECK_EQUAL(ctl_do("arena.4294967295.purge"), ENOENT);
}

TEST(the_index_of_destroyed_arenas_can_be_purged_to_no_effect)
{
    CHECK_EQUAL(ctl_do("arena.4097.purge"), 0);
    CHECK_EQUAL(ctl_do("arena.4097.decay"), 0);
}

TEST(an_arena_that_nobody_used_can_be_purged)
{
    unsigned last = ctl_unsigned("arenas.narenas") - 1;
    CHECK_EQUAL(ctl_do(ctl_name("arena.%zu.purge", last)), 0);
    CHECK_EQUAL(ctl_do(ctl_name("arena.%zu.decay", last)), 0);
}

TEST(statistics_have_sums_under_two_indices)
{
    ctl_refresh();
    size_t arenas = ctl_unsigned("arenas.narenas");
    size_t of_all = ctl_size("stats.arenas.4096.pactive");
    CHECK(of_all != SIZE_MAX && of_all > 0);
    CHECK_EQUAL(ctl_size(ctl_name("stats.arenas.%zu.pactive", arenas)), of_all);
    CHECK_EQUAL(ctl_size("stats.active"), of_all * 4096);
    size_t value, length = sizeof value;
    CHECK_EQUAL(mallctl(ctl_name("stats.arenas.%zu.pactive", arenas + 1), &value, &length, NULL, 0), ENOENT);
    CHECK_EQUAL(mallctl("stats.arenas.4097.pactive", &value, &length, NULL, 0), ENOENT);
    CHECK_EQUAL(mallctl("stats.arenas.4098.pactive", &value, &length, NULL, 0), ENOENT);
}

TEST(an_arena_that_nobody_used_has_no_statistics)
{
    unsigned last = ctl_unsigned("arenas.narenas") - 1;
    bool there = true;
    CHECK_EQUAL(ctl_read(ctl_name("arena.%zu.initialized", last), &there, sizeof there), 0);
    size_t pages, length = sizeof pages;
    int status = mallctl(ctl_name("stats.arenas.%zu.pactive", last), &pages, &length, NULL, 0);
    CHECK_EQUAL(status, there ? 0 : ENOENT);
}

TEST(allocated_and_active_are_the_sum_of_the_arenas)
{
    size_t active = 0, allocated = 0, pages, arenas = ctl_unsigned("arenas.narenas");
    ctl_refresh();
    for (size_t i = 0; i < arenas; i++) {
        if ((pages = ctl_size(ctl_name("stats.arenas.%zu.pactive", i))) != SIZE_MAX) {
            active += pages * 4096;
            allocated += ctl_size(ctl_name("stats.arenas.%zu.small.allocated", i));
            allocated += ctl_size(ctl_name("stats.arenas.%zu.large.allocated", i));
        }
    }
    CHECK_EQUAL(ctl_size("stats.active"), active);
    CHECK_EQUAL(ctl_size("stats.allocated"), allocated);
}

/* TiKV subtracts active and metadata from resident; jemalloc counts some metadata as active too, which is then too much. */
TEST(the_totals_keep_their_order)
{
    ctl_refresh();
    size_t allocated = ctl_size("stats.allocated"), active = ctl_size("stats.active");
    size_t metadata = ctl_size("stats.metadata"), resident = ctl_size("stats.resident");
    size_t mapped = ctl_size("stats.mapped");
    CHECK(allocated > 0 && allocated <= active);
    CHECK_EQUAL(active % 4096, 0);
    CHECK_EQUAL(resident % 4096, 0);
    CHECK_EQUAL(mapped % 4096, 0);
    CHECK(resident >= active && (!under_test_strict() || resident >= active + metadata));
    CHECK(mapped >= active);
    CHECK(ctl_size("stats.retained") != SIZE_MAX);
}

TEST(the_automatic_arenas_can_be_neither_reset_nor_destroyed)
{
    CHECK_EQUAL(ctl_do("arena.0.reset"), EFAULT);
    CHECK_EQUAL(ctl_do("arena.0.destroy"), EFAULT);
}

/* 5.3.1 reads past its table here; 5.3.0 says EFAULT, and so does hew. */
TEST(all_arenas_at_once_can_be_neither_reset_nor_destroyed)
{
    ssize_t decay = 0;
    UNDER_TEST_HEW_ALONE();
    CHECK_EQUAL(ctl_do("arena.4096.reset"), EFAULT);
    CHECK_EQUAL(ctl_do("arena.4096.destroy"), EFAULT);
    CHECK_EQUAL(ctl_read("arena.4096.dirty_decay_ms", &decay, sizeof decay), EFAULT);
    CHECK_EQUAL(ctl_read("arena.4096.muzzy_decay_ms", &decay, sizeof decay), EFAULT);
}

TEST(a_new_arena_is_counted_and_serves_only_those_who_ask)
{
    unsigned before = ctl_unsigned("arenas.narenas"), arena = ctl_new_arena(), owner = 0;
    size_t length = sizeof owner;
    CHECK_EQUAL(arena, before);
    CHECK_EQUAL(ctl_unsigned("arenas.narenas"), before + 1);
    void *objects[3] = {mallocx(100, MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE),
                        mallocx(100 << 10, MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE),
                        mallocx(10 << 20, MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE)};
    for (int i = 0; i < 3; i++) {
        length = sizeof owner;
        CHECK(objects[i] != NULL);
        CHECK_EQUAL(mallctl("arenas.lookup", &owner, &length, &objects[i], sizeof objects[i]), 0);
        CHECK_EQUAL(owner, arena);
        memset(objects[i], 1, 100);
        dallocx(objects[i], MALLOCX_TCACHE_NONE);
    }
    void *other = malloc(100);
    length = sizeof owner;
    CHECK_EQUAL(mallctl("arenas.lookup", &owner, &length, &other, sizeof other), 0);
    CHECK(owner != arena);
    free(other);
    CHECK_EQUAL(ctl_do(ctl_name("arena.%zu.destroy", arena)), 0);
}

TEST(a_pointer_of_nobody_has_no_arena)
{
    int here = 0;
    void *stack = &here, *nothing = NULL;
    unsigned owner = 77;
    size_t length = sizeof owner;
    CHECK_EQUAL(mallctl("arenas.lookup", &owner, &length, &stack, sizeof stack), EINVAL);
    CHECK_EQUAL(mallctl("arenas.lookup", &owner, &length, &nothing, sizeof nothing), EINVAL);
    CHECK_EQUAL(mallctl("arenas.lookup", &owner, &length, &stack, 4), EINVAL);
    CHECK_EQUAL(mallctl("arenas.lookup", &owner, &length, NULL, 0), EINVAL);
}

TEST(a_wrong_length_creates_nothing_and_is_set_to_0)
{
    unsigned before = ctl_unsigned("arenas.narenas");
    uint64_t index = 0;
    size_t length = 8;
    CHECK_EQUAL(mallctl("arenas.create", &index, &length, NULL, 0), EINVAL);
    CHECK_EQUAL(length, 0);
    length = 2;
    CHECK_EQUAL(mallctl("tcache.create", &index, &length, NULL, 0), EINVAL);
    CHECK_EQUAL(length, 0);
    CHECK_EQUAL(ctl_unsigned("arenas.narenas"), before);
}

/* Without a length 5.3.0 crashes. */
TEST(nothing_is_created_for_nobody)
{
    unsigned before = ctl_unsigned("arenas.narenas"), index = 0;
    UNDER_TEST_HEW_ALONE();
    CHECK_EQUAL(mallctl("arenas.create", &index, NULL, NULL, 0), EINVAL);
    CHECK_EQUAL(mallctl("arenas.create", NULL, NULL, NULL, 0), EINVAL);
    CHECK_EQUAL(mallctl("tcache.create", &index, NULL, NULL, 0), EINVAL);
    CHECK_EQUAL(mallctl("experimental.arenas_create_ext", NULL, NULL, NULL, 0), EINVAL);
    CHECK_EQUAL(ctl_unsigned("arenas.narenas"), before);
}

TEST(a_destroyed_arena_is_gone_and_its_index_comes_back)
{
    unsigned arena = ctl_new_arena();
    bool there = false;
    ctl_refresh();
    CHECK_EQUAL(ctl_read(ctl_name("arena.%zu.initialized", arena), &there, sizeof there), 0);
    CHECK(there);
    CHECK_EQUAL(ctl_do(ctl_name("arena.%zu.destroy", arena)), 0);
    CHECK_EQUAL(ctl_do(ctl_name("arena.%zu.destroy", arena)), EFAULT);
    CHECK_EQUAL(ctl_do(ctl_name("arena.%zu.reset", arena)), EFAULT);
    ctl_refresh();
    CHECK(ctl_size("stats.arenas.4097.pactive") != SIZE_MAX);
    CHECK_EQUAL(ctl_new_arena(), arena);
    CHECK_EQUAL(ctl_do(ctl_name("arena.%zu.destroy", arena)), 0);
}

TEST(a_reset_frees_everything_in_the_arena)
{
    unsigned arena = ctl_new_arena();
    int flags = MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE;
    for (int i = 0; i < 1000; i++) {
        void *object = mallocx((size_t)i * 64 + 1, flags);
        CHECK(object != NULL);
        memset(object, i, (size_t)i * 64 + 1);
    }
    ctl_refresh();
    size_t small = ctl_size(ctl_name("stats.arenas.%zu.small.allocated", arena));
    size_t large = ctl_size(ctl_name("stats.arenas.%zu.large.allocated", arena));
    CHECK(small + large > (size_t)1000 * 999 / 2 * 64 && small + large != SIZE_MAX);
    CHECK_EQUAL(ctl_do(ctl_name("arena.%zu.reset", arena)), 0);
    ctl_refresh();
    CHECK_EQUAL(ctl_size(ctl_name("stats.arenas.%zu.small.allocated", arena)), 0);
    CHECK_EQUAL(ctl_size(ctl_name("stats.arenas.%zu.large.allocated", arena)), 0);
    CHECK_EQUAL(ctl_size(ctl_name("stats.arenas.%zu.pactive", arena)), 0);
    void *object = mallocx(100, flags);
    CHECK(object != NULL);
    CHECK_EQUAL(ctl_do(ctl_name("arena.%zu.destroy", arena)), 0);
}

TEST(an_arena_that_a_thread_is_bound_to_cannot_be_destroyed)
{
    unsigned arena = ctl_new_arena(), before = 0;
    size_t length = sizeof before;
    CHECK_EQUAL(mallctl("thread.arena", &before, &length, &arena, sizeof arena), 0);
    CHECK_EQUAL(ctl_unsigned("thread.arena"), arena);
    CHECK_EQUAL(ctl_do(ctl_name("arena.%zu.destroy", arena)), EFAULT);
    CHECK_EQUAL(ctl_write("thread.arena", &before, sizeof before), 0);
    CHECK_EQUAL(ctl_do("thread.tcache.flush"), 0);
    CHECK_EQUAL(ctl_do(ctl_name("arena.%zu.destroy", arena)), 0);
}

TEST(a_thread_cannot_be_bound_to_an_arena_out_of_range)
{
    unsigned before = ctl_unsigned("thread.arena"),
             wrong[] = {ctl_unsigned("arenas.narenas"), 4096, 4097, 100000, UINT32_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK_EQUAL(ctl_write("thread.arena", &wrong[i], sizeof wrong[i]), EFAULT);
        CHECK_EQUAL(ctl_unsigned("thread.arena"), before);
    }
}

TEST(a_decay_time_is_at_least_minus_one)
{
    ssize_t before = 0, wrong = -2, never = -1, now = 0;
    CHECK_EQUAL(ctl_read("arena.0.dirty_decay_ms", &before, sizeof before), 0);
    CHECK_EQUAL(ctl_write("arena.0.dirty_decay_ms", &wrong, sizeof wrong), EFAULT);
    CHECK_EQUAL(ctl_write("arenas.dirty_decay_ms", &wrong, sizeof wrong), EFAULT);
    CHECK_EQUAL(ctl_write("arenas.muzzy_decay_ms", &wrong, sizeof wrong), EFAULT);
    CHECK_EQUAL(ctl_write("arena.0.dirty_decay_ms", &never, sizeof never), 0);
    CHECK_EQUAL(ctl_read("arena.0.dirty_decay_ms", &now, sizeof now), 0);
    CHECK(now == -1);
    CHECK_EQUAL(ctl_write("arena.0.dirty_decay_ms", &before, sizeof before), 0);
}

TEST(later_arenas_begin_with_the_decay_time_that_was_set)
{
    ssize_t before = 0, wanted = 1234, got = 0;
    CHECK_EQUAL(ctl_read("arenas.dirty_decay_ms", &before, sizeof before), 0);
    CHECK_EQUAL(ctl_write("arenas.dirty_decay_ms", &wanted, sizeof wanted), 0);
    unsigned arena = ctl_new_arena();
    CHECK_EQUAL(ctl_read(ctl_name("arena.%zu.dirty_decay_ms", arena), &got, sizeof got), 0);
    CHECK_EQUAL(got, wanted);
    CHECK_EQUAL(ctl_write("arenas.dirty_decay_ms", &before, sizeof before), 0);
    CHECK_EQUAL(ctl_do(ctl_name("arena.%zu.destroy", arena)), 0);
}

TEST(a_purge_leaves_no_dirty_page)
{
    unsigned arena = ctl_new_arena();
    int flags = MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE;
    void *object = mallocx(4 << 20, flags);
    memset(object, 1, 4 << 20);
    dallocx(object, MALLOCX_TCACHE_NONE);
    ctl_refresh();
    CHECK(ctl_size(ctl_name("stats.arenas.%zu.pdirty", arena)) >= 1024);
    CHECK_EQUAL(ctl_do(ctl_name("arena.%zu.purge", arena)), 0);
    ctl_refresh();
    CHECK_EQUAL(ctl_size(ctl_name("stats.arenas.%zu.pdirty", arena)), 0);
    CHECK_EQUAL(ctl_size(ctl_name("stats.arenas.%zu.pmuzzy", arena)), 0);
    CHECK_EQUAL(ctl_size(ctl_name("stats.arenas.%zu.pactive", arena)), 0);
    CHECK_EQUAL(ctl_do(ctl_name("arena.%zu.destroy", arena)), 0);
}

/* 5.3.0 has no names. */
TEST(an_arena_has_a_name)
{
    char text[64] = "?", *place = text, *wanted = (char *)(uintptr_t)"cold data";
    size_t length = sizeof place;
    CHECK_EQUAL(mallctl("arena.0.name", &place, &length, NULL, 0), 0);
    CHECK_TEXT(text, "auto_0");
    unsigned arena = ctl_new_arena();
    CHECK_EQUAL(mallctl(ctl_name("arena.%zu.name", arena), &place, &length, NULL, 0), 0);
    CHECK_TEXT(text, ctl_name("manual_%zu", arena));
    CHECK_EQUAL(ctl_write(ctl_name("arena.%zu.name", arena), &wanted, sizeof wanted), 0);
    CHECK_EQUAL(mallctl(ctl_name("arena.%zu.name", arena), &place, &length, NULL, 0), 0);
    CHECK_TEXT(text, "cold data");
    wanted = (char *)(uintptr_t)"0123456789012345678901234567890123456789";
    int status = ctl_write(ctl_name("arena.%zu.name", arena), &wanted, sizeof wanted);
    CHECK(status == 0 || status == EINVAL);
    CHECK_EQUAL(mallctl(ctl_name("arena.%zu.name", arena), &place, &length, NULL, 0), 0);
    CHECK(strlen(text) <= 31);
    CHECK_EQUAL(ctl_do(ctl_name("arena.%zu.destroy", arena)), 0);
}

TEST(dss_is_one_of_three_words)
{
    const char *word = NULL, *wrong = "sometimes", *off = "disabled";
    CHECK_EQUAL(ctl_read("arena.0.dss", &word, sizeof word), 0);
    CHECK(word != NULL && (strcmp(word, "secondary") == 0 || strcmp(word, "disabled") == 0));
    CHECK_EQUAL(ctl_write("arena.0.dss", &wrong, sizeof wrong), EINVAL);
    CHECK_EQUAL(ctl_write("arena.0.dss", &off, sizeof off), 0);
    CHECK_EQUAL(ctl_read("arena.0.dss", &word, sizeof word), 0);
    CHECK_TEXT(word, "disabled");
}

/* An object of every small class, freed again: the arena has no object, and each bin perhaps a slab. */
static unsigned
arena_that_was_used(void)
{
    unsigned arena = ctl_new_arena(), bins = ctl_unsigned("arenas.nbins");
    for (unsigned bin = 0; bin < bins; bin++) {
        void *object =
            mallocx(ctl_size(ctl_name("arenas.bin.%zu.size", bin)), MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE);
        CHECK(object != NULL);
        dallocx(object, MALLOCX_TCACHE_NONE);
    }
    return arena;
}

TEST(a_purge_takes_the_slabs_that_hold_no_object)
{
    unsigned arena = arena_that_was_used();
    CHECK_EQUAL(ctl_do(ctl_name("arena.%zu.purge", arena)), 0);
    ctl_refresh();
    CHECK_EQUAL(ctl_size(ctl_name("stats.arenas.%zu.pactive", arena)), 0);
    CHECK_EQUAL(ctl_size(ctl_name("stats.arenas.%zu.pdirty", arena)), 0);
    void *object = mallocx(100, MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE);
    CHECK(object != NULL);
    memset(object, 1, 100);
    CHECK_EQUAL(ctl_do(ctl_name("arena.%zu.purge", arena)), 0);
    CHECK_EQUAL(*(unsigned char *)object, 1);
    dallocx(object, MALLOCX_TCACHE_NONE);
    CHECK_EQUAL(ctl_do("arena.4096.purge"), 0);
    ctl_refresh();
    CHECK_EQUAL(ctl_size(ctl_name("stats.arenas.%zu.pactive", arena)), 0);
    CHECK_EQUAL(ctl_do(ctl_name("arena.%zu.destroy", arena)), 0);
}

TEST(decay_makes_idle_pages_of_slabs_that_hold_no_object)
{
    unsigned arena = arena_that_was_used();
    CHECK_EQUAL(ctl_do(ctl_name("arena.%zu.decay", arena)), 0);
    ctl_refresh();
    CHECK_EQUAL(ctl_size(ctl_name("stats.arenas.%zu.pactive", arena)), 0);
    CHECK(ctl_size(ctl_name("stats.arenas.%zu.pdirty", arena)) > 0);
    CHECK_EQUAL(ctl_do(ctl_name("arena.%zu.destroy", arena)), 0);
}

TEST(a_decay_time_of_nothing_takes_them_at_once)
{
    unsigned arena = arena_that_was_used();
    ssize_t at_once = 0;
    CHECK_EQUAL(ctl_write(ctl_name("arena.%zu.muzzy_decay_ms", arena), &at_once, sizeof at_once), 0);
    CHECK_EQUAL(ctl_write(ctl_name("arena.%zu.dirty_decay_ms", arena), &at_once, sizeof at_once), 0);
    ctl_refresh();
    CHECK_EQUAL(ctl_size(ctl_name("stats.arenas.%zu.pactive", arena)), 0);
    CHECK_EQUAL(ctl_size(ctl_name("stats.arenas.%zu.pdirty", arena)), 0);
    CHECK_EQUAL(ctl_do(ctl_name("arena.%zu.destroy", arena)), 0);
}

TEST(memory_of_the_oversize_threshold_is_not_kept_by_an_arena_that_a_program_made)
{
    size_t wanted = 1 << 20, before = 0, length = sizeof before, none = SIZE_MAX;
    unsigned arena = ctl_new_arena();
    int flags = MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE;
    CHECK_EQUAL(mallctl(ctl_name("arena.%zu.oversize_threshold", arena), &before, &length, &wanted, sizeof wanted), 0);
    void *kept = mallocx(512 << 10, flags), *between = mallocx(4096, flags), *oversize = mallocx(2 << 20, flags);
    unsigned owner = 0;
    length = sizeof owner;
    CHECK_EQUAL(mallctl("arenas.lookup", &owner, &length, &oversize, sizeof oversize), 0);
    CHECK_EQUAL(owner, arena);
    memset(kept, 1, 512 << 10);
    memset(oversize, 1, 2 << 20);
    dallocx(kept, MALLOCX_TCACHE_NONE);
    dallocx(oversize, MALLOCX_TCACHE_NONE);
    ctl_refresh();
    CHECK_EQUAL(ctl_size(ctl_name("stats.arenas.%zu.pdirty", arena)), 128);
    CHECK(ctl_size(ctl_name("stats.arenas.%zu.pactive", arena)) < 128); /* the slab of what lies between */
    CHECK_EQUAL(ctl_write(ctl_name("arena.%zu.oversize_threshold", arena), &none, sizeof none), 0);
    oversize = mallocx(2 << 20, flags);
    dallocx(oversize, MALLOCX_TCACHE_NONE);
    ctl_refresh();
    CHECK(ctl_size(ctl_name("stats.arenas.%zu.pdirty", arena)) >=
          512); /* it may have got the pages of what was dirty */
    dallocx(between, MALLOCX_TCACHE_NONE);
    CHECK_EQUAL(ctl_do(ctl_name("arena.%zu.destroy", arena)), 0);
}
