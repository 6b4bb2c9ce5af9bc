/* SPDX-License-Identifier: MIT */
/* ctl_arenas: the tables of size classes, and to whom an address belongs. */
#include "ctl_calls.h"
#include "layers_alloc.h"
#include "test.h"

#include "fakes/child.h"

#include <errno.h>

static void
boot_once(void)
{
    if (hew_small_end == 0) {
        CHECK(layers_boot());
        hew_options.narenas = 2;
    }
}

static size_t
read_size(const char *name)
{
    size_t value = 0;
    CHECK_EQUAL(ctl_read(name, &value, sizeof value), 0);
    return value;
}

static unsigned
read_unsigned(const char *name)
{
    unsigned value = 0;
    CHECK_EQUAL(ctl_read(name, &value, sizeof value), 0);
    return value;
}

static void
look_at_own_classes(void)
{
    static const uint16_t own[] = {16, 32, 64, 112, 208, 400, 752, 1500 / 16 * 16, 2800, 5600, 11200, 14336};
    enum { COUNT = sizeof own / sizeof *own };
    char name[64];
    CHECK(layers_boot_with(own, COUNT));
    CHECK_EQUAL(read_unsigned("arenas.nbins"), COUNT);
    for (unsigned index = 0; index < COUNT; index++) {
        snprintf(name, sizeof name, "arenas.bin.%u.size", index);
        CHECK_EQUAL(read_size(name), own[index]);
        snprintf(name, sizeof name, "arenas.bin.%u.nregs", index);
        CHECK_EQUAL(read_unsigned(name), hew_slab_shapes[index + 1].regions);
    }
    size_t value = 0;
    snprintf(name, sizeof name, "arenas.bin.%u.size", COUNT);
    CHECK_EQUAL(ctl_read(name, &value, sizeof value), ENOENT);
    snprintf(name, sizeof name, "stats.arenas.0.bins.%u.nmalloc", COUNT);
    CHECK_EQUAL(ctl_read(name, &value, sizeof value), ENOENT);
    snprintf(name, sizeof name, "stats.arenas.0.bins.%u.nmalloc", COUNT - 1);
    CHECK_EQUAL(ctl_read(name, &value, sizeof value), 0);
    CHECK_EQUAL(read_size("arenas.lextent.0.size"), 16384);
    static const struct {
        size_t setting, largest;
        unsigned classes;
    } cases[] = {{15, 0, 0},
                 {16, 16, 1},
                 {111, 64, 3},
                 {14335, 11200, COUNT - 1},
                 {14336, 14336, COUNT},
                 {15000, 14336, COUNT},
                 {16384, 16384, COUNT + 1},
                 {20480, 20480, COUNT + 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hew_options.tcache_max = cases[i].setting;
        CHECK_EQUAL(read_size("arenas.tcache_max"), cases[i].largest);
        CHECK_EQUAL(read_unsigned("arenas.nhbins"), cases[i].classes);
    }
}

/* First of all that boot: in a process of its own. */
TEST(classes_of_ones_own_are_shown_as_they_are)
{
    CHECK_EQUAL(child_run(look_at_own_classes).status, 0);
}

TEST(the_tables_of_classes_meet_and_end_at_the_largest_class)
{
    boot_once();
    char name[64];
    size_t last = 0;
    unsigned bins = read_unsigned("arenas.nbins"), large = read_unsigned("arenas.nlextents");
    CHECK_EQUAL(bins, hew_class_index(HEW_SMALL_MAX) + 1);
    CHECK_EQUAL(bins + large, hew_class_index(HEW_OPTION_CLASS_MAX) + 1);
    for (unsigned index = 0; index < bins + large; index++) {
        if (index < bins) {
            snprintf(name, sizeof name, "arenas.bin.%u.size", index);
        } else {
            snprintf(name, sizeof name, "arenas.lextent.%u.size", index - bins);
        }
        size_t size = read_size(name);
        CHECK_EQUAL(hew_class_index(size), index);
        CHECK(size > last);
        last = size;
    }
    CHECK_EQUAL(last, HEW_OPTION_CLASS_MAX);
}

TEST(a_slab_is_as_the_table_says)
{
    boot_once();
    char name[64];
    for (unsigned index = 0; index < HEW_CODE_SMALL_LAST; index++) {
        snprintf(name, sizeof name, "arenas.bin.%u.size", index);
        size_t size = read_size(name);
        snprintf(name, sizeof name, "arenas.bin.%u.slab_size", index);
        size_t slab = read_size(name);
        snprintf(name, sizeof name, "arenas.bin.%u.nregs", index);
        unsigned regions = read_unsigned(name);
        snprintf(name, sizeof name, "arenas.bin.%u.nshards", index);
        CHECK_EQUAL(read_unsigned(name), 1);
        hew_size_class_open(index + 2); /* or the next class would serve a fine one's size */
        void *object = layers_malloc(size);
        struct hew_extent *extent = hew_map_extent((uintptr_t)object);
        CHECK(extent != NULL && extent->size == slab);
        CHECK_EQUAL(regions, slab / size);
        layers_free(object);
    }
}

TEST(the_cached_classes_follow_tcache_max)
{
    boot_once();
    static const struct {
        size_t setting, largest;
    } cases[] = {{0, 0}, {7, 0}, {8, 8}, {32768, 32768}, {32767, 28672}, {1 << 20, 1 << 20}, {8 << 20, 8 << 20}};
    size_t before = hew_options.tcache_max;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hew_options.tcache_max = cases[i].setting;
        CHECK_EQUAL(read_size("arenas.tcache_max"), cases[i].largest);
        CHECK_EQUAL(read_unsigned("arenas.nhbins"), cases[i].largest == 0 ? 0 : hew_class_index(cases[i].largest) + 1);
    }
    hew_options.tcache_max = before;
}

TEST(quantum_page_and_huge_page_are_what_they_are)
{
    CHECK_EQUAL(read_size("arenas.quantum"), HEW_QUANTUM);
    CHECK_EQUAL(read_size("arenas.page"), HEW_PAGE);
    CHECK_EQUAL(read_size("arenas.hugepage"), (size_t)2 << 20);
}

TEST(lookup_knows_our_objects_and_nothing_else)
{
    boot_once();
    unsigned index = 77;
    size_t length = sizeof index;
    void *small = layers_malloc(100), *large = layers_malloc(100000), *foreign = &index, *nothing = NULL;
    unsigned own = hew_alloc_own_cache()->arena->index;
    CHECK_EQUAL(hew_ctl_by_name("arenas.lookup", &index, &length, &small, sizeof small), 0);
    CHECK_EQUAL(index, own);
    index = 77;
    CHECK_EQUAL(hew_ctl_by_name("arenas.lookup", &index, &length, &large, sizeof large), 0);
    CHECK_EQUAL(index, own);
    CHECK_EQUAL(hew_ctl_by_name("arenas.lookup", &index, &length, &foreign, sizeof foreign), EINVAL);
    CHECK_EQUAL(hew_ctl_by_name("arenas.lookup", &index, &length, &nothing, sizeof nothing), EINVAL);
    CHECK_EQUAL(hew_ctl_by_name("arenas.lookup", &index, &length, &small, 4), EINVAL);
    CHECK_EQUAL(hew_ctl_by_name("arenas.lookup", &index, &length, NULL, 0), EINVAL);
    CHECK_EQUAL(hew_ctl_by_name("arenas.lookup", NULL, NULL, &small, sizeof small), 0);
    layers_free(small);
    layers_free(large);
}
