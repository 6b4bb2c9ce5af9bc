/* SPDX-License-Identifier: MIT */
/*
 * Calls that no sane program makes.  hew answers each with an error, changes nothing, and works afterwards; jemalloc ends
 * in some of them, so without HEW_TEST_LIBRARY nothing here runs.
 */
#include "jemalloc_calls.h"
#include "preload/under_test.h"
#include "unit/test.h"

static const char *const parts[] = {"arena",
                                    "arenas",
                                    "stats",
                                    "opt",
                                    "prof",
                                    "thread",
                                    "tcache",
                                    "config",
                                    "version",
                                    "epoch",
                                    "experimental",
                                    "bin",
                                    "bins",
                                    "lextent",
                                    "lextents",
                                    "extents",
                                    "mutexes",
                                    "0",
                                    "1",
                                    "35",
                                    "36",
                                    "195",
                                    "196",
                                    "198",
                                    "199",
                                    "4095",
                                    "4096",
                                    "4097",
                                    "4098",
                                    "18446744073709551615",
                                    "18446744073709551616",
                                    "-1",
                                    "0x0",
                                    "00",
                                    "+1",
                                    " ",
                                    "",
                                    "purge",
                                    "decay",
                                    "name",
                                    "size",
                                    "nregs",
                                    "create",
                                    "lookup",
                                    "nmalloc",
                                    "small",
                                    "large",
                                    "allocated",
                                    "read",
                                    "write",
                                    "ncached_max",
                                    "read_sizeclass",
                                    "query",
                                    "batch_query",
                                    "hooks",
                                    "utilization",
                                    "dirty_decay_ms",
                                    "extent_hooks",
                                    "num_ops",
                                    "ctl",
                                    "live",
                                    "bins",
                                    "hpa_shard",
                                    "nonfull_slabs",
                                    "dss",
                                    "i",
                                    "<i>"};

/* Harmless with any value that fits: not reset, destroy, dump, the hooks, tcaches that may exist, nor what we need. */
static bool
may_be_called(const char *name)
{
    static const char *const never[] = {"destroy",
                                        "reset",
                                        "hooks",
                                        "dump",
                                        "prefix",
                                        "log_",
                                        "thread.arena",
                                        "enabled",
                                        "create",
                                        "background_thread",
                                        "batch_alloc",
                                        "tcache.",
                                        "oversize_threshold",
                                        "grow_limit"};
    for (size_t i = 0; i < sizeof never / sizeof *never; i++) {
        if (strstr(name, never[i]) != NULL) {
            return false;
        }
    }
    return true;
}

/* A read of arena.<i>.name goes where the pointer in the place says. */
static void
point_at_scratch(unsigned char *place)
{
    static char scratch[64];
    char *pointer = scratch;
    memcpy(place, &pointer, sizeof pointer);
}

/* One call with lengths and places at random; what stands around the places must stand there afterwards. */
static void
call_at_random(uint64_t *random, const char *name)
{
    static unsigned char frame[3][256], before[256];
    memset(frame, 0xd7, sizeof frame);
    point_at_scratch(frame[1]);
    memcpy(before, frame[1], sizeof before);
    static const size_t lengths[] = {0, 1, 2, 3, 4, 7, 8, 9, 16, 24, 47, 48, 49, 64, 200};
    size_t length = lengths[under_test_random(random) % 15], asked = length;
    size_t written = lengths[under_test_random(random) % 15];
    memset(frame[2], under_test_random(random) % 3 == 0 ? 0 : (int)under_test_random(random), 200);
    void *old = under_test_random(random) % 4 == 0 ? NULL : frame[1];
    void *new = under_test_random(random) % 4 != 0 ? NULL : frame[2];
    int status =
        mallctl(name, old, under_test_random(random) % 8 == 0 ? NULL : &length, new, new == NULL ? 0 : written);
    CHECK(status == 0 || status == ENOENT || status == EINVAL || status == EPERM || status == EFAULT ||
          status == EAGAIN);
    CHECK(length <= asked);
    CHECK(frame[0][255] == 0xd7 && memcmp(frame[1] + asked, before + asked, sizeof before - asked) == 0);
}

