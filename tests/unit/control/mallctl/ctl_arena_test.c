/* SPDX-License-Identifier: MIT */
/* ctl_arena: what programs do with arenas: make, set, purge, reset and destroy them. */
#include "ctl_calls.h"
#include "layers_alloc.h"
#include "slab/arena_life.h"
#include "test.h"

#define ARENAS 4

static void
boot_once(void)
{
    if (hew_small_end == 0) {
        CHECK(layers_boot());
        hew_options.narenas = ARENAS;
        CHECK(hew_alloc_own_cache() != NULL);
    }
}

static const char *
leaf_of(unsigned index, const char *leaf)
{
    static char name[64];
    snprintf(name, sizeof name, "arena.%u.%s", index, leaf);
    return name;
}

static unsigned
count(void)
{
    unsigned arenas = 0;
    CHECK_EQUAL(ctl_read("arenas.narenas", &arenas, sizeof arenas), 0);
    return arenas;
}

static unsigned
create(void)
{
    unsigned index = 0xffff;
    CHECK_EQUAL(ctl_read("arenas.create", &index, sizeof index), 0);
    return index;
}

static size_t
dirty(unsigned index)
{
    return hew_page_counts(hew_arena_at(index)->pages.heap).dirty;
}

static void
leave_dirty(unsigned index)
{
    struct hew_extent *extent = hew_large_take(hew_arena_at(index), 1 << 20, HEW_PAGE, HEW_CODE_SLOW);
    CHECK(extent != NULL);
    hew_large_give(extent);
    CHECK(dirty(index) >= 1 << 20);
}

TEST(purge_returns_the_pages_of_one_arena_or_of_all)
{
    boot_once();
    unsigned first = create(), second = create();
    leave_dirty(first);
    leave_dirty(second);
    CHECK_EQUAL(ctl_do(leaf_of(first, "purge")), 0);
    CHECK(dirty(first) == 0 && dirty(second) != 0);
    leave_dirty(first);
    CHECK_EQUAL(ctl_do(leaf_of(count(), "purge")), 0);
    CHECK(dirty(first) == 0 && dirty(second) == 0);
    leave_dirty(second);
    CHECK_EQUAL(ctl_do("arena.4096.purge"), 0);
    CHECK_EQUAL(dirty(second), 0);
    leave_dirty(second);
    CHECK_EQUAL(ctl_do("arena.4096.decay"), 0);
    CHECK_EQUAL(ctl_do("arena.4097.purge"), 0);
    CHECK(dirty(second) != 0);
    CHECK_EQUAL(ctl_do(leaf_of(first, "destroy")), 0);
    CHECK_EQUAL(ctl_do(leaf_of(second, "destroy")), 0);
}

TEST(an_index_beyond_the_number_of_arenas_is_unknown)
{
    boot_once();
    CHECK_EQUAL(ctl_do(leaf_of(count() + 1, "purge")), ENOENT);
    CHECK_EQUAL(ctl_do("arena.4098.purge"), ENOENT);
    CHECK_EQUAL(ctl_do("arena.4095.purge"), ENOENT);
    CHECK_EQUAL(ctl_do("arena.18446744073709551615.purge"), ENOENT);
}

TEST(an_arena_that_nobody_uses_yet_has_nothing_to_set_and_is_not_made_by_asking)
{
    boot_once();
    unsigned last = ARENAS - 1;
    bool initialized = true;
    int64_t decay = 5;
    size_t bytes = 0;
    const char *dss = "primary";
    struct hew_extent_hooks *hooks = NULL;
    CHECK_EQUAL(ctl_read(leaf_of(last, "initialized"), &initialized, 1), 0);
    CHECK(!initialized);
    CHECK_EQUAL(ctl_do(leaf_of(last, "purge")), 0);
    CHECK_EQUAL(ctl_do(leaf_of(last, "reset")), EFAULT);
    CHECK_EQUAL(ctl_do(leaf_of(last, "destroy")), EFAULT);
    CHECK_EQUAL(ctl_read(leaf_of(last, "dirty_decay_ms"), &decay, 8), EFAULT);
    CHECK_EQUAL(ctl_write(leaf_of(last, "muzzy_decay_ms"), &decay, 8), EFAULT);
    CHECK_EQUAL(ctl_read(leaf_of(last, "oversize_threshold"), &bytes, 8), EFAULT);
    CHECK_EQUAL(ctl_read(leaf_of(last, "retain_grow_limit"), &bytes, 8), EFAULT);
    CHECK_EQUAL(ctl_write(leaf_of(last, "dss"), &dss, 8), EFAULT);
    CHECK_EQUAL(ctl_read(leaf_of(last, "extent_hooks"), &hooks, 8), 0);
    CHECK(hooks == &hew_hooks_default);
    CHECK(hew_arena_at(last) == NULL);
}

