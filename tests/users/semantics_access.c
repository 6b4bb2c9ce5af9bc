/* SPDX-License-Identifier: MIT */
/*
 * mallctl's manners: names, MIBs, lengths, permissions.  Every expectation is what jemalloc 5.3.1 was seen to do, unless
 * the comment says that hew decided otherwise; such a check fails under jemalloc, and that is how the difference shows.
 */
#include "jemalloc_calls.h"
#include "preload/under_test.h"
#include "unit/test.h"

TEST(a_read_of_the_right_length_gives_the_value_and_keeps_the_length)
{
    size_t page = 0, length = sizeof page;
    CHECK_EQUAL(mallctl("arenas.page", &page, &length, NULL, 0), 0);
    CHECK_EQUAL(page, 4096);
    CHECK_EQUAL(length, sizeof page);
}

TEST(a_read_that_is_too_short_copies_what_fits_and_says_einval)
{
    unsigned char value[8];
    memset(value, 0xee, sizeof value);
    size_t length = 3;
    CHECK_EQUAL(mallctl("arenas.page", value, &length, NULL, 0), EINVAL);
    CHECK_EQUAL(length, 3);
    CHECK(value[0] == 0 && value[1] == 0x10 && value[2] == 0 && value[3] == 0xee);
}

TEST(a_read_that_is_too_long_copies_the_value_and_says_einval)
{
    unsigned char value[16];
    memset(value, 0xee, sizeof value);
    size_t length = sizeof value;
    CHECK_EQUAL(mallctl("arenas.page", value, &length, NULL, 0), EINVAL);
    CHECK_EQUAL(length, 8);
    CHECK(value[1] == 0x10 && value[8] == 0xee);
}

TEST(a_length_of_nothing_is_a_wrong_length)
{
    size_t page = 77, length = 0;
    CHECK_EQUAL(mallctl("arenas.page", &page, &length, NULL, 0), EINVAL);
    CHECK_EQUAL(length, 0);
    CHECK_EQUAL(page, 77);
}

TEST(without_a_place_or_a_length_nothing_is_read)
{
    size_t page = 77, length = sizeof page;
    CHECK_EQUAL(mallctl("arenas.page", NULL, &length, NULL, 0), 0);
    CHECK_EQUAL(mallctl("arenas.page", &page, NULL, NULL, 0), 0);
    CHECK_EQUAL(mallctl("arenas.page", NULL, NULL, NULL, 0), 0);
    CHECK_EQUAL(page, 77);
}

TEST(a_write_of_the_wrong_length_changes_nothing)
{
    ssize_t before = 0, after = 0, wanted = 4321;
    CHECK_EQUAL(ctl_read("arenas.dirty_decay_ms", &before, sizeof before), 0);
    CHECK_EQUAL(ctl_write("arenas.dirty_decay_ms", &wanted, 4), EINVAL);
    CHECK_EQUAL(ctl_write("arenas.dirty_decay_ms", &wanted, 9), EINVAL);
    CHECK_EQUAL(ctl_write("arenas.dirty_decay_ms", &wanted, 0), EINVAL);
    CHECK_EQUAL(ctl_read("arenas.dirty_decay_ms", &after, sizeof after), 0);
    CHECK_EQUAL(before, after);
}

TEST(a_write_gives_the_old_value_in_the_same_call)
{
    ssize_t first = 0, old = 0, wanted = 4321;
    size_t length = sizeof old;
    CHECK_EQUAL(ctl_read("arenas.dirty_decay_ms", &first, sizeof first), 0);
    CHECK_EQUAL(mallctl("arenas.dirty_decay_ms", &old, &length, &wanted, sizeof wanted), 0);
    CHECK_EQUAL(old, first);
    CHECK_EQUAL(mallctl("arenas.dirty_decay_ms", &old, &length, &first, sizeof first), 0);
    CHECK_EQUAL(old, 4321);
}

