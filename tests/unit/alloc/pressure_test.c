/* SPDX-License-Identifier: MIT */
/* pressure: limits by settings and by a made-up control group; what is free goes back before more is taken. */
#include "alloc/pressure.h"

#include "alloc/request.h"
#include "cache/magazine.h"
#include "layers_alloc.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

/* The process's limits are set once: the first test to run sets them. */
static void
boot_once(void)
{
    if (hew_small_end == 0) {
        CHECK(layers_boot());
        hew_options.narenas = 1;
        hew_options.dirty_decay_ms = -1; /* what goes back goes for the limit's sake */
        hew_options.limit = 64 * MIB;
        hew_options.limit_hard = 96 * MIB;
        hew_pressure_begin();
    }
}

static size_t
held(void)
{
    struct hew_page_counts counts = hew_page_counts(hew_arena_get(0)->pages.heap);
    return counts.active + counts.dirty + counts.muzzy;
}

TEST(before_a_large_request_would_pass_the_limit_as_many_idle_pages_go_back_as_it_needs_and_not_all)
{
    boot_once();
    void *pieces[10], *other[10];
    for (unsigned i = 0; i < 10; i++) {
        pieces[i] = layers_malloc(4 * MIB);
        other[i] = layers_malloc(MIB);
        CHECK(pieces[i] != NULL && other[i] != NULL);
    }
    for (unsigned i = 0; i < 10; i++) {
        layers_free(pieces[i]);
    }
    CHECK(held() >= 50 * MIB); /* far from the limit all is kept */
    CHECK_EQUAL(hew_pressure_counts().returned, 0);
    void *large = layers_malloc(30 * MIB); /* no free piece is as large */
    CHECK(large != NULL);
    CHECK(held() <= 62 * MIB);
    struct hew_pressure_counts counts = hew_pressure_counts();
    CHECK_EQUAL(counts.limit, 64 * MIB);
    CHECK(counts.relieved >= 1 && counts.returned >= 16 * MIB && counts.returned <= 24 * MIB);
    layers_free(large);
    for (unsigned i = 0; i < 10; i++) {
        layers_free(other[i]);
    }
}

TEST(who_stays_at_the_limit_gives_back_what_he_takes_and_no_more)
{
    boot_once();
    hew_pressure_return_all();
    void *live = layers_malloc(48 * MIB), *pieces[8], *between[8];
    for (unsigned i = 0; i < 8; i++) {
        pieces[i] = layers_malloc(3 * MIB / 2);
        between[i] = layers_malloc(16384); /* so that no two pieces are one */
    }
    for (unsigned i = 0; i < 8; i++) {
        layers_free(pieces[i]);
    }
    size_t returned = hew_pressure_counts().returned, taken = 0;
    for (unsigned i = 0; i < 20; i++) { /* 4 MiB, 200 KiB at a time */
        pieces[i % 8] = layers_malloc(200 << 10);
        taken += 200 << 10;
        layers_free(pieces[i % 8]);
    }
    CHECK(hew_pressure_counts().returned - returned <= taken + 8 * MIB);
    CHECK(held() <= 64 * MIB && held() >= 50 * MIB);
    for (unsigned i = 0; i < 8; i++) {
        layers_free(between[i]);
    }
    layers_free(live);
}

TEST(a_round_of_who_returns_idle_memory_asks_nothing_while_the_limit_is_far)
{
    boot_once();
    hew_pressure_return_all();
    hew_pressure_look(0);
    CHECK_EQUAL(atomic_load(&hew_page_bound.parts), HEW_PAGE_BOUND_PARTS);
    size_t told = atomic_exchange(&hew_page_bound.caches, 12345);
    hew_pressure_round();
    CHECK_EQUAL(atomic_load(&hew_page_bound.caches), 12345); /* not updated yet */
    atomic_store(&hew_page_bound.parts, 1);
    hew_pressure_round();
    CHECK_EQUAL(atomic_load(&hew_page_bound.caches), told);
    CHECK_EQUAL(atomic_load(&hew_page_bound.parts), HEW_PAGE_BOUND_PARTS);
}

TEST(decay_keeps_all_with_a_quarter_of_the_limit_left_less_beyond_and_nothing_with_a_twentieth)
{
    boot_once();
    hew_pressure_return_all();
    static const size_t used[] = {40 * MIB, 53 * MIB, 57 * MIB, 62 * MIB};
    unsigned parts[4];
    size_t caches[4];
    for (unsigned i = 0; i < 4; i++) {
        void *live = layers_malloc(used[i]);
        hew_pressure_look(0);
        parts[i] = atomic_load(&hew_page_bound.parts);
        caches[i] = atomic_load(&hew_page_bound.caches);
        layers_free(live);
        hew_pressure_return_all();
    }
    CHECK_EQUAL(parts[0], HEW_PAGE_BOUND_PARTS);
    CHECK(parts[1] < parts[0] && parts[1] > parts[2] && parts[2] > 0);
    CHECK_EQUAL(parts[3], 0);
    CHECK(caches[0] == 3 * MIB && caches[1] > caches[2] && caches[2] > caches[3] && caches[3] == MIB);
    hew_pressure_look(0);
    CHECK_EQUAL(atomic_load(&hew_page_bound.parts), HEW_PAGE_BOUND_PARTS);
}

TEST(what_is_counted_between_two_looks_is_what_the_heaps_hold)
{
    boot_once();
    hew_pressure_look(0);
    void *objects[200];
    for (unsigned i = 0; i < 200; i++) {
        objects[i] = layers_malloc(1000 + i * 500);
    }
    size_t counted = hew_pressure_counts().held;
    CHECK_EQUAL(counted, held());
    for (unsigned i = 0; i < 200; i++) {
        layers_free(objects[i]);
    }
}