TEST(names_put_together_at_random_are_answered)
{
    UNDER_TEST_HEW_ALONE();
    uint64_t random = 1;
    for (int round = 0; round < 300000; round++) {
        char name[256] = "";
        size_t count = 1 + under_test_random(&random) % 6;
        for (size_t i = 0; i < count; i++) {
            strcat(name, i == 0 ? "" : ".");
            strcat(name, parts[under_test_random(&random) % (sizeof parts / sizeof *parts)]);
        }
        if (may_be_called(name)) {
            call_at_random(&random, name);
        }
    }
}

TEST(mibs_at_random_are_answered)
{
    UNDER_TEST_HEW_ALONE();
    uint64_t random = 2;
    int answered = 0;
    for (int round = 0; round < 1000000; round++) {
        size_t mib[10], depth = under_test_random(&random) % 9;
        for (size_t i = 0; i < 10; i++) {
            uint64_t chance = under_test_random(&random);
            mib[i] = chance % 16 == 0 ? chance : chance % 64 == 1 ? 4096 : (chance >> 8) % 40;
        }
        unsigned char place[64];
        memset(place, 0xd7, sizeof place);
        point_at_scratch(place);
        size_t length = 8;
        int status = mallctlbymib(mib, depth, place, &length, NULL, 0);
        answered += status == 0;
        CHECK(place[8] == 0xd7);
        CHECK(status == 0 || status == ENOENT || status == EINVAL || status == EPERM || status == EFAULT);
    }
    CHECK(answered > 0);
}

TEST(nothing_at_all_is_answered)
{
    UNDER_TEST_HEW_ALONE();
    size_t length = 8, mib[4] = {0}, depth = 4;
    CHECK(mallctl(NULL, NULL, NULL, NULL, 0) != 0);
    CHECK(mallctlnametomib(NULL, mib, &depth) != 0);
    CHECK(mallctlnametomib("version", NULL, &depth) != 0);
    CHECK(mallctlnametomib("version", mib, NULL) != 0);
    depth = 0;
    CHECK_EQUAL(mallctlnametomib("version", mib, &depth), 0);
    CHECK(mallctlbymib(NULL, 2, &length, &length, NULL, 0) != 0);
    CHECK(mallctlbymib(mib, 0, NULL, NULL, NULL, 0) != 0);
}

/* A written value of the right length from an odd address, and a read to one. */
TEST(places_need_no_alignment)
{
    UNDER_TEST_HEW_ALONE();
    unsigned char place[64] = {0}, value[64] = {0};
    size_t length = 8, page = 0;
    CHECK_EQUAL(mallctl("arenas.page", place + 1, &length, NULL, 0), 0);
    memcpy(&page, place + 1, 8);
    CHECK_EQUAL(page, 4096);
    ssize_t before = 0;
    CHECK_EQUAL(ctl_read("arenas.dirty_decay_ms", &before, 8), 0);
    memcpy(value + 3, &before, 8);
    CHECK_EQUAL(mallctl("arenas.dirty_decay_ms", NULL, NULL, value + 3, 8), 0);
    CHECK_EQUAL(mallctl("epoch", place + 5, &length, value + 7, 8), 0);
}

TEST(texts_that_are_no_texts_are_refused)
{
    UNDER_TEST_HEW_ALONE();
    const char
        *nothing = NULL,
        *empty = "",
        *wild[] = {
            "1-",     "-1:2",    "1-2:", "1-2:3|", "|", ":", "99999999999999999999-1:1", "1-18446744073709551615:65536",
            "8-8:-1", "1-64:4|x"};
    CHECK_EQUAL(ctl_write("arena.0.dss", &nothing, 8), EINVAL);
    CHECK_EQUAL(ctl_write("arena.0.dss", &empty, 8), EINVAL);
    CHECK(ctl_write("thread.tcache.ncached_max.write", &nothing, 8) != 0);
    for (size_t i = 0; i < sizeof wild / sizeof *wild; i++) {
        int status = ctl_write("thread.tcache.ncached_max.write", &wild[i], 8);
        if (status != EINVAL && i != 7) {
            printf("# \"%s\" gave %d\n", wild[i], status);
        }
        CHECK(status == EINVAL || i == 7);
    }
    unsigned arena = ctl_new_arena();
    CHECK(ctl_write(ctl_name("arena.%zu.name", arena), &nothing, 8) != 0);
    char *place = NULL;
    size_t length = 8;
    CHECK(mallctl(ctl_name("arena.%zu.name", arena), &place, &length, NULL, 0) != 0);
    CHECK_EQUAL(ctl_do(ctl_name("arena.%zu.destroy", arena)), 0);
}

