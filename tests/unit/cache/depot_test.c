/* SPDX-License-Identifier: MIT */
/* depot: what lies between magazines and slabs. */
#include "one_thread.h"

#include "cache/owner.h"
#include "page/due.h"

static unsigned
taken_from_bin(unsigned code, unsigned wanted)
{
    layers_take_regions(hew_arena_get(0), code, objects, wanted);
    return wanted;
}

TEST(the_newest_objects_leave_first_and_in_order)
{
    new_cache();
    void *got[8];
    taken_from_bin(CODE, 8);
    hew_depot_give(0, CODE, objects, 8);
    CHECK_EQUAL(hew_depot_held(CODE), 8);
    CHECK_EQUAL(hew_depot_take(0, CODE, got, 3), 3);
    CHECK(got[0] == objects[5] && got[1] == objects[6] && got[2] == objects[7]);
    CHECK_EQUAL(hew_depot_take(0, CODE, got, 8), 5);
    CHECK(got[0] == objects[0] && got[4] == objects[4]);
    CHECK_EQUAL(hew_depot_take(0, CODE, got, 8), 0);
    hew_owner_give(CODE, objects, 8);
    end_cache();
}

TEST(classes_do_not_mix)
{
    new_cache();
    void *got[8];
    taken_from_bin(CODE, 8);
    hew_depot_give(0, CODE, objects, 8);
    CHECK_EQUAL(hew_depot_take(0, CODE + 1, got, 8), 0);
    CHECK_EQUAL(hew_depot_held(CODE), 8);
    end_cache();
}

TEST(what_nobody_needs_goes_back_in_the_second_round_and_what_is_used_stays)
{
    struct hew_cache *cache = new_cache();
    const struct hew_bin_counts *counts = &cache->arena->bins[CODE].counts;
    void *got[60];
    uint64_t before = counts->nmalloc - counts->ndalloc;
    taken_from_bin(CODE, 100);
    hew_depot_give(0, CODE, objects, 100);
    CHECK(hew_depot_drain(false)); /* the first round only begins to look */
    CHECK_EQUAL(hew_depot_held(CODE), 100);
    CHECK_EQUAL(hew_depot_take(0, CODE, got, 60), 60);
    hew_depot_give(0, CODE, got, 60);
    CHECK(hew_depot_drain(false));
    CHECK_EQUAL(hew_depot_held(CODE), 60); /* 40 were never wanted */
    CHECK_EQUAL(counts->nmalloc - counts->ndalloc - before, 60);
    CHECK(!hew_depot_drain(false));
    CHECK_EQUAL(hew_depot_held(CODE), 0);
    CHECK_EQUAL(counts->nmalloc - counts->ndalloc, before);
    end_cache();
}

TEST(everything_goes_back_when_it_is_asked_for)
{
    new_cache();
    taken_from_bin(CODE, 1000);
    hew_depot_give(0, CODE, objects, 1000);
    CHECK_EQUAL(hew_depot_counts().bytes, 1000 * hew_code_size(CODE));
    CHECK(!hew_depot_drain(true));
    CHECK_EQUAL(hew_depot_counts().bytes, 0);
    CHECK_EQUAL(hew_depot_held(CODE), 0);
    end_cache();
}

TEST(a_depot_holds_so_many_bytes_and_what_is_more_goes_to_its_owners)
{
    new_cache();
    unsigned code = hew_code_of_size(4096);
    uint64_t refused = hew_depot_counts().refusals;
    for (unsigned round = 0; round < 3; round++) {
        taken_from_bin(code, 400);
        hew_depot_give(0, code, objects, 400);
        CHECK(hew_depot_counts().bytes <= hew_budget_depot(1));
    }
    CHECK(hew_depot_counts().bytes + 4096 > hew_budget_depot(1));
    CHECK(hew_depot_counts().refusals > refused);
    end_cache();
}

TEST(a_full_depot_makes_room_at_the_cost_of_what_nobody_needs)
{
    new_cache();
    unsigned idle = hew_code_of_size(4096), busy = hew_code_of_size(2048);
    taken_from_bin(idle, 400);
    hew_depot_give(0, idle, objects, 400);
    size_t before = hew_depot_held(idle);
    for (unsigned round = 0; round < 400; round++) {
        unsigned got = taken_from_bin(busy, 64);
        hew_depot_give(0, busy, objects, got);
    }
    CHECK(hew_depot_held(idle) < before / 2);
    CHECK(hew_depot_held(busy) > 100);
    end_cache();
}

TEST(the_purger_looks_after_a_depot_that_is_half_full)
{
    new_cache();
    unsigned code = hew_code_of_size(4096);
    atomic_fetch_add(&hew_page_mapped, (size_t)8 << 20);
    unsigned half = (unsigned)(hew_budget_depot(1) / 2 / 4096);
    taken_from_bin(code, half + 1);
    atomic_store(&hew_page_due, 0);
    hew_depot_give(0, code, objects, half - 8);
    CHECK_EQUAL(atomic_load(&hew_page_due), 0);
    hew_depot_give(0, code, objects + half - 8, 9);
    CHECK_EQUAL(atomic_load(&hew_page_due), 1);
    atomic_store(&hew_page_due, 0);
    atomic_fetch_sub(&hew_page_mapped, (size_t)8 << 20);
    end_cache();
}

