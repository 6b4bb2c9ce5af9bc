/* SPDX-License-Identifier: MIT */
/* Unit tests of slab/hole: which regions lie on which piece of a slab, for every class, against a count one by one. */
#include "slab/hole.h"

#include "layers.h"
#include "slab/arena.h"
#include "test.h"

#include "fakes/child.h"

#include <signal.h>

static bool
lies_on(const struct hew_slab_shape *shape, unsigned region, unsigned piece)
{
    size_t start = (size_t)region * shape->size, from = piece * hew_hole_piece(shape);
    return start < from + hew_hole_piece(shape) && start + shape->size > from;
}

static unsigned
check_taken(const struct hew_extent *slab, unsigned piece)
{
    const struct hew_slab_shape *shape = hew_slab_shape(slab);
    unsigned wrong = 0, count = 0;
    for (unsigned region = 0; region < shape->regions; region++) {
        count += lies_on(shape, region, piece);
        wrong += hew_slab_is_taken(slab, region) != lies_on(shape, region, piece);
    }
    CHECK_EQUAL(wrong, 0);
    return count;
}

TEST(of_every_class_the_regions_that_touch_a_piece_are_taken_out_with_it_and_come_back)
{
    CHECK(layers_boot());
    struct hew_arena *arena = hew_arena_get(0);
    for (unsigned code = 1; code <= HEW_CODE_SMALL_LAST; code++) {
        struct hew_extent *slab = hew_slab_make(&arena->pages, code);
        unsigned regions = hew_slab_shapes[code].regions;
        uint32_t all = hew_hole_idle(slab);
        CHECK(all != 0 && (all & (all + 1)) == 0); /* all pieces, from the first one on */
        for (unsigned piece = 0; piece < 32 && all >> piece != 0; piece++) {
            hew_hole_take_out(slab, UINT32_C(1) << piece);
            CHECK_EQUAL(slab->slab.free_regions, regions - check_taken(slab, piece));
            CHECK_EQUAL(hew_hole_idle(slab) >> piece & 1, 0);
            hew_hole_put_back(slab, UINT32_C(1) << piece);
            CHECK(slab->slab.free_regions == regions && hew_hole_idle(slab) == all);
        }
        hew_hole_take_out(slab, all);
        CHECK_EQUAL(slab->slab.free_regions, 0);
        hew_hole_put_back(slab, all);
        CHECK(slab->slab.free_regions == regions && hew_slab_valid(slab));
        hew_slab_end(slab);
        hew_page_give(arena->pages.heap, slab);
    }
}

static struct hew_extent *freed_on;

/* A region of the second word, so that its number takes all of the words before into account. */
#define REGION 70u

static void
put_back_what_was_freed(void)
{
    const struct hew_slab_shape *shape = hew_slab_shape(freed_on);
    size_t piece = (size_t)REGION * shape->size / hew_hole_piece(shape);
    hew_hole_take_out(freed_on, UINT32_C(1) << piece);
    CHECK(hew_slab_is_taken(freed_on, REGION));
    freed_on->slab.bits[REGION / 64] |= UINT64_C(1) << REGION % 64; /* as a second free() does, which cannot tell */
    hew_hole_put_back(freed_on, UINT32_C(1) << piece);
}

TEST(an_object_that_was_freed_again_while_its_page_was_out_is_named_when_it_comes_back)
{
    char line[256];
    freed_on = hew_slab_make(&hew_arena_get(0)->pages, hew_code_of_size(112));
    size_t address = freed_on->address + (uintptr_t)REGION * 112;
    snprintf(line, sizeof line,
             "<hew>: free(%#zx): double free: the object was free already, on a page about to be returned\n", address);
    struct child_end end = child_run(put_back_what_was_freed);
    CHECK(WIFSIGNALED(end.status) && WTERMSIG(end.status) == SIGABRT);
    CHECK(strcmp(end.error, line) == 0);
    hew_slab_end(freed_on);
    hew_page_give(hew_arena_get(0)->pages.heap, freed_on);
}
