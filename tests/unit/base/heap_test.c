/* SPDX-License-Identifier: MIT */
/* Unit tests of base/heap: the lowest first, any node out, and long random runs against a sorted array. */
#include "base/heap.h"

#include "fakes/random.h"
#include "test.h"

#define NODES 1500

static struct hew_heap_node nodes[NODES];

/* Walks the tree: no child is below its parent, and each `back` leads to the node before.  Counts the nodes. */
static size_t
count_valid(const struct hew_heap *heap)
{
    static const struct hew_heap_node *todo[NODES + 1];
    size_t depth = 0, count = 0;
    if (heap->root != NULL) {
        CHECK(heap->root->next == NULL);
        todo[depth++] = heap->root;
    }
    while (depth > 0) {
        const struct hew_heap_node *parent = todo[--depth], *before = parent;
        count++;
        for (const struct hew_heap_node *child = parent->child; child != NULL; before = child, child = child->next) {
            CHECK(child->key >= parent->key);
            CHECK(child->back == before);
            todo[depth++] = child;
        }
    }
    return count;
}

/* Takes everything out, the lowest first: the keys must come in the order 0, 1, 2 ... count - 1. */
static void
drain_in_order(struct hew_heap *heap, size_t count)
{
    for (size_t key = 0; key < count; key++) {
        struct hew_heap_node *lowest = hew_heap_lowest(heap);
        CHECK_EQUAL(lowest->key, key);
        hew_heap_remove(heap, lowest);
    }
    CHECK(hew_heap_lowest(heap) == NULL);
}

/* Walks with `act` for each node that is left, after the step; how often each was. */
static unsigned char left_times[NODES];

static void
walk_all(struct hew_heap *heap, void (*act)(struct hew_heap *heap, struct hew_heap_node *node))
{
    struct hew_heap_walk walk;
    unsigned steps = 0;
    for (size_t i = 0; i < NODES; i++) {
        left_times[i] = 0;
    }
    for (hew_heap_walk_begin(&walk, heap); walk.at != NULL && steps < 8 * NODES; steps++) {
        struct hew_heap_node *node = walk.at;
        bool leaves = hew_heap_walk_leaves(&walk);
        hew_heap_walk_step(&walk);
        if (leaves) {
            left_times[node - nodes]++;
            act(heap, node);
        }
    }
    CHECK(walk.at == NULL);
}

static void
leave_alone(struct hew_heap *heap, struct hew_heap_node *node)
{
    CHECK(heap->root != NULL && node != NULL);
}

static void
remove_some(struct hew_heap *heap, struct hew_heap_node *node)
{
    if (node->key % 3 == 0) {
        hew_heap_remove(heap, node);
    }
}

static void
move_behind(struct hew_heap *heap, struct hew_heap_node *node)
{
    hew_heap_remove(heap, node);
    hew_heap_insert(heap, node, node->key + NODES);
}

TEST(a_walk_leaves_each_node_once_though_those_it_has_left_are_removed_or_move)
{
    static void (*const acts[])(struct hew_heap *, struct hew_heap_node *) = {leave_alone, move_behind, remove_some};
    struct hew_heap heap = {NULL};
    struct hew_heap_walk walk;
    hew_heap_walk_begin(&walk, &heap);
    CHECK(walk.at == NULL);
    for (size_t i = 0; i < NODES; i++) {
        hew_heap_insert(&heap, &nodes[i], i * 7 % NODES); /* no common factor */
    }
    hew_heap_remove(&heap, hew_heap_lowest(&heap)); /* more than one level */
    for (size_t act = 0; act < 3; act++) {
        walk_all(&heap, acts[act]);
        CHECK_EQUAL(left_times[0], 0);
        for (size_t i = 1; i < NODES; i++) {
            CHECK_EQUAL(left_times[i], 1);
        }
    }
    CHECK_EQUAL(count_valid(&heap), NODES - 1 - NODES / 3 + 1);
}

TEST(an_empty_heap_has_no_lowest_node)
{
    struct hew_heap heap = {NULL};
    CHECK(hew_heap_lowest(&heap) == NULL);
}

