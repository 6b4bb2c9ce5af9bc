/* SPDX-License-Identifier: MIT */
/* depot: what lies between magazines and slabs. */
#include "one_thread.h"

#include "cache/owner.h"
#include "page/due.h"

#include "fakes/child.h"

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

TEST(a_depot_comes_to_hold_what_it_had_no_room_for_and_gives_it_back_when_the_heap_grows)
{
    new_cache();
    hew_budget_set_depots(100, true);
    atomic_fetch_add(&hew_page_mapped, (size_t)8 << 20); /* large enough for a purger */
    size_t usual = hew_budget_depot(1);
    for (unsigned rounds = 0; rounds < 20 && hew_depot_counts().ghost_room == 0; rounds++) {
        come_and_go(1, (unsigned)(usual / 4096) + 50); /* the first step: what is too much is little */
    }
    CHECK_EQUAL(hew_depot_counts().ghost_room, atomic_load(&hew_page_mapped) / 64);
    come_and_go(20, WAVE);
    CHECK_EQUAL(hew_depot_counts().bytes, WAVE * 4096); /* all of them have room */
    CHECK(hew_depot_counts().bytes > usual && hew_depot_counts().bytes <= usual + hew_depot_counts().ghost_room);
    size_t held = hew_depot_counts().bytes;
    hew_depot_fit(0, 0);
    CHECK_EQUAL(hew_depot_counts().bytes, held); /* there is room yet */
    atomic_fetch_add(&hew_page_taken_fresh, (size_t)4 << 20);
    hew_depot_fit(0, 0);
    held = hew_depot_counts().bytes;
    CHECK(held > usual); /* as much as is taken at a time goes, */
    hew_depot_fit(0, (size_t)1 << 20);
    CHECK(hew_depot_counts().bytes + ((size_t)1 << 20) <= held); /* or as is wanted, */
    hew_depot_fit(0, (size_t)64 << 20);
    CHECK_EQUAL(hew_depot_counts().ghost_room, 0);
    CHECK(hew_depot_counts().bytes <= usual);
    CHECK(hew_depot_counts().bytes + 128 * 4096 > usual); /* but no more than lies beyond */
    hew_depot_fit(100, 0);                                /* there is no such depot */
    hew_depot_note_fresh(100, (struct hew_ghost_wish){CODE, 1, false});
    atomic_fetch_sub(&hew_page_mapped, (size_t)8 << 20);
    end_cache();
}

/* A thread takes more objects of 4096 bytes than depots have room for, and frees so many eighths of them itself; others free the rest,
 * until a depot gets room. */
static struct hew_depot_room
want_again(unsigned freed_of_eight)
{
    struct hew_cache *cache = new_cache();
    unsigned code = hew_code_of_size(4096);
    hew_budget_set_depots(100, true);
    hew_depot_drain(true);
    atomic_fetch_add(&hew_page_mapped, (size_t)64 << 20);
    atomic_fetch_add(&hew_page_taken_fresh, (size_t)64 << 20); /* what has cost memory before is needed by now */
    for (unsigned round = 0; round < 60 && hew_depot_room().more == 0; round++) {
        take_many(cache, code, WAVE);
        unsigned own = WAVE * freed_of_eight / 8;
        give_many(cache, code, own);
        for (unsigned given = own; given < WAVE; given += 32) {
            hew_depot_give(0, code, objects + given, WAVE - given < 32 ? WAVE - given : 32);
        }
    }
    struct hew_depot_room room = hew_depot_room();
    CHECK(room.more != 0);
    CHECK_EQUAL(room.there, room.more - room.asked);
    hew_ghost_permit(HEW_GHOST_GRANTED);
    CHECK_EQUAL(hew_depot_counts().ghost_room, room.more);
    hew_ghost_permit(HEW_GHOST_ALLOWED);
    atomic_fetch_sub(&hew_page_mapped, (size_t)64 << 20);
    end_cache();
    return room;
}

static void
frees_a_quarter(void)
{
    struct hew_depot_room room = want_again(2);
    CHECK_EQUAL(room.asked, room.more);
}

static void
frees_most(void)
{
    CHECK_EQUAL(want_again(6).asked, 0);
}

TEST(what_a_thread_wants_that_frees_little_of_it_is_asked_for)
{
    CHECK_EQUAL(child_run(frees_a_quarter).status, 0);
    CHECK_EQUAL(child_run(frees_most).status, 0);
}

TEST(a_depot_that_may_not_grow_does_not)
{
    new_cache();
    atomic_fetch_add(&hew_page_mapped, (size_t)8 << 20);
    hew_budget_set_depots(100, false);
    come_and_go(20, WAVE);
    CHECK_EQUAL(hew_depot_counts().ghost_room, 0);
    hew_budget_set_depots(100, true);
    atomic_fetch_add(&hew_page_taken_fresh, (size_t)64 << 20); /* what an earlier test has cost is needed by now */
    hew_depot_drain(true);
    come_and_go(200, WAVE);
    CHECK(hew_depot_counts().ghost_room != 0); /* and the same work brings room where it may */
    atomic_fetch_sub(&hew_page_mapped, (size_t)8 << 20);
    end_cache();
}

TEST(the_purger_looks_after_a_depot_that_is_half_full_by_its_usual_room)
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