TEST(names_that_are_not_there_are_enoent)
{
    static const char *const names[] = {"",
                                        ".",
                                        "arenas",
                                        "arenas.",
                                        "arenas.page.",
                                        "arenas.page.x",
                                        "arenas..page",
                                        "Arenas.page",
                                        " arenas.page",
                                        "arenas.page ",
                                        "opt.",
                                        "opt.no_such",
                                        "stats.arenas.0",
                                        "stats.arenas.0.bins.0",
                                        "stats.background_thread.run_intervals",
                                        "stats.arenas.0.small.resident",
                                        "arena.x.purge",
                                        "arena.-1.purge",
                                        "arena..purge",
                                        "arena.0",
                                        "arena.0.",
                                        "arena.0.no_such",
                                        "arena.99999999999999999999.purge",
                                        "thread",
                                        "version.",
                                        "stats.arenas.0.bins.64.nmalloc",
                                        "arenas.bin.64.size",
                                        "arenas.lextent.196.size",
                                        "arena.0.0"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        uint64_t value[2];
        size_t length = sizeof *value;
        int status = mallctl(names[i], value, &length, NULL, 0);
        if (status != ENOENT) {
            printf("# \"%s\" gave %d\n", names[i], status);
        }
        CHECK_EQUAL(status, ENOENT);
        CHECK_EQUAL(length, sizeof *value);
    }
}

TEST(a_very_long_name_is_enoent)
{
    static char name[1 << 16];
    memset(name, 'a', sizeof name - 1);
    CHECK_EQUAL(ctl_do(name), ENOENT);
    for (size_t i = 0; i < sizeof name - 1; i += 2) {
        name[i + 1] = '.';
    }
    CHECK_EQUAL(ctl_do(name), ENOENT);
    memcpy(name, "arenas.bin.", 11);
    memset(name + 11, '1', sizeof name - 12);
    CHECK_EQUAL(ctl_do(name), ENOENT);
}

TEST(what_may_not_be_written_or_read_is_eperm)
{
    size_t value = 4096, length = sizeof value;
    unsigned cache = 0;
    CHECK_EQUAL(ctl_write("arenas.page", &value, sizeof value), EPERM);
    CHECK_EQUAL(ctl_write("version", &value, sizeof value), EPERM);
    CHECK_EQUAL(ctl_write("stats.allocated", &value, sizeof value), EPERM);
    CHECK_EQUAL(ctl_write("opt.narenas", &value, sizeof value), EPERM);
    length = sizeof cache;
    CHECK_EQUAL(mallctl("tcache.flush", &cache, &length, NULL, 0), EPERM);
    length = sizeof value;
    CHECK_EQUAL(mallctl("thread.tcache.flush", &value, &length, NULL, 0), EPERM);
    CHECK_EQUAL(ctl_write("thread.tcache.flush", &value, sizeof value), EPERM);
    CHECK_EQUAL(mallctl("arena.0.purge", &value, &length, NULL, 0), EPERM);
    CHECK_EQUAL(ctl_write("arena.0.purge", &value, sizeof value), EPERM);
    CHECK_EQUAL(ctl_write("arena.0.decay", &value, sizeof value), EPERM);
}

TEST(a_read_that_is_refused_leaves_the_place_alone)
{
    size_t value = 77, length = sizeof value, written = 5;
    CHECK_EQUAL(mallctl("arenas.page", &value, &length, &written, sizeof written), EPERM);
    CHECK_EQUAL(value, 77);
}

TEST(a_mib_reads_what_the_name_reads)
{
    size_t mib[4] = {0}, depth = 4, value = 0, length = sizeof value;
    CHECK_EQUAL(mallctlnametomib("arenas.bin.0.size", mib, &depth), 0);
    CHECK_EQUAL(depth, 4);
    CHECK_EQUAL(mib[2], 0);
    unsigned bins = ctl_unsigned("arenas.nbins");
    for (size_t bin = 0; bin < bins; bin++) {
        mib[2] = bin;
        length = sizeof value;
        CHECK_EQUAL(mallctlbymib(mib, depth, &value, &length, NULL, 0), 0);
        CHECK_EQUAL(value, ctl_size(ctl_name("arenas.bin.%zu.size", bin)));
    }
    mib[2] = bins;
    CHECK_EQUAL(mallctlbymib(mib, depth, &value, &length, NULL, 0), ENOENT);
    mib[2] = SIZE_MAX;
    CHECK_EQUAL(mallctlbymib(mib, depth, &value, &length, NULL, 0), ENOENT);
}

