/* SPDX-License-Identifier: MIT */
/*
 * ctl: what holds for every name of the table, and for everything that is no name.
 */
#include "control/mallctl/ctl.h"

#include "control/mallctl/ctl_tree.h"
#include "control/mallctl/ctl_value.h"
#include "ctl_calls.h"
#include "layers_alloc.h"
#include "test.h"

static void
boot_once(void)
{
    if (hew_small_end == 0) {
        CHECK(layers_boot());
        hew_options.narenas = 2;
        CHECK(hew_alloc_own_cache() != NULL);
    }
}

static void
expect(bool holds, const char *name, const char *what, int result)
{
    if (!holds) {
        printf("%s: %s, result %d\n", name, what, result);
        test_failures++;
    }
}

/* Whether the name answers at all: some are known but not built, or belong to a profiler that is off. */
static bool
answers(const char *name, const struct hew_ctl_row *row)
{
    unsigned char value[64] = {0}; /* NULL for arena.<i>.name, which is told where to copy */
    size_t size = hew_ctl_type_size(row->type);
    return row->type != HEW_CTL_INDEX && hew_ctl_by_name(name, value, &size, NULL, 0) == 0;
}

static void
each_row(void (*check)(const char *name, const struct hew_ctl_row *row))
{
    boot_once();
    for (const struct hew_ctl_row *row = hew_ctl_rows; row->name[0] != '\0'; row++) {
        char name[HEW_CTL_NAME_MAX * 2];
        ctl_concrete(row, "0", name);
        check(name, row);
    }
}

static unsigned answered;

static void
check_size(const char *name, const struct hew_ctl_row *row)
{
    unsigned char value[64];
    size_t size = hew_ctl_type_size(row->type), wide = sizeof value, narrow = size == 0 ? 0 : size - 1, none = 0;
    if ((row->access & HEW_CTL_READ) == 0 || size == 0 || !answers(name, row)) {
        return;
    }
    answered++;
    int result = hew_ctl_by_name(name, value, &wide, NULL, 0);
    expect(result == EINVAL && (wide == size || wide == 0), name, "a buffer too large", result);
    memset(value, 0xee, sizeof value);
    result = hew_ctl_by_name(name, value, &narrow, NULL, 0);
    expect(result == EINVAL && narrow <= size - 1 && value[size - 1] == 0xee, name, "a buffer too small", result);
    result = hew_ctl_by_name(name, value, &none, NULL, 0);
    expect(result == EINVAL && none == 0, name, "an empty buffer", result);
}

TEST(every_readable_name_has_the_size_of_its_type_and_refuses_others)
{
    each_row(check_size);
    CHECK(answered > 100);
}

static void
check_access(const char *name, const struct hew_ctl_row *row)
{
    uint64_t old = 0, new = 0;
    size_t size = sizeof old;
    int unknown = row->type == HEW_CTL_INDEX || (row->access & HEW_CTL_PROF) != 0 ? ENOENT : EPERM;
    if ((row->access & HEW_CTL_READ) == 0) {
        int result = hew_ctl_by_name(name, &old, &size, NULL, 0);
        expect(result == unknown, name, "a forbidden read", result);
        result = hew_ctl_by_name(name, NULL, &size, NULL, 0);
        expect(result == unknown, name, "a forbidden length of a read", result);
    }
    if ((row->access & HEW_CTL_WRITE) == 0) {
        int result = ctl_write(name, &new, sizeof new);
        expect(result == unknown, name, "a forbidden write", result);
        result = hew_ctl_by_name(name, NULL, NULL, NULL, sizeof new);
        expect(result == unknown, name, "a forbidden length of a write", result);
    }
}

TEST(what_a_row_does_not_allow_is_EPERM)
{
    each_row(check_access);
}

static void
check_mib(const char *name, const struct hew_ctl_row *row)
{
    size_t mib[HEW_CTL_DEPTH_MAX + 1], depth = HEW_CTL_DEPTH_MAX, parts = 1;
    for (const char *dot = strchr(name, '.'); dot != NULL; dot = strchr(dot + 1, '.')) {
        parts++;
    }
    int result = hew_ctl_to_mib(name, mib, &depth);
    expect(result == 0 && depth == parts, name, "its MIB", result);
    for (size_t shorter = 0; shorter < parts; shorter++) {
        size_t prefix[HEW_CTL_DEPTH_MAX], room = shorter;
        result = hew_ctl_to_mib(name, prefix, &room);
        expect(result == 0 && room == shorter && memcmp(prefix, mib, shorter * sizeof *mib) == 0, name,
               "a MIB cut short", result);
        result = ctl_by_mib(mib, shorter, NULL, 0);
        expect(result == ENOENT, name, "a prefix asked by MIB", result);
    }
    mib[parts] = 0;
    result = row->type == HEW_CTL_INDEX ? ENOENT : ctl_by_mib(mib, parts + 1, NULL, 0);
    expect(result == ENOENT, name, "a part too many", result);
}

TEST(every_name_has_a_MIB_as_deep_as_it_has_parts)
{
    each_row(check_mib);
}