TEST(a_ring_that_has_wrapped_grows_in_order)
{
    new_cache();
    void *got[200];
    taken_from_bin(CODE, 200);
    hew_depot_give(0, CODE, objects, 60);
    hew_depot_drain(false);
    CHECK(!hew_depot_drain(false)); /* the ring begins anew, */
    hew_depot_give(0, CODE, objects + 60, 40);
    hew_depot_drain(false);
    CHECK_EQUAL(hew_depot_take(0, CODE, got, 8), 8);
    hew_depot_drain(false); /* its oldest leave, so that it begins in the middle, */
    hew_depot_give(0, CODE, objects + 100, 60);
    hew_depot_give(0, CODE, objects + 160, 40); /* wraps, and grows */
    CHECK_EQUAL(hew_depot_take(0, CODE, got + 8, 100), 100);
    for (unsigned i = 0; i < 100; i++) {
        CHECK(got[8 + i] == objects[100 + i]);
    }
    hew_owner_give(CODE, got, 108);
    end_cache();
}

TEST(objects_of_an_arena_that_a_program_has_made_are_not_kept)
{
    struct hew_cache *cache = new_cache();
    hew_mutex_lock(&hew_arenas_lock);
    struct hew_arena *made = hew_arena_make(hew_arena_new_number(), true);
    hew_mutex_unlock(&hew_arenas_lock);
    CHECK(made != NULL);
    unsigned got = hew_bin_take(&made->bins[CODE], &made->pages, CODE, objects, 5);
    CHECK_EQUAL(got, 5);
    void *mixed[6] = {objects[0], objects[1], NULL, objects[2], objects[3], objects[4]};
    CHECK_EQUAL(hew_bin_take(&cache->arena->bins[CODE], &cache->arena->pages, CODE, &mixed[2], 1), 1);
    void *own = mixed[2];
    hew_depot_give(0, CODE, mixed, 6);
    CHECK_EQUAL(hew_depot_held(CODE), 1);
    CHECK_EQUAL(made->bins[CODE].counts.nmalloc, made->bins[CODE].counts.ndalloc);
    void *back;
    CHECK_EQUAL(hew_depot_take(0, CODE, &back, 1), 1);
    CHECK(back == own);
    hew_owner_give(CODE, &back, 1);
    atomic_store(&hew_arena_was_created, false);
    end_cache();
}

TEST(a_ring_that_was_large_once_does_not_stay_so)
{
    enum { MANY = 4096, FEW = 100 };
    new_cache();
    taken_from_bin(CODE, MANY);
    hew_depot_give(0, CODE, objects, FEW);
    size_t before = hew_meta_usage().used;
    hew_depot_give(0, CODE, objects + FEW, MANY - FEW);
    CHECK(hew_meta_usage().used >= before + MANY * sizeof(void *) / 2);
    hew_depot_drain(false);
    CHECK_EQUAL(hew_depot_take(0, CODE, objects, MANY - FEW), MANY - FEW);
    hew_owner_give(CODE, objects, MANY - FEW);
    hew_depot_take(0, CODE, objects, FEW); /* they are in use, */
    hew_depot_give(0, CODE, objects, FEW);
    hew_depot_drain(false);
    CHECK_EQUAL(hew_depot_held(CODE), FEW); /* and stay */
    CHECK(hew_meta_usage().used <= before + 4 * FEW * sizeof(void *));
    CHECK_EQUAL(hew_depot_take(0, CODE, objects + FEW, FEW), FEW);
    for (unsigned i = 0; i < FEW; i++) {
        CHECK(objects[i] == objects[FEW + i]);
    }
    hew_owner_give(CODE, objects, FEW);
    end_cache();
}

TEST(a_ring_that_has_become_smaller_has_room_for_as_many_again)
{
    enum { MANY = 4096, FEW = 80 };
    new_cache();
    taken_from_bin(CODE, MANY);
    hew_depot_give(0, CODE, objects, MANY);
    hew_depot_drain(false);
    CHECK_EQUAL(hew_depot_take(0, CODE, objects, MANY), MANY);
    hew_depot_give(0, CODE, objects, FEW);
    size_t large = hew_meta_usage().used;
    hew_depot_drain(false);
    CHECK_EQUAL(hew_depot_held(CODE), FEW);
    size_t small = hew_meta_usage().used;
    CHECK(small < large);
    hew_depot_give(0, CODE, objects + FEW, FEW);
    CHECK_EQUAL(hew_meta_usage().used, small);
    CHECK_EQUAL(hew_depot_take(0, CODE, objects, 2 * FEW), 2 * FEW);
    hew_owner_give(CODE, objects, MANY);
    end_cache();
}

/* The last one: depots stay, and share what they may hold. */
TEST(of_two_cpus_among_many_numbers_each_finds_at_once_what_the_other_has)
{
    new_cache();
    void *got[8];
    taken_from_bin(CODE, 16);
    for (unsigned own = 0; own < 12; own += 11) { /* numbers as of CPUs far apart: no depot lies between them */
        hew_depot_give(own, CODE, objects, 8);
        CHECK_EQUAL(hew_depot_take(own, CODE, got, 8), 8);
    }
    uint64_t misses = hew_depot_counts().misses;
    hew_depot_give(11, CODE, objects, 8);
    CHECK_EQUAL(hew_depot_take(0, CODE, got, 8), 8);
    hew_depot_give(0, CODE, objects, 8);
    CHECK_EQUAL(hew_depot_take(11, CODE, got, 8), 8);
    CHECK_EQUAL(hew_depot_counts().misses, misses);
    hew_owner_give(CODE, objects, 16);
    end_cache();
}
