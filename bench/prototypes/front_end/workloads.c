/* SPDX-License-Identifier: MIT */
/* workloads: what one thread does.  Orders are drawn before the clock starts. */
#include "measure.h"

#include <stdlib.h>
#include <string.h>

extern size_t measure_base;

static void
start(void)
{
    measure_base = measure_rss();
    measure_reset_peak();
}

struct result
workload_lifo(int runs)
{
    start();
    double begin = measure_cpu();
    for (int i = 0; i < runs; i++) {
        GIVE(take(64));
    }
    return (struct result){measure_cpu() - begin, runs};
}

/* All of 1000, then all free: in the same order, in reverse, or in a random one that changes every round. */
struct result
workload_batch(size_t size, const char *order)
{
    enum { COUNT = 1000, ROUNDS = 8000, ORDERS = 16 };
    char **objects = measure_array(COUNT * sizeof *objects);
    uint16_t(*index)[COUNT] = measure_array(ORDERS * sizeof *index);
    struct random random = {1};
    for (int k = 0; k < ORDERS; k++) {
        for (int i = 0; i < COUNT; i++) {
            index[k][i] = (uint16_t)(strcmp(order, "reverse") == 0 ? COUNT - 1 - i : i);
        }
        for (uint32_t i = COUNT; strcmp(order, "random") == 0 && i-- > 1;) {
            uint32_t j = random_below(&random, i + 1);
            uint16_t other = index[k][j];
            index[k][j] = index[k][i];
            index[k][i] = other;
        }
    }
    start();
    double begin = 0;
    for (int round = -100; round < ROUNDS; round++) {
        if (round == 0) {
            begin = measure_cpu();
        }
        for (int i = 0; i < COUNT; i++) {
            objects[i] = take(size);
        }
        const uint16_t *next = index[round & (ORDERS - 1)];
        for (int i = 0; i < COUNT; i++) {
            GIVE(objects[next[i]]);
        }
    }
    return (struct result){measure_cpu() - begin, (double)COUNT * ROUNDS};
}

/* A random one of `live` objects is freed and another of a random size up to `max` takes its place. */
struct result
workload_replace(size_t live, size_t max, int read_before_free)
{
    size_t operations = live >= 1000000 ? 4000000 : 8000000;
    char **objects = measure_array(live * sizeof *objects);
    struct random random = {7};
    start();
    for (size_t i = 0; i < live; i++) {
        objects[i] = take(1 + random_below(&random, (uint32_t)max));
    }
    for (size_t i = 0; i < live; i++) {
        size_t k = random_below(&random, (uint32_t)live);
        GIVE(objects[k]);
        objects[k] = take(1 + random_below(&random, (uint32_t)max));
    }
    double begin = measure_cpu();
    for (size_t i = 0; i < operations; i++) {
        size_t k = random_below(&random, (uint32_t)live);
        if (read_before_free && objects[k][0] == 2) {
            abort();
        }
        GIVE(objects[k]);
        objects[k] = take(1 + random_below(&random, (uint32_t)max));
    }
    double seconds = measure_cpu() - begin;
    for (size_t i = 0; i < live; i++) {
        GIVE(objects[i]);
    }
    return (struct result){seconds, (double)operations};
}

struct node {
    struct node *left;
    struct node *right;
    uint64_t payload[10];
};

static struct node *
tree_build(struct random *random, int depth)
{
    size_t size = 24 + 8 * random_below(random, 10);
    struct node *node = (struct node *)take(size);
    node->left = depth > 0 ? tree_build(random, depth - 1) : NULL;
    node->right = depth > 0 ? tree_build(random, depth - 1) : NULL;
    return node;
}

static void
tree_destroy(struct node *node)
{
    if (node != NULL) {
        tree_destroy(node->left);
        tree_destroy(node->right);
        GIVE(node);
    }
}

/* Trees of 2^18 - 1 nodes of 24 to 96 bytes, built and destroyed depth first. */
struct result
workload_tree(int runs)
{
    enum { DEPTH = 17 };
    struct random random = {3};
    start();
    double begin = 0;
    for (int i = -1; i < runs; i++) {
        if (i == 0) {
            begin = measure_cpu();
        }
        tree_destroy(tree_build(&random, DEPTH));
    }
    return (struct result){measure_cpu() - begin, (double)runs * ((2 << DEPTH) - 1)};
}

/* 64 MiB of one size, a random 90 % freed, then as much of the next size; what survives is freed at the end. */
struct result
workload_phases(int runs)
{
    static const size_t sizes[] = {2048, 320, 1024, 96, 4096, 640};
    enum { PHASES = sizeof sizes / sizeof *sizes, BYTES = 64 << 20 };
    size_t most = BYTES / 96 + 1, total = 0;
    char **objects = measure_array(most * sizeof *objects);
    char **kept = measure_array(2 * most * sizeof *kept);
    struct random random = {5};
    start();
    double begin = measure_cpu();
    for (int i = 0; i < runs; i++) {
        size_t survivors = 0;
        for (int phase = 0; phase < PHASES; phase++) {
            size_t count = BYTES / sizes[phase];
            for (size_t k = 0; k < count; k++) {
                objects[k] = take(sizes[phase]);
            }
            for (size_t k = 0; k < count; k++) {
                if (random_below(&random, 10) == 0) {
                    kept[survivors++] = objects[k];
                } else {
                    GIVE(objects[k]);
                }
            }
            total += count;
        }
        for (size_t k = 0; k < survivors; k++) {
            GIVE(kept[k]);
        }
    }
    return (struct result){measure_cpu() - begin, (double)total};
}