TEST(a_short_mib_array_is_filled_as_far_as_it_goes)
{
    size_t mib[4] = {SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX}, depth = 2;
    CHECK_EQUAL(mallctlnametomib("arenas.bin.0.size", mib, &depth), 0);
    CHECK_EQUAL(depth, 2);
    CHECK(mib[0] != SIZE_MAX && mib[1] != SIZE_MAX && mib[2] == SIZE_MAX);
}

TEST(a_partial_name_is_a_prefix_for_mibs)
{
    size_t mib[8], depth = 8, value = 0, length = sizeof value;
    CHECK_EQUAL(mallctlnametomib("arenas.bin", mib, &depth), 0);
    CHECK_EQUAL(depth, 2);
    CHECK_EQUAL(mallctlbymib(mib, depth, &value, &length, NULL, 0), ENOENT);
    depth = 8;
    CHECK_EQUAL(mallctlnametomib("stats.arenas.0", mib, &depth), 0);
    CHECK_EQUAL(depth, 3);
}

TEST(a_name_without_a_mib_leaves_the_depth_alone)
{
    size_t mib[8], depth = 8;
    CHECK_EQUAL(mallctlnametomib("arenas.no_such", mib, &depth), ENOENT);
    CHECK_EQUAL(depth, 8);
    CHECK_EQUAL(mallctlnametomib("", mib, &depth), ENOENT);
    CHECK_EQUAL(depth, 8);
}

TEST(a_mib_that_leads_nowhere_is_enoent)
{
    size_t mib[8] = {0}, depth = 8, value = 0, length = sizeof value;
    CHECK_EQUAL(mallctlnametomib("arenas.page", mib, &depth), 0);
    CHECK_EQUAL(mallctlbymib(mib, 1, &value, &length, NULL, 0), ENOENT);
    mib[1] = 100000;
    CHECK_EQUAL(mallctlbymib(mib, 2, &value, &length, NULL, 0), ENOENT);
    mib[0] = SIZE_MAX;
    CHECK_EQUAL(mallctlbymib(mib, 2, &value, &length, NULL, 0), ENOENT);
}

/* Both end jemalloc. */
TEST(a_mib_of_no_depth_or_below_a_leaf_is_enoent)
{
    size_t mib[8] = {0}, depth = 8, value = 0, length = sizeof value;
    UNDER_TEST_HEW_ALONE();
    CHECK_EQUAL(mallctlbymib(mib, 0, &value, &length, NULL, 0), ENOENT);
    CHECK_EQUAL(mallctlnametomib("arenas.page", mib, &depth), 0);
    CHECK_EQUAL(mallctlbymib(mib, 3, &value, &length, NULL, 0), ENOENT);
    CHECK_EQUAL(mallctlbymib(mib, SIZE_MAX, &value, &length, NULL, 0), ENOENT);
}

TEST(the_version_says_5_3_1_first)
{
    const char *version = NULL;
    CHECK_EQUAL(ctl_read("version", &version, sizeof version), 0);
    CHECK(version != NULL && strncmp(version, "5.3.1", 5) == 0);
    unsigned major = 0, minor = 0, bugfix = 0, revision = 0;
    char id[64] = "";
    CHECK_EQUAL(version == NULL ? 0 : sscanf(version, "%u.%u.%u-%u-g%63s", &major, &minor, &bugfix, &revision, id), 5);
}