TEST(the_lowest_comes_first_after_rising_falling_and_mixed_insertions)
{
    struct hew_heap heap = {NULL};
    for (size_t i = 0; i < NODES; i++) {
        hew_heap_insert(&heap, &nodes[i], i);
    }
    drain_in_order(&heap, NODES);
    for (size_t i = 0; i < NODES; i++) {
        hew_heap_insert(&heap, &nodes[i], NODES - 1 - i);
    }
    drain_in_order(&heap, NODES);
    for (size_t i = 0; i < NODES; i++) {
        hew_heap_insert(&heap, &nodes[i], i * 7 % NODES);
    }
    CHECK_EQUAL(count_valid(&heap), NODES);
    drain_in_order(&heap, NODES);
}

TEST(equal_keys_all_come_out)
{
    struct hew_heap heap = {NULL};
    for (size_t i = 0; i < 9; i++) {
        hew_heap_insert(&heap, &nodes[i], 5);
    }
    for (size_t left = 9; left > 0; left--) {
        CHECK_EQUAL(count_valid(&heap), left);
        hew_heap_remove(&heap, hew_heap_lowest(&heap));
    }
    CHECK(hew_heap_lowest(&heap) == NULL);
}

/* Seven keys, 1 to 7, in a shape that differs by how many lower ones went in before and came out since. */
static struct hew_heap
seven_after(size_t taken)
{
    struct hew_heap heap = {NULL};
    for (size_t i = 0; i < taken; i++) {
        hew_heap_insert(&heap, &nodes[100 + i], 0);
    }
    for (size_t i = 0; i < 7; i++) {
        hew_heap_insert(&heap, &nodes[i], i * 3 % 7 + 1);
    }
    for (size_t i = 0; i < taken; i++) {
        hew_heap_remove(&heap, hew_heap_lowest(&heap));
    }
    return heap;
}

TEST(any_node_can_be_removed_from_any_place)
{
    for (size_t choice = 0; choice < 4 * 7; choice++) {
        struct hew_heap heap = seven_after(choice / 7);
        struct hew_heap_node *victim = &nodes[choice % 7];
        hew_heap_remove(&heap, victim);
        CHECK_EQUAL(count_valid(&heap), 6);
        for (size_t key = 1; key <= 7; key++) {
            if (key != victim->key) {
                CHECK_EQUAL(hew_heap_lowest(&heap)->key, key);
                hew_heap_remove(&heap, hew_heap_lowest(&heap));
            }
        }
    }
}

/* The model: keys in rising order. */
static uintptr_t sorted[NODES];
static size_t sorted_count;

static size_t
sorted_place(uintptr_t key)
{
    size_t place = 0;
    while (place < sorted_count && sorted[place] < key) {
        place++;
    }
    return place;
}

static void
sorted_insert(uintptr_t key)
{
    size_t place = sorted_place(key);
    memmove(sorted + place + 1, sorted + place, (sorted_count++ - place) * sizeof sorted[0]);
    sorted[place] = key;
}

static void
sorted_remove(uintptr_t key)
{
    size_t place = sorted_place(key);
    memmove(sorted + place, sorted + place + 1, (--sorted_count - place) * sizeof sorted[0]);
}

TEST(random_runs_agree_with_a_sorted_array)
{
    static bool inside[NODES];
    struct hew_heap heap = {NULL};
    uint64_t random = 1;
    for (unsigned step = 0; step < 60000; step++) {
        size_t choice = random_below(&random, NODES);
        struct hew_heap_node *node = &nodes[choice];
        if (random_below(&random, 4) == 0 && sorted_count > 0) { /* the lowest, as bins take it */
            node = hew_heap_lowest(&heap);
            choice = (size_t)(node - nodes);
        }
        if (inside[choice]) {
            hew_heap_remove(&heap, node);
            sorted_remove(node->key);
        } else {
            /* The low bits keep keys apart, as slabs' addresses are. */
            hew_heap_insert(&heap, node, (random_next(&random) & ~(uintptr_t)0xffff) | choice);
            sorted_insert(node->key);
        }
        inside[choice] = !inside[choice];
        CHECK_EQUAL(hew_heap_lowest(&heap) == NULL, sorted_count == 0);
        CHECK(sorted_count == 0 || hew_heap_lowest(&heap)->key == sorted[0]);
        if (step % 1000 == 0) {
            CHECK_EQUAL(count_valid(&heap), sorted_count);
        }
    }
}