TEST(what_stands_for_several_arenas_has_no_settings_of_its_own)
{
    boot_once();
    static const char *const leaves[] = {"dirty_decay_ms",    "muzzy_decay_ms", "oversize_threshold",
                                         "retain_grow_limit", "extent_hooks",   "name"};
    const unsigned indices[] = {count(), 4096, 4097};
    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++) {
        for (size_t j = 0; j < 3; j++) {
            uint64_t value = 0;
            CHECK_EQUAL(ctl_read(leaf_of(indices[j], leaves[i]), &value, 8), EFAULT);
            CHECK_EQUAL(ctl_do(leaf_of(indices[j], "reset")), EFAULT);
            CHECK_EQUAL(ctl_do(leaf_of(indices[j], "destroy")), EFAULT);
        }
    }
    bool initialized = false;
    CHECK_EQUAL(ctl_read("arena.4096.initialized", &initialized, 1), 0);
    CHECK(initialized);
}

TEST(a_decay_time_is_set_for_one_arena_and_for_those_to_come)
{
    boot_once();
    int64_t before = 0, wanted = 4321, default_before = 0, too_low = -2, now = 0, never = -1;
    unsigned first = create();
    CHECK_EQUAL(ctl_read("arenas.dirty_decay_ms", &default_before, 8), 0);
    CHECK_EQUAL(ctl_exchange(leaf_of(first, "dirty_decay_ms"), &before, &wanted, 8), 0);
    CHECK_EQUAL(before, default_before);
    CHECK_EQUAL(ctl_write(leaf_of(first, "dirty_decay_ms"), &too_low, 8), EFAULT);
    CHECK_EQUAL(ctl_write(leaf_of(first, "dirty_decay_ms"), &wanted, 4), EINVAL);
    CHECK_EQUAL(ctl_read(leaf_of(first, "dirty_decay_ms"), &now, 8), 0);
    CHECK_EQUAL(now, 4321);
    CHECK_EQUAL(ctl_write("arenas.muzzy_decay_ms", &never, 8), 0);
    unsigned second = create();
    CHECK_EQUAL(ctl_read(leaf_of(second, "muzzy_decay_ms"), &now, 8), 0);
    CHECK_EQUAL(now, -1);
    CHECK_EQUAL(ctl_read(leaf_of(first, "muzzy_decay_ms"), &now, 8), 0);
    CHECK_EQUAL(now, hew_options.muzzy_decay_ms);
    CHECK_EQUAL(ctl_write("arenas.muzzy_decay_ms", &too_low, 8), EFAULT);
    CHECK_EQUAL(ctl_write("arenas.muzzy_decay_ms", &now, 8), 0);
    CHECK_EQUAL(ctl_do(leaf_of(first, "destroy")), 0);
    CHECK_EQUAL(ctl_do(leaf_of(second, "destroy")), 0);
}

TEST(dss_is_a_whole_word)
{
    boot_once();
    const char *before = "", *primary = "primary", *wrong[] = {"pri", "", "Primary", NULL};
    CHECK_EQUAL(ctl_exchange("arena.0.dss", &before, &primary, 8), 0);
    CHECK_TEXT(before, "secondary");
    for (unsigned i = 0; i < 4; i++) {
        CHECK_EQUAL(ctl_write("arena.0.dss", &wrong[i], 8), EINVAL);
    }
    CHECK_EQUAL(ctl_exchange("arena.0.dss", &before, &before, 8), 0);
    CHECK_TEXT(before, "primary");
    CHECK_EQUAL(ctl_read("arena.4096.dss", &before, 8), 0);
    CHECK_EQUAL(ctl_read(leaf_of(count(), "dss"), &before, 8), 0);
    CHECK_EQUAL(ctl_read("arena.4097.dss", &before, 8), EFAULT);
}

