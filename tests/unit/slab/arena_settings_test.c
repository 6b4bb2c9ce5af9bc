/* SPDX-License-Identifier: MIT */
/* arena_settings: what is set for one arena, and for those that are made later.  Each test has a child of its own. */
#include "slab/arena_life.h"

#include "layers.h"
#include "test.h"

#include "fakes/child.h"

#include <time.h>

static struct hew_arena *
boot(void)
{
    CHECK(layers_boot());
    hew_options.narenas = 2;
    hew_options.dss = HEW_DSS_PRIMARY;
    hew_options.dirty_decay_ms = 1234;
    hew_options.muzzy_decay_ms = 77;
    return hew_arena_get(0);
}

static void
names(void)
{
    struct hew_arena *arena = boot();
    char name[HEW_ARENA_NAME_BYTES];
    hew_arena_set_name(arena, "a long name");
    hew_arena_set_name(arena, "short");
    hew_arena_get_name(arena, name);
    CHECK_TEXT(name, "short");
    CHECK_EQUAL(name[8], 0); /* nothing is left of the first one */
    char longest[2 * HEW_ARENA_NAME_BYTES];
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = 0;
    hew_arena_set_name(arena, longest);
    hew_arena_get_name(arena, name);
    CHECK_EQUAL(strlen(name), HEW_ARENA_NAME_BYTES - 1);
}

TEST(a_name_is_cut_to_its_room)
{
    CHECK_EQUAL(child_run(names).status, 0);
}

static void
defaults(void)
{
    struct hew_arena *first = boot();
    CHECK(hew_arena_dss(NULL) == HEW_DSS_PRIMARY && hew_arena_dss(first) == HEW_DSS_PRIMARY);
    CHECK(hew_arena_decay_ms(NULL, HEW_DECAY_DIRTY) == 1234 && hew_arena_decay_ms(NULL, HEW_DECAY_MUZZY) == 77);
    hew_arena_set_dss(NULL, HEW_DSS_DISABLED);
    hew_arena_set_decay_ms(NULL, HEW_DECAY_MUZZY, 88);
    CHECK(hew_arena_decay_ms(NULL, HEW_DECAY_DIRTY) == 1234 && hew_arena_decay_ms(NULL, HEW_DECAY_MUZZY) == 88);
    hew_arena_set_decay_ms(NULL, HEW_DECAY_DIRTY, 99);
    CHECK(hew_arena_decay_ms(NULL, HEW_DECAY_DIRTY) == 99 && hew_arena_decay_ms(NULL, HEW_DECAY_MUZZY) == 88);
    CHECK(hew_arena_dss(NULL) == HEW_DSS_DISABLED && hew_arena_dss(first) == HEW_DSS_PRIMARY);
    struct hew_arena *later = hew_arena_find((unsigned)hew_arena_create(NULL));
    CHECK(hew_arena_dss(later) == HEW_DSS_DISABLED);
    CHECK(hew_arena_decay_ms(later, HEW_DECAY_DIRTY) == 99 && hew_arena_decay_ms(later, HEW_DECAY_MUZZY) == 88);
    CHECK(hew_arena_decay_ms(first, HEW_DECAY_DIRTY) == 1234 && hew_arena_decay_ms(first, HEW_DECAY_MUZZY) == 77);
    hew_arena_set_dss(later, HEW_DSS_SECONDARY);
    CHECK(hew_arena_dss(later) == HEW_DSS_SECONDARY && hew_arena_dss(NULL) == HEW_DSS_DISABLED);
}

TEST(what_is_set_for_later_arenas_changes_none_that_there_is)
{
    CHECK_EQUAL(child_run(defaults).status, 0);
}

static void
thresholds(void)
{
    struct hew_arena *arena = boot();
    hew_arena_set_oversize_threshold(arena, 4096);
    CHECK_EQUAL(hew_arena_oversize_threshold(arena), 4096);
    hew_arena_set_oversize_threshold(arena, 1);
    CHECK_EQUAL(hew_arena_oversize_threshold(arena), 1);
    hew_arena_set_oversize_threshold(arena, 0); /* none */
    CHECK_EQUAL(hew_arena_oversize_threshold(arena), 0);
    CHECK_EQUAL(arena->oversize_threshold, SIZE_MAX);
}

TEST(no_threshold_is_told_as_0)
{
    CHECK_EQUAL(child_run(thresholds).status, 0);
}

/* Pages of the limit after it was set to so many bytes. */
static size_t
limit_of(struct hew_arena *arena, size_t bytes)
{
    CHECK(hew_arena_set_retain_grow_limit(arena, bytes));
    return hew_arena_retain_grow_limit(arena) / HEW_PAGE;
}

static void
limits(void)
{
    static const size_t floors[] = {1, 2, 3, 4, 5, 6, 7, 8, 8, 10, 10, 12, 12, 14, 14, 16, 16, 16, 16, 20};
    struct hew_arena *arena = boot();
    for (size_t i = 0; i < sizeof floors / sizeof floors[0]; i++) {
        CHECK_EQUAL(limit_of(arena, (i + 1) * HEW_PAGE), floors[i]);
        CHECK_EQUAL(limit_of(arena, (i + 1) * HEW_PAGE + HEW_PAGE - 1), floors[i]);
    }
    CHECK(!hew_arena_set_retain_grow_limit(arena, HEW_PAGE - 1));
    CHECK_EQUAL(hew_arena_retain_grow_limit(arena), 20 * HEW_PAGE);
    CHECK_EQUAL(limit_of(arena, SIZE_MAX), HEW_OPTION_CLASS_MAX / HEW_PAGE);
    CHECK_EQUAL(limit_of(arena, HEW_OPTION_CLASS_MAX), HEW_OPTION_CLASS_MAX / HEW_PAGE);
    CHECK(limit_of(arena, HEW_OPTION_CLASS_MAX - 1) < HEW_OPTION_CLASS_MAX / HEW_PAGE);
}

TEST(the_limit_of_growth_is_a_class_of_whole_pages_and_one_page_at_least)
{
    CHECK_EQUAL(child_run(limits).status, 0);
}

static void
hooks(void)
{
    struct hew_arena *arena = boot();
    struct hew_extent_hooks own = hew_hooks_default;
    CHECK(hew_arena_hooks(arena) == &hew_hooks_default);
    CHECK(hew_arena_set_hooks(arena, &own) == &hew_hooks_default);
    CHECK(hew_arena_hooks(arena) == &own);
}

TEST(the_table_of_hooks_is_the_default_one_until_there_is_another)
{
    CHECK_EQUAL(child_run(hooks).status, 0);
}

static void
age(void)
{
    struct hew_arena *arena = boot();
    uint64_t before = hew_arena_uptime_ns(arena);
    nanosleep(&(struct timespec){0, 2000000}, NULL);
    CHECK(hew_arena_uptime_ns(arena) >= before + 2000000);
    CHECK(before < UINT64_C(3600) * 1000000000);
}

TEST(an_arenas_age_is_counted_from_its_birth)
{
    CHECK_EQUAL(child_run(age).status, 0);
}
