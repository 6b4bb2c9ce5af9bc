/* SPDX-License-Identifier: MIT */
#include "alloc/utilization.h"
#include "layers_alloc.h"
#include "test.h"

#define OBJECTS 4096
static void *objects[OBJECTS];
static int on_no_heap;

static void
boot(void)
{
    hew_options.tcache = false;
    layers_without_caches = true;
    CHECK(layers_boot());
}

TEST(the_figures_of_a_slab_and_its_bin_add_up)
{
    boot();
    struct hew_utilization_bin answer;
    unsigned regions = hew_slab_shapes[hew_code_of_size(64)].regions;
    for (unsigned i = 0; i < regions + 3; i++) {
        objects[i] = layers_malloc(64);
    }
    CHECK(hew_utilization_query(objects[0], &answer));
    CHECK_EQUAL(answer.extent.regions, regions);
    CHECK_EQUAL(answer.extent.free_regions, 0);
    CHECK_EQUAL(answer.extent.bytes, hew_slab_shapes[hew_code_of_size(64)].pages * HEW_PAGE);
    CHECK_EQUAL(answer.regions, 2 * regions);
    CHECK_EQUAL(answer.free_regions, regions - 3);
    layers_free(objects[1]);
    CHECK(hew_utilization_query((char *)objects[2] + 5, &answer)); /* anywhere inside will do */
    CHECK_EQUAL(answer.extent.free_regions, 1);
    CHECK_EQUAL(answer.free_regions, regions - 2);
    CHECK(answer.current != NULL);
    objects[1] = layers_malloc(64);
    for (unsigned i = 0; i < regions + 3; i++) {
        layers_free(objects[i]);
    }
}

TEST(a_large_object_is_one_region)
{
    struct hew_utilization_bin answer;
    void *object = layers_malloc(100000);
    CHECK(hew_utilization_query(object, &answer));
    CHECK_EQUAL(answer.extent.regions, 1);
    CHECK_EQUAL(answer.extent.free_regions, 0);
    CHECK(answer.extent.bytes >= 100000);
    CHECK_EQUAL(answer.regions + answer.free_regions, 0);
    CHECK(answer.current == NULL);
    CHECK(!hew_utilization_should_move(object));
    layers_free(object);
    CHECK(!hew_utilization_query(object, &answer));
}

TEST(what_is_not_ours_is_told_and_not_touched)
{
    struct hew_utilization_bin answer;
    const void *strangers[] = {NULL,
                               &on_no_heap,
                               &answer,
                               (void *)1,
                               (void *)0x7fffffffffff,
                               (void *)~0ul,
                               (void *)(1ul << 47),
                               (void *)(1ul << 46)};
    enum { COUNT = sizeof strangers / sizeof strangers[0] };
    for (unsigned i = 0; i < COUNT; i++) {
        CHECK(!hew_utilization_query(strangers[i], &answer));
        CHECK_EQUAL(answer.extent.regions + answer.extent.bytes + answer.regions, 0);
        CHECK(!hew_utilization_should_move(strangers[i]));
    }
    void *ours = layers_malloc(100), *mixed[] = {(void *)1, ours, &on_no_heap};
    struct hew_utilization answers[3];
    CHECK_EQUAL(hew_utilization_query_batch(mixed, 3, answers), 2);
    CHECK_EQUAL(answers[0].regions, 0);
    CHECK_EQUAL(answers[1].regions, hew_slab_shapes[hew_code_of_size(100)].regions);
    CHECK_EQUAL(answers[2].regions, 0);
    layers_free(ours);
}

/* Objects as a program leaves them behind that has freed three of four at random; then what a program does that moves
 * each object it is told to move, as long as that changes anything. */
TEST(moving_what_should_be_moved_empties_slabs)
{
    unsigned left = 0, rounds = 0, moved = 1;
    uint64_t random = 12345;
    for (unsigned i = 0; i < OBJECTS; i++) {
        objects[i] = layers_malloc(200);
    }
    for (unsigned i = 0; i < OBJECTS; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        if (random >> 62 != 0) {
            layers_free(objects[i]);
        } else {
            objects[left++] = objects[i];
        }
    }
    struct hew_bin *bin = &hew_arena_at(0)->bins[hew_code_of_size(200)];
    unsigned regions = hew_slab_shapes[hew_code_of_size(200)].regions;
    size_t least = (left + regions - 1) / regions, before = bin->counts.slabs;
    for (; moved != 0 && rounds < 100; rounds++) {
        moved = 0;
        for (unsigned i = 0; i < left; i++) {
            if (hew_utilization_should_move(objects[i])) {
                void *copy = layers_malloc(200);
                layers_free(objects[i]);
                objects[i] = copy;
                moved++;
            }
        }
    }
    printf("# %u objects: %zu slabs, %zu after %u rounds; %zu would do\n", left, before, bin->counts.slabs, rounds,
           least);
    CHECK(rounds < 100);
    CHECK(bin->counts.slabs <= least + 1 + least / 10);
    for (unsigned i = 0; i < left; i++) {
        layers_free(objects[i]);
    }
    CHECK(layers_settled());
}
