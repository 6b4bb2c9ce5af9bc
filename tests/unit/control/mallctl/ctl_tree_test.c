/* SPDX-License-Identifier: MIT */
/* ctl_tree: every row of the table, by its name and by the MIB that the name leads to. */
#include "control/mallctl/ctl_tree.h"

#include "ctl_calls.h"
#include "test.h"

static const struct hew_ctl_node *
find(const char *name, size_t *mib, size_t *depth)
{
    const struct hew_ctl_node *node = hew_ctl_tree_root();
    for (*depth = 0; node != NULL; name++) {
        size_t length = strcspn(name, ".");
        if (!hew_ctl_tree_place(node, name, length, &mib[*depth])) {
            return NULL;
        }
        node = hew_ctl_tree_child(node, mib[(*depth)++]);
        name += length;
        if (*name == '\0') {
            return node;
        }
    }
    return NULL;
}

TEST(every_row_is_found_by_its_name)
{
    unsigned rows = 0;
    for (const struct hew_ctl_row *row = hew_ctl_rows; row->name[0] != '\0'; row++, rows++) {
        char name[HEW_CTL_NAME_MAX * 2];
        size_t mib[HEW_CTL_DEPTH_MAX], depth;
        ctl_concrete(row, "7", name);
        const struct hew_ctl_node *node = find(name, mib, &depth);
        if (node == NULL || hew_ctl_tree_row(node) != row || depth > HEW_CTL_DEPTH_MAX) {
            printf("%s is not found\n", name);
            test_failures++;
        }
    }
    CHECK(rows > 400);
}

TEST(no_name_stands_in_the_table_twice)
{
    for (const struct hew_ctl_row *row = hew_ctl_rows; row->name[0] != '\0'; row++) {
        for (const struct hew_ctl_row *other = row + 1; other->name[0] != '\0'; other++) {
            CHECK(strcmp(row->name, other->name) != 0);
        }
    }
}

TEST(a_row_ends_in_an_index_if_and_only_if_its_type_says_so)
{
    for (const struct hew_ctl_row *row = hew_ctl_rows; row->name[0] != '\0'; row++) {
        CHECK((row->name[strlen(row->name) - 1] == '>') == (row->type == HEW_CTL_INDEX));
        CHECK(row->type != HEW_CTL_INDEX || row->access == HEW_CTL_NONE);
        CHECK((row->type == HEW_CTL_VOID) <= ((row->access & HEW_CTL_BOTH) == HEW_CTL_NONE));
    }
}

TEST(siblings_of_one_name_stand_together_so_no_part_comes_twice)
{
    for (const struct hew_ctl_row *row = hew_ctl_rows; row->name[0] != '\0'; row++) {
        const char *last = strrchr(row->name, '.');
        size_t prefix = last == NULL ? 0 : (size_t)(last - row->name);
        bool left = false;
        for (const struct hew_ctl_row *after = row + 1; after->name[0] != '\0'; after++) {
            bool under = strncmp(after->name, row->name, prefix) == 0 && after->name[prefix] == '.';
            CHECK(prefix == 0 || !(left && under));
            left |= !under;
        }
    }
}

TEST(an_index_is_digits_and_no_more_than_a_size_holds)
{
    size_t mib[HEW_CTL_DEPTH_MAX], depth;
    CHECK(find("arena.007.purge", mib, &depth) != NULL && mib[1] == 7 && depth == 3);
    CHECK(find("arena.18446744073709551615.purge", mib, &depth) != NULL && mib[1] == SIZE_MAX);
    static const char *const wrong[] = {
        "arena.18446744073709551616.purge",
        "arena.99999999999999999999.purge",
        "arena.0x1.purge",
        "arena.1a.purge",
        "arena.-1.purge",
        "arena.+1.purge",
        "arena. 1.purge",
        "arena..purge",
        "arena.<i>.purge",
        "arena.1.",
        "arena.",
        "arena.1.purge.",
        ".arena",
        "",
        ".",
        "arenas..nbins",
        "Version",
        "versio",
        "versions",
        "epoch.",
        "epoch.0",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK(find(wrong[i], mib, &depth) == NULL);
    }
}
