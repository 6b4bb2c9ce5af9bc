/* SPDX-License-Identifier: MIT */
/* Unit tests of slab/hole: which regions lie on which piece of a slab, for every class, against a count one by one. */
#include "slab/hole.h"

#include "layers.h"
#include "slab/arena.h"
#include "test.h"

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
        hew_page_give(&arena->pages, slab);
    }
}