TEST(thresholds_and_limits_are_kept)
{
    boot_once();
    size_t before = 0, wanted = 123456789, small = 5, now = 0;
    CHECK_EQUAL(ctl_exchange("arena.0.oversize_threshold", &before, &wanted, 8), 0);
    CHECK_EQUAL(before, hew_options.oversize_threshold);
    CHECK_EQUAL(ctl_exchange("arena.0.oversize_threshold", &now, &before, 8), 0);
    CHECK_EQUAL(now, wanted);
    CHECK_EQUAL(ctl_write("arena.0.retain_grow_limit", &small, 8), EFAULT);
    CHECK_EQUAL(ctl_write("arena.0.retain_grow_limit", &wanted, 8), 0);
    CHECK_EQUAL(ctl_read("arena.0.retain_grow_limit", &now, 8), 0);
    CHECK(now <= wanted && now > wanted / 2);
    hew_options.retain = false;
    CHECK_EQUAL(ctl_read("arena.0.retain_grow_limit", &now, 8), ENOENT);
    hew_options.retain = true;
}

TEST(a_name_is_copied_to_where_the_reader_says)
{
    boot_once();
    char place[HEW_ARENA_NAME_BYTES] = "before", *to = place, *nowhere = NULL;
    const char *name = "of lists", *longer = "a name of more than thirty-one characters", *nothing = NULL;
    CHECK_EQUAL(ctl_write("arena.0.name", &name, sizeof name), 0);
    CHECK_EQUAL(ctl_read("arena.0.name", &to, sizeof to), 0);
    CHECK_TEXT(place, "of lists");
    CHECK_EQUAL(ctl_write("arena.0.name", &longer, sizeof longer), 0);
    CHECK_EQUAL(ctl_read("arena.0.name", &to, sizeof to), 0);
    CHECK(strlen(place) == HEW_ARENA_NAME_BYTES - 1 && strncmp(place, longer, HEW_ARENA_NAME_BYTES - 1) == 0);
    CHECK_EQUAL(ctl_read("arena.0.name", &nowhere, sizeof nowhere), EINVAL);
    CHECK_EQUAL(ctl_write("arena.0.name", &nothing, sizeof nothing), EINVAL);
    CHECK_EQUAL(ctl_read("arena.0.name", &to, 4), EINVAL);
}

TEST(automatic_arenas_are_neither_reset_nor_destroyed)
{
    boot_once();
    CHECK_EQUAL(ctl_do("arena.0.reset"), EFAULT);
    CHECK_EQUAL(ctl_do("arena.0.destroy"), EFAULT);
}

TEST(a_destroyed_arena_takes_nothing_and_its_number_comes_back)
{
    boot_once();
    unsigned before = count(), index = create();
    bool initialized = false;
    int64_t decay = 5;
    CHECK_EQUAL(ctl_do(leaf_of(index, "reset")), 0);
    CHECK_EQUAL(ctl_do(leaf_of(index, "destroy")), 0);
    CHECK_EQUAL(ctl_do(leaf_of(index, "destroy")), EFAULT);
    CHECK_EQUAL(ctl_do(leaf_of(index, "reset")), EFAULT);
    CHECK_EQUAL(ctl_do(leaf_of(index, "purge")), 0);
    CHECK_EQUAL(ctl_write(leaf_of(index, "dirty_decay_ms"), &decay, 8), EFAULT);
    CHECK_EQUAL(ctl_write("thread.arena", &index, sizeof index), EFAULT);
    CHECK_EQUAL(ctl_read(leaf_of(index, "initialized"), &initialized, 1), 0);
    CHECK(!initialized);
    CHECK_EQUAL(create(), index);
    CHECK(count() >= before && count() <= before + 1);
    CHECK_EQUAL(ctl_do(leaf_of(index, "destroy")), 0);
}

