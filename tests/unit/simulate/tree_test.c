/* SPDX-License-Identifier: MIT */
/* The tree against a sorted array that is searched from its beginning. */
#include "simulate/tree.h"

#include "test.h"

#include <stdlib.h>
#include <string.h>

#define MOST 400

struct list {
    struct tree_block blocks[MOST];
    size_t count;
};

static size_t
place_of(const struct list *list, uint64_t key)
{
    size_t at = 0;

    while (at < list->count && list->blocks[at].key < key) {
        at++;
    }
    return at;
}

static void
list_put(struct list *list, struct tree_block block)
{
    size_t at = place_of(list, block.key);

    memmove(&list->blocks[at + 1], &list->blocks[at], (list->count - at) * sizeof(block));
    list->blocks[at] = block;
    list->count++;
}

static void
list_drop(struct list *list, size_t at)
{
    list->count--;
    memmove(&list->blocks[at], &list->blocks[at + 1], (list->count - at) * sizeof(list->blocks[0]));
}

static bool
list_first(const struct list *list, uint64_t from, uint64_t size, struct tree_block *found)
{
    for (size_t at = place_of(list, from); at < list->count; at++) {
        if (list->blocks[at].size >= size) {
            *found = list->blocks[at];
            return true;
        }
    }
    return false;
}

static void
agree(const struct tree *tree, const struct list *list, uint64_t key, uint64_t size)
{
    struct tree_block ours = {0}, theirs = {0};
    size_t place = place_of(list, key);

    CHECK_EQUAL(tree_count(tree), list->count);
    CHECK_EQUAL(tree_rank(tree, key), place);
    CHECK(tree_first(tree, key, size, &ours) == list_first(list, key, size, &theirs));
    CHECK_EQUAL(ours.key, theirs.key);
    CHECK_EQUAL(ours.size, theirs.size);
    CHECK(tree_before(tree, key, &ours) == (place > 0));
    CHECK(place == 0 || ours.key == list->blocks[place - 1].key);
    if (tree_largest(tree, &ours)) {
        for (size_t at = 0; at < list->count; at++) {
            CHECK(list->blocks[at].size < ours.size || list->blocks[at].key >= ours.key || list->blocks[at].size == 0);
            CHECK(list->blocks[at].size <= ours.size);
        }
    }
}

TEST(a_tree_answers_as_a_list_does)
{
    static struct list list;
    struct tree tree;
    uint64_t random = 88172645463325252;

    tree_begin(&tree);
    for (int step = 0; step < 60000; step++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        uint64_t key = random % 1000 * 10, size = random >> 20 & 255;
        size_t at = place_of(&list, key);
        bool there = at < list.count && list.blocks[at].key == key;
        if (random >> 40 & 1 ? !there && list.count < MOST - 1 : false) {
            list_put(&list, (struct tree_block){key, size});
            CHECK(tree_put(&tree, (struct tree_block){key, size}));
        } else if (there && (random >> 41 & 1)) {
            struct tree_block after = {key + random % 9, size};
            CHECK(tree_change(&tree, list.blocks[at], after));
            CHECK(!tree_drop(&tree, (struct tree_block){key + 1, 1000}));
            list.blocks[at] = after;
            /* Back on the grid, so that keys stay apart. */
            CHECK(tree_change(&tree, after, (struct tree_block){key, size}));
            list.blocks[at].key = key;
        } else if (there) {
            CHECK(tree_drop(&tree, list.blocks[at]));
            list_drop(&list, at);
        }
        agree(&tree, &list, random >> 8 & 8191, random >> 30 & 255);
    }
    tree_end(&tree);
}

TEST(an_empty_tree_has_nothing)
{
    struct tree tree;
    struct tree_block found;

    tree_begin(&tree);
    CHECK(!tree_first(&tree, 0, 0, &found) && !tree_before(&tree, UINT64_MAX, &found) && !tree_largest(&tree, &found));
    CHECK(!tree_drop(&tree, (struct tree_block){1, 1}));
    CHECK_EQUAL(tree_rank(&tree, 5), 0);
    tree_end(&tree);
}