TEST(returning_all_tells_how_many_bytes_went_and_that_a_second_time_none_did)
{
    boot_once();
    hew_pressure_return_all();
    layers_free(layers_malloc(8 * MIB));
    size_t before = held(), gone = hew_pressure_return_all();
    CHECK(gone >= 8 * MIB);
    CHECK_EQUAL(gone, before - held());
    CHECK_EQUAL(hew_pressure_counts().purged, gone);
    CHECK_EQUAL(hew_pressure_return_all(), 0);
}

TEST(pages_without_an_object_in_slabs_with_some_go_back_with_all_the_rest)
{
    boot_once();
    static void *objects[20000];
    for (unsigned i = 0; i < 20000; i++) {
        objects[i] = layers_malloc(512);
    }
    for (unsigned i = 0; i < 20000; i++) {
        if (i % 64 != 0) {
            layers_free(objects[i]);
        }
    }
    CHECK(hew_pressure_return_all() >= 20000 * (size_t)512 / 2);
    hew_pressure_look(0);
    CHECK(hew_pressure_counts().held <= held() / 2); /* which does not know of holes */
    for (unsigned i = 0; i < 20000; i += 64) {
        layers_free(objects[i]);
    }
    hew_pressure_return_all();
}

TEST(what_comes_back_to_holes_is_counted_like_what_a_heap_takes)
{
    boot_once();
    static void *objects[20000];
    for (unsigned i = 0; i < 20000; i++) {
        objects[i] = layers_malloc(512);
    }
    for (unsigned i = 0; i < 20000; i++) {
        if (i % 64 != 0) {
            layers_free(objects[i]);
        }
    }
    hew_pressure_return_all();
    hew_pressure_look(0);
    size_t before = hew_pressure_counts().held;
    for (unsigned i = 0; i < 20000; i++) {
        objects[i] = i % 64 != 0 ? layers_malloc(512) : objects[i];
    }
    size_t counted = hew_pressure_counts().held;
    CHECK(counted >= before + 20000 * (size_t)512 / 2);
    hew_pressure_look(0);
    CHECK_EQUAL(counted, hew_pressure_counts().held);
    for (unsigned i = 0; i < 20000; i++) {
        layers_free(objects[i]);
    }
    hew_pressure_return_all();
    counted = hew_pressure_counts().held;
    hew_pressure_look(0);
    CHECK_EQUAL(counted, hew_pressure_counts().held);
}

static void
write_number(const char *folder, const char *name, size_t value)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fprintf(file, "%zu\n", value) > 0 && fclose(file) == 0);
}

/* From then on the group is known, but not read any more. */

TEST(near_the_groups_limit_idle_pages_go_back_and_far_from_it_none_do)
{
    boot_once();
    struct hew_cgroup group = {.limit = 48 * MIB, .unified = true};
    strcpy(group.folder, "/tmp/hew-pressure-XXXXXX");
    CHECK(mkdtemp(group.folder) != NULL);
    write_number(group.folder, "memory.current", 10 * MIB);
    hew_pressure_return_all();
    size_t relieved = hew_pressure_counts().relieved;
    hew_pressure_find(&group);
    layers_free(layers_malloc(20 * MIB));
    hew_pressure_look(0);
    CHECK_EQUAL(hew_pressure_counts().relieved, relieved);
    CHECK(held() >= 20 * MIB);
    write_number(group.folder, "memory.current", 47 * MIB); /* others have taken it */
    hew_pressure_look(0);
    CHECK_EQUAL(hew_pressure_counts().relieved, relieved + 1);
    CHECK(held() < 20 * MIB && held() > 16 * MIB); /* what is missing, and as much again as is near */
    write_number(group.folder, "memory.current", 10 * MIB);
    layers_free(layers_malloc(46 * MIB)); /* idle pages that the group has not: they will be used without being taken */
    hew_pressure_look(0);
    CHECK(hew_pressure_counts().relieved > relieved + 1);
    CHECK(held() < 40 * MIB);
    relieved = hew_pressure_counts().relieved;
    write_number(group.folder, "memory.current", 47 * MIB);
    hew_pressure_read_no_more();
    layers_free(layers_malloc(20 * MIB));
    hew_pressure_look(0);
    CHECK_EQUAL(hew_pressure_counts().relieved, relieved);
    char command[HEW_CGROUP_PATH_BYTES + 16];
    snprintf(command, sizeof command, "rm -r %s", group.folder);
    CHECK_EQUAL(system(command), 0);
}

/* Once a heap has been refused memory it keeps little that is idle, so this and the next test come last. */
TEST(a_request_beyond_the_hard_limit_fails_and_the_next_one_within_it_does_not)
{
    boot_once();
    void *most = layers_malloc(60 * MIB);
    CHECK(most != NULL);
    CHECK(layers_malloc(60 * MIB) == NULL);
    CHECK(hew_realloc_object(most, 100 * MIB) == NULL);
    void *little = layers_malloc(20 * MIB);
    CHECK(little != NULL);
    CHECK(held() <= 96 * MIB);
    layers_free(little);
    layers_free(most);
    most = layers_malloc(90 * MIB);
    CHECK(most != NULL);
    layers_free(most);
}

TEST(small_objects_stay_within_the_hard_limit_too)
{
    boot_once();
    struct object {
        struct object *next;
    } *first = NULL, *object;
    size_t made = 0;
    while (made < 200 * MIB && (object = layers_malloc(4096)) != NULL) {
        object->next = first;
        first = object;
        made += 4096;
    }
    CHECK(made >= 80 * MIB && made <= 96 * MIB);
    CHECK(held() <= 96 * MIB);
    while ((object = first) != NULL) {
        first = object->next;
        layers_free(object);
    }
}