TEST(settings_that_were_not_given_have_no_text)
{
    const char *text = NULL;
    CHECK_EQUAL(ctl_read("opt.malloc_conf.global_var", &text, sizeof text), ENOENT);
    CHECK_EQUAL(ctl_read("opt.malloc_conf.global_var_2_conf_harder", &text, sizeof text), ENOENT);
    CHECK_EQUAL(ctl_read("opt.malloc_conf.symlink", &text, sizeof text), ENOENT);
    int expected = getenv("MALLOC_CONF") == NULL ? ENOENT : 0;
    CHECK_EQUAL(ctl_read("opt.malloc_conf.env_var", &text, sizeof text), expected);
}

TEST(an_epoch_that_is_written_moves_by_one)
{
    uint64_t before = ctl_u64("epoch"), after = 0, any = 12345;
    size_t length = sizeof after;
    CHECK_EQUAL(mallctl("epoch", &after, &length, &any, sizeof any), 0);
    CHECK_EQUAL(after, before + 1);
    CHECK_EQUAL(ctl_u64("epoch"), after);
    CHECK_EQUAL(ctl_write("epoch", &any, 4), EINVAL);
    CHECK_EQUAL(ctl_u64("epoch"), after);
}

TEST(errno_is_not_the_channel)
{
    errno = 77;
    (void)ctl_do("no.such");
    (void)ctl_size("arenas.page");
    CHECK_EQUAL(errno, 77);
}

TEST(statistics_stand_still_between_epochs)
{
    ctl_refresh();
    size_t before = ctl_size("stats.allocated");
    void *object = malloc(3 << 20);
    CHECK(object != NULL);
    CHECK_EQUAL(ctl_size("stats.allocated"), before);
    ctl_refresh();
    CHECK(ctl_size("stats.allocated") >= before + (3 << 20));
    free(object);
}

TEST(a_realloc_to_nothing_is_counted_at_once)
{
    ctl_refresh();
    size_t before = ctl_size("stats.zero_reallocs");
    void *object = malloc(100);
    void *volatile nothing = realloc(object, 0);
    CHECK_EQUAL(ctl_size("stats.zero_reallocs"), before + 1);
    free(nothing);
}

/* A value that is refused for what it is: the place for the old one is as it was, and so is the setting. */
static void
refuse(const char *name, const void *wrong, size_t size)
{
    unsigned char place[8], now[8], later[8];
    size_t length = size;
    memset(place, 0x5a, sizeof place);
    CHECK_EQUAL(ctl_read(name, now, size), 0);
    int status = mallctl(name, place, &length, (void *)(uintptr_t)wrong, size);
    if (status == 0 || place[0] != 0x5a || place[size - 1] != 0x5a) {
        printf("# %s gave %d\n", name, status);
    }
    CHECK(status != 0);
    CHECK(place[0] == 0x5a && place[size - 1] == 0x5a);
    CHECK_EQUAL(ctl_read(name, later, size), 0);
    CHECK(memcmp(now, later, size) == 0);
}

/* jemalloc has handed out the old value by then. */
TEST(a_value_that_is_refused_leaves_the_place_for_the_old_one_alone)
{
    ssize_t below = -2;
    size_t most = SIZE_MAX, few = 100;
    unsigned no_arena = 100000;
    const char *word = "sometimes";
    bool on = true, profiles = false;
    CHECK_EQUAL(ctl_read("opt.prof", &profiles, sizeof profiles), 0);
    if (!profiles) {
        refuse("prof.active", &on, sizeof on);
        refuse("prof.thread_active_init", &on, sizeof on);
        refuse("prof.gdump", &on, sizeof on);
        refuse("thread.prof.active", &on, sizeof on);
    }
    UNDER_TEST_HEW_ALONE();
    refuse("thread.arena", &no_arena, sizeof no_arena);
    refuse("arena.0.dirty_decay_ms", &below, sizeof below);
    refuse("arena.0.muzzy_decay_ms", &below, sizeof below);
    refuse("arenas.dirty_decay_ms", &below, sizeof below);
    refuse("arenas.muzzy_decay_ms", &below, sizeof below);
    refuse("arena.0.retain_grow_limit", &few, sizeof few);
    refuse("arena.0.dss", &word, sizeof word);
    refuse("max_background_threads", &most, sizeof most);
}
