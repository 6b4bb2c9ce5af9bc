/* SPDX-License-Identifier: MIT */
/* neighbor: regions of another arena's slabs, for an arena that would have to make one. */
#include "slab/neighbor.h"

#include "layers.h"
#include "test.h"

#define CODE hew_code_of_size(1024)
#define SLABS 8u

static void *objects[4096];
static struct hew_arena *owner, *needy;

static unsigned
of_slab(void)
{
    return hew_slab_shapes[CODE].regions;
}

static void
give_to(struct hew_arena *arena, void **from, unsigned count)
{
    CHECK_EQUAL(hew_bin_give(&arena->bins[CODE], &arena->pages, from, count), count);
}

/* So many slabs of the owner's have one free region each. */
static void
open_slabs(unsigned slabs)
{
    for (unsigned slab = 0; slab < slabs; slab++) {
        give_to(owner, &objects[slab * of_slab()], 1);
    }
}

/* The owner has so many full slabs, and a current one of which one region is out. */
static void
begin(void)
{
    if (hew_small_end == 0) {
        CHECK(layers_boot());
        hew_options.narenas = 3;
        owner = hew_arena_get(0);
        layers_take_regions(owner, CODE, objects, 1);
        CHECK_EQUAL(hew_neighbor_take(owner, CODE, objects + 1, 1), 0); /* there is nobody else yet */
        give_to(owner, objects, 1);
        needy = hew_arena_get(2);
    }
    layers_take_regions(owner, CODE, objects, SLABS * of_slab() + 1);
}

static void
end(void)
{
    hew_arena_trim(owner);
    hew_page_decay(&owner->pages, 0, true);
    hew_page_decay(&needy->pages, 0, true);
}

/* What is out of the owner's slabs goes back. */
static void
give_back(unsigned opened)
{
    for (unsigned slab = 0; slab < SLABS; slab++) {
        unsigned skip = slab < opened ? 1 : 0;
        give_to(owner, &objects[slab * of_slab() + skip], of_slab() - skip);
    }
    give_to(owner, &objects[SLABS * of_slab()], 1);
    end();
}

TEST(an_arena_without_pages_gets_regions_of_one_that_has_many_slabs_with_some)
{
    begin();
    open_slabs(6);
    void *got[4];
    unsigned count = hew_neighbor_take(needy, CODE, got, 4);
    CHECK(count >= 1 && count <= 4);
    for (unsigned i = 0; i < count; i++) {
        CHECK_EQUAL(hew_map_extent((uintptr_t)got[i])->arena, owner->index);
    }
    CHECK_EQUAL(needy->bins[CODE].counts.slabs, 0);
    give_to(owner, got, count);
    give_back(6);
}

TEST(who_has_few_slabs_with_regions_keeps_them)
{
    begin();
    open_slabs(2);
    void *got[4];
    CHECK_EQUAL(hew_neighbor_take(needy, CODE, got, 4), 0);
    CHECK_EQUAL(hew_neighbor_take(needy, CODE + 1, got, 4), 0);
    give_back(2);
}

TEST(an_arena_that_has_pages_makes_a_slab_of_them)
{
    begin();
    open_slabs(6);
    struct hew_extent *pages = hew_page_take(&needy->pages, (size_t)256 << 10, HEW_PAGE, HEW_CODE_SLOW);
    hew_page_give(&needy->pages, pages);
    void *got[4];
    CHECK_EQUAL(hew_neighbor_take(needy, CODE, got, 4), 0);
    hew_page_decay(&needy->pages, 0, true);
    unsigned count = hew_neighbor_take(needy, CODE, got, 4);
    CHECK(count != 0);
    give_to(owner, got, count);
    give_back(6);
}

TEST(an_arena_of_the_programs_own_neither_gives_nor_takes)
{
    begin();
    open_slabs(6);
    hew_mutex_lock(&hew_arenas_lock);
    struct hew_arena *made = hew_arena_make(hew_arena_new_number(), true);
    hew_mutex_unlock(&hew_arenas_lock);
    void *got[4];
    CHECK_EQUAL(hew_neighbor_take(made, CODE, got, 4), 0);
    CHECK(hew_neighbor_take(needy, CODE, got, 1) == 1);
    give_to(owner, got, 1);
    give_back(6);
    atomic_store(&hew_arena_was_created, false);
}

TEST(memory_of_another_kind_is_not_taken)
{
    begin();
    open_slabs(6);
    void *got[4];
    uint8_t thp = needy->pages.thp, dss = needy->pages.dss;
    needy->pages.thp = (uint8_t)(thp + 1);
    CHECK_EQUAL(hew_neighbor_take(needy, CODE, got, 4), 0);
    needy->pages.thp = thp;
    needy->pages.dss = (uint8_t)(dss + 1);
    CHECK_EQUAL(hew_neighbor_take(needy, CODE, got, 4), 0);
    needy->pages.dss = dss;
    for (unsigned which = 0; which < 2; which++) {
        struct hew_page_heap *hooked = which == 0 ? &needy->pages : &owner->pages;
        hooked->hooks = (struct hew_extent_hooks *)(void *)got; /* only looked for, never called */
        CHECK_EQUAL(hew_neighbor_take(needy, CODE, got, 4), 0);
        hooked->hooks = NULL;
    }
    CHECK(hew_neighbor_take(needy, CODE, got, 1) == 1);
    give_to(owner, got, 1);
    give_back(6);
}