TEST(an_arena_with_a_thread_is_not_destroyed)
{
    boot_once();
    unsigned index = create(), home = 0;
    CHECK_EQUAL(ctl_exchange("thread.arena", &home, &index, sizeof index), 0);
    CHECK_EQUAL(ctl_do(leaf_of(index, "destroy")), EFAULT);
    CHECK_EQUAL(ctl_write("thread.arena", &home, sizeof home), 0);
    CHECK_EQUAL(ctl_do(leaf_of(index, "destroy")), 0);
}

TEST(no_arena_is_made_that_nobody_would_know_of_or_without_a_way_to_allocate)
{
    boot_once();
    unsigned before = count(), index = 7;
    uint64_t wide = 0;
    size_t length = sizeof wide;
    struct hew_extent_hooks *none = NULL, empty = {0}, *without = &empty;
    CHECK_EQUAL(hew_ctl_by_name("arenas.create", &wide, &length, NULL, 0), EINVAL);
    CHECK_EQUAL(length, 0);
    CHECK_EQUAL(ctl_do("arenas.create"), EINVAL);
    length = sizeof index;
    CHECK_EQUAL(hew_ctl_by_name("arenas.create", &index, &length, &none, sizeof none), EINVAL);
    CHECK_EQUAL(hew_ctl_by_name("arenas.create", &index, &length, &without, sizeof without), EINVAL);
    CHECK_EQUAL(hew_ctl_by_name("arenas.create", &index, &length, &without, 4), EINVAL);
    CHECK_EQUAL(ctl_write("arena.0.extent_hooks", &none, sizeof none), EINVAL);
    CHECK_EQUAL(ctl_write("arena.0.extent_hooks", &without, sizeof without), EINVAL);
    CHECK(index == 7 && count() == before);
}

static unsigned asked;
static int answer_inside;

/* A hook that asks mallctl itself, about its own arena. */
static void *
asking_alloc(struct hew_extent_hooks *hooks, void *new_address, size_t size, size_t alignment, bool *zero, bool *commit,
             unsigned arena)
{
    int64_t decay = 0;
    uint64_t epoch = 1;
    answer_inside = ctl_read(leaf_of(arena, "dirty_decay_ms"), &decay, sizeof decay);
    answer_inside |= ctl_write("epoch", &epoch, sizeof epoch);
    answer_inside |= ctl_do(leaf_of(4096, "decay"));
    CHECK_EQUAL(ctl_do(leaf_of(arena, "destroy")), EFAULT);
    asked++;
    return hew_hooks_default.alloc(hooks, new_address, size, alignment, zero, commit, arena);
}

TEST(mallctl_answers_inside_an_extent_hook)
{
    boot_once();
    static struct hew_extent_hooks hooks;
    hooks = hew_hooks_default;
    hooks.alloc = asking_alloc;
    struct hew_extent_hooks *table = &hooks, *now = NULL;
    unsigned index = 0;
    size_t length = sizeof index;
    CHECK_EQUAL(hew_ctl_by_name("arenas.create", &index, &length, &table, sizeof table), 0);
    CHECK_EQUAL(ctl_read(leaf_of(index, "extent_hooks"), &now, sizeof now), 0);
    CHECK(now == table);
    struct hew_extent *extent = hew_large_take(hew_arena_at(index), 1 << 20, HEW_PAGE, HEW_CODE_SLOW);
    CHECK(extent != NULL && asked > 0 && answer_inside == 0);
    CHECK_EQUAL(ctl_do(leaf_of(index, "destroy")), 0);
}

TEST(the_extended_form_of_create_takes_a_struct)
{
    boot_once();
    struct {
        struct hew_extent_hooks *hooks;
        bool metadata_use_hooks;
    } settings = {(struct hew_extent_hooks *)(uintptr_t)&hew_hooks_default, false};
    unsigned index = 0;
    size_t length = sizeof index;
    CHECK_EQUAL(hew_ctl_by_name("experimental.arenas_create_ext", &index, &length, &settings, sizeof settings), 0);
    CHECK_EQUAL(ctl_do(leaf_of(index, "destroy")), 0);
    CHECK_EQUAL(hew_ctl_by_name("experimental.arenas_create_ext", &index, &length, &settings, 8), EINVAL);
    settings.hooks = NULL;
    CHECK_EQUAL(hew_ctl_by_name("experimental.arenas_create_ext", &index, &length, &settings, sizeof settings), EINVAL);
}