static void
check_same(const char *name, const struct hew_ctl_row *row)
{
    size_t mib[HEW_CTL_DEPTH_MAX], depth = HEW_CTL_DEPTH_MAX, size = hew_ctl_type_size(row->type);
    uint64_t by_name = 0, by_mib = 0;
    bool moves = strstr(name, "create") != NULL || strstr(name, "allocated") != NULL || strstr(name, "stats") != NULL;
    if ((row->access & HEW_CTL_READ) == 0 || size == 0 || moves || !answers(name, row)) {
        return;
    }
    CHECK(ctl_read(name, &by_name, size) == 0);
    CHECK(hew_ctl_to_mib(name, mib, &depth) == 0);
    int result = ctl_by_mib(mib, depth, &by_mib, size);
    expect(result == 0 && by_name == by_mib, name, "by MIB another value than by name", result);
}

TEST(a_name_and_its_MIB_give_the_same_value)
{
    each_row(check_same);
}

TEST(a_misspelt_name_is_ENOENT_and_leaves_the_length_alone)
{
    static const char *const wrong[] = {
        "",
        ".",
        "..",
        "epoch.",
        ".epoch",
        "Epoch",
        "epoc",
        "epochs",
        "epoch.x",
        "arenas",
        "arenas.",
        "arenas.page.",
        "arenas.page.x",
        "arenas..page",
        "arenas.bin",
        "arenas.bin.0",
        "arenas.bin.66.size",
        "arenas.bin.x.size",
        "arenas.bin.<i>.size",
        "arenas.bin.-1.size",
        "arenas.lextent.196.size",
        "opt",
        "opt.nope",
        "stats.background_thread.run_intervals",
        "stats.arenas.0.small.resident",
        "a.name.that.has.more.parts.than.any.in.the.table",
        "arenas.bin.0.size.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0",
    };
    boot_once();
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        uint64_t value = 77;
        size_t size = sizeof value;
        int result = hew_ctl_by_name(wrong[i], &value, &size, NULL, 0);
        expect(result == ENOENT && value == 77 && size == sizeof value, wrong[i], "no error", result);
    }
    size_t mib[2] = {5, 5}, depth = 2;
    CHECK_EQUAL(hew_ctl_to_mib("arenas.nope", mib, &depth), ENOENT);
    CHECK_EQUAL(depth, 2);
}

TEST(the_name_of_an_inner_node_gives_its_MIB)
{
    size_t whole[4], part[4], depth = 4, shorter = 4;
    boot_once();
    CHECK_EQUAL(hew_ctl_to_mib("arenas.bin.35.size", whole, &depth), 0);
    CHECK_EQUAL(hew_ctl_to_mib("arenas.bin.35", part, &shorter), 0);
    CHECK(depth == 4 && shorter == 3 && memcmp(whole, part, sizeof(size_t) * 3) == 0);
    CHECK_EQUAL(whole[2], 35);
}

TEST(an_index_in_a_MIB_may_be_changed_and_is_checked)
{
    size_t mib[4], depth = 4, size = 0;
    boot_once();
    CHECK_EQUAL(hew_ctl_to_mib("arenas.bin.0.size", mib, &depth), 0);
    for (unsigned index = 0; index < HEW_CODE_SMALL_LAST; index++) {
        mib[2] = index;
        CHECK_EQUAL(ctl_by_mib(mib, depth, &size, sizeof size), 0);
        CHECK_EQUAL(size, hew_class_size(index));
    }
    static const size_t wrong[] = {HEW_CODE_SMALL_LAST, HEW_CODE_SMALL_LAST + 1, 4096, SIZE_MAX, SIZE_MAX / 2};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        mib[2] = wrong[i];
        CHECK_EQUAL(ctl_by_mib(mib, depth, &size, sizeof size), ENOENT);
    }
}

TEST(pointers_may_be_missing)
{
    uint64_t value = 5;
    size_t size = sizeof value, mib[1], depth = 1;
    boot_once();
    CHECK_EQUAL(hew_ctl_by_name(NULL, &value, &size, NULL, 0), ENOENT);
    CHECK_EQUAL(hew_ctl_by_name("epoch", NULL, &size, NULL, 0), 0);
    CHECK_EQUAL(hew_ctl_by_name("epoch", &value, NULL, NULL, 0), 0);
    CHECK_EQUAL(value, 5);
    CHECK_EQUAL(hew_ctl_by_name("arenas.create", NULL, NULL, NULL, 0), EINVAL);
    CHECK_EQUAL(hew_ctl_by_name("arenas.lookup", &value, NULL, NULL, 0), EINVAL);
    CHECK_EQUAL(hew_ctl_to_mib("epoch", mib, NULL), EINVAL);
    CHECK_EQUAL(hew_ctl_to_mib("epoch", NULL, &depth), EINVAL);
    CHECK_EQUAL(hew_ctl_to_mib(NULL, mib, &depth), ENOENT);
    struct hew_ctl_call call = {NULL, 1, &value, &size, NULL, 0, NULL};
    CHECK_EQUAL(hew_ctl_by_mib(&call), ENOENT);
    CHECK_EQUAL(ctl_by_mib(mib, 0, &value, sizeof value), ENOENT);
}

TEST(each_write_of_epoch_moves_it_by_one_whatever_is_written)
{
    uint64_t first = 0, second = 0, anything = 1234;
    boot_once();
    CHECK_EQUAL(ctl_exchange("epoch", &first, &anything, sizeof first), 0);
    CHECK_EQUAL(ctl_exchange("epoch", &second, &anything, sizeof second), 0);
    CHECK_EQUAL(second, first + 1);
    CHECK_EQUAL(ctl_write("epoch", &anything, 4), EINVAL);
    CHECK_EQUAL(ctl_read("epoch", &first, sizeof first), 0);
    CHECK_EQUAL(second, first);
}
