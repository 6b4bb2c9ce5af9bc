/* SPDX-License-Identifier: MIT */
/*
 * work: a program that uses every part of the allocator a little and looks at nothing: what it meets, the checks inside the
 * library have to say.  Ends with 0 when they find nothing.  Linked with one file of the library that has a fault: run.py.
 */
#include "layers_alloc.h"

#include "fakes/random.h"
#include "os/clock.h"
#include "page/heap.h"
#include "slab/arena_life.h"

#define OBJECTS 600
#define ROUNDS 12

static void *objects[OBJECTS];
static uint64_t state = 1;

/* Small ones mostly; large ones of each kind. */
static size_t
some_size(void)
{
    static const size_t most[] = {64, 512, 4096, 14336, 100000, 3000000};
    unsigned kind = (unsigned)random_below(&state, 16);
    return 1 + random_below(&state, most[kind < 6 ? kind : kind % 3]);
}

static void
change_one(void)
{
    void **place = &objects[random_below(&state, OBJECTS)];
    if (*place != NULL) {
        layers_free(*place);
        *place = NULL;
    } else if (random_below(&state, 16) == 0) {
        *place = hew_alloc_aligned(some_size(), (size_t)16 << random_below(&state, 10), false);
    } else {
        *place = layers_malloc(some_size());
    }
}

/* A burst of one size, freed in the order in which it came. */
static void
burst(size_t size)
{
    static void *many[3000];
    unsigned count = size > 4096 ? 40 : 3000;
    for (unsigned i = 0; i < count; i++) {
        many[i] = layers_malloc(size);
    }
    for (unsigned i = 0; i < count; i++) {
        layers_free(many[i]);
    }
}

static void
idle(struct hew_arena *arena, unsigned round)
{
    uint64_t now = hew_clock_ms() + (round + 1) * (uint64_t)100000;
    hew_page_decay(arena->pages.heap, now, false);
    hew_page_decay(arena->pages.heap, now + 1000, false);
    hew_page_decay(arena->pages.heap, now + 20000, true);
}

/* An arena of the program's, with objects in it, comes and goes. */
static void
use_an_arena(void)
{
    void *taken[64];
    int index = hew_arena_create(NULL);
    struct hew_arena *arena = index < 0 ? NULL : hew_arena_at((unsigned)index);
    if (arena != NULL) {
        hew_bin_take(&arena->bins[3], &arena->pages, 3, taken, 64);
        struct hew_extent *extent = hew_page_take(arena->pages.heap, 8 * HEW_PAGE, HEW_PAGE, HEW_CODE_SLOW);
        hew_page_shrink(arena->pages.heap, extent, 5 * HEW_PAGE);
        hew_page_grow(arena->pages.heap, extent, 7 * HEW_PAGE);
        hew_page_give(arena->pages.heap, extent);
        hew_large_take(arena, 300000, HEW_PAGE, hew_large_code(300000));
        hew_arena_destroy((unsigned)index, NULL);
    }
}

int
main(void)
{
    if (!layers_boot()) {
        return 2;
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned turn = 0; turn < 4000; turn++) {
            change_one();
        }
        burst(48);
        burst(9000);
        burst(200000);
        idle(hew_arena_at(0), round);
        use_an_arena();
        layers_end_thread();
    }
    return 0;
}