TEST(extent_hooks_need_a_table)
{
    UNDER_TEST_HEW_ALONE();
    struct hooks *nothing = NULL, *before = NULL, *after = NULL;
    unsigned arena = ctl_new_arena();
    char name[64];
    snprintf(name, sizeof name, "arena.%u.extent_hooks", arena);
    CHECK_EQUAL(ctl_read(name, &before, 8), 0);
    CHECK(ctl_write(name, &nothing, 8) != 0);
    CHECK_EQUAL(ctl_read(name, &after, 8), 0);
    CHECK(after == before && after != NULL);
    CHECK(ctl_write("arena.4096.extent_hooks", &before, 8) != 0);
    CHECK_EQUAL(ctl_do(ctl_name("arena.%zu.destroy", arena)), 0);
}

TEST(flags_that_name_nothing_are_survived)
{
    UNDER_TEST_HEW_ALONE();
    CHECK(mallocx(100, MALLOCX_ARENA(4000)) == NULL);
    CHECK(mallocx(100, MALLOCX_ARENA(4094)) == NULL);
    void *object = mallocx(100, MALLOCX_ARENA(4000) | MALLOCX_TCACHE_NONE);
    CHECK(object == NULL);
    CHECK_EQUAL(nallocx(100, MALLOCX_LG_ALIGN(63)), 0);
    CHECK(mallocx(100, MALLOCX_LG_ALIGN(63)) == NULL);
    CHECK(mallocx(SIZE_MAX, MALLOCX_ZERO | MALLOCX_ALIGN(1 << 20)) == NULL);
    object = mallocx(0, 0);
    CHECK(object != NULL);
    CHECK(rallocx(object, SIZE_MAX, 0) == NULL);
    dallocx(object, 0);
}

static size_t printed;

/* Everything that a callback should not do. */
static void
work_while_printing(void *opaque, const char *text)
{
    static int depth;
    void *objects[16];
    printed += strlen(text);
    for (size_t i = 0; i < 16; i++) {
        objects[i] = malloc((size_t)100 << i % 12);
    }
    ctl_refresh();
    CHECK_EQUAL(ctl_do("arena.4096.purge"), 0);
    unsigned arena = ctl_new_arena();
    CHECK(arena == UINT32_MAX || ctl_do(ctl_name("arena.%zu.destroy", arena)) == 0);
    if (depth++ == 0) {
        malloc_stats_print(work_while_printing, opaque, "Jabl");
    }
    depth--;
    for (size_t i = 0; i < 16; i++) {
        free(objects[i]);
    }
}

TEST(a_callback_that_allocates_and_asks_is_served)
{
    UNDER_TEST_HEW_ALONE();
    malloc_stats_print(work_while_printing, NULL, "");
    malloc_stats_print(work_while_printing, NULL, "J");
    malloc_stats_print(work_while_printing, NULL, "\xff\x01 zzzJJgggmdablxeh");
    CHECK(printed > 10000);
}

static void
count_bytes(void *opaque, const char *text)
{
    *(size_t *)opaque += strlen(text);
}

TEST(four_thousand_arenas_can_be_made_and_destroyed)
{
    UNDER_TEST_HEW_ALONE();
    unsigned first = ctl_unsigned("arenas.narenas"), made = 0;
    static unsigned arenas[5000];
    while (made < 5000 && (arenas[made] = ctl_new_arena()) != UINT32_MAX) {
        if (made % 100 == 0) {
            void *object = mallocx(200, MALLOCX_ARENA(arenas[made]) | MALLOCX_TCACHE_NONE);
            CHECK(object != NULL);
        }
        made++;
    }
    printf("# %u arenas, after %u\n", made, first);
    CHECK(made >= 100 && made + first <= 4096);
    unsigned index;
    size_t length = sizeof index;
    CHECK_EQUAL(mallctl("arenas.create", &index, &length, NULL, 0), EAGAIN);
    size_t bytes = 0;
    malloc_stats_print(count_bytes, &bytes, "bl");
    CHECK(bytes > made * (size_t)1000);
    for (unsigned i = 0; i < made; i++) {
        CHECK_EQUAL(ctl_do(ctl_name("arena.%zu.destroy", arenas[i])), 0);
    }
    CHECK(under_test_rss_kib() < 400 << 10);
    CHECK(ctl_new_arena() != UINT32_MAX);
}
