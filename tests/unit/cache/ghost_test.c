/* SPDX-License-Identifier: MIT */
/* ghost: what room a depot gets for what is wanted again, and what takes it back. */
#include "cache/budget.h"
#include "cache/ghost.h"
#include "page/bound.h"
#include "page/due.h"

#include "layers.h"
#include "test.h"

#define MIB ((size_t)1 << 20)
#define USUAL (4 * MIB)
#define CODE 20u

static struct hew_ghost ghost;

static unsigned
objects_of(size_t bytes)
{
    return (unsigned)(bytes / hew_slab_shapes[CODE].size);
}

static unsigned
want(unsigned code, unsigned count, bool for_others)
{
    return hew_ghost_note_wanted(&ghost, (struct hew_ghost_wish){code, count, for_others}, USUAL, 1);
}

/* So many bytes have gone home for want of room, and are wanted again. */
static void
come_again(size_t bytes)
{
    hew_ghost_note_away(&ghost, CODE, objects_of(bytes), USUAL);
    want(CODE, objects_of(bytes), false);
}

/* The same, by threads that make them for others. */
static void
come_again_for_others(size_t bytes)
{
    hew_ghost_note_away(&ghost, CODE, objects_of(bytes), USUAL);
    want(CODE, objects_of(bytes), true);
}

static size_t
room_when(size_t held)
{
    return hew_ghost_room(&ghost, held, USUAL, 1);
}

static void
grow(size_t bytes)
{
    atomic_fetch_add(&hew_page_taken_fresh, bytes);
}

/* A heap of 512 MiB, so that what room may cost is 4 MiB. */
static void
begin(void)
{
    if (hew_small_end == 0) {
        CHECK(layers_boot());
    }
    hew_budget_set_depots(100, true);
    atomic_store(&hew_page_mapped, 512 * MIB);
    ghost = (struct hew_ghost){.taken = atomic_load(&hew_page_taken_fresh)};
}

TEST(what_is_wanted_again_brings_room_in_steps_that_double)
{
    begin();
    CHECK_EQUAL(room_when(USUAL), 0);
    come_again(USUAL / 2 - MIB);
    CHECK_EQUAL(room_when(USUAL), 0);
    come_again(MIB + MIB / 16);
    CHECK_EQUAL(room_when(USUAL), USUAL / 4);
    come_again(USUAL);
    CHECK_EQUAL(room_when(USUAL), USUAL / 2);
    for (unsigned step = 0; step < 100; step++) {
        come_again(USUAL);
    }
    CHECK_EQUAL(room_when(USUAL), 7 * USUAL);
}

TEST(what_is_taken_fresh_without_having_been_here_brings_none)
{
    begin();
    CHECK_EQUAL(want(CODE, objects_of(64 * MIB), false), 0);
    hew_ghost_note_away(&ghost, CODE + 1, 1000, USUAL);
    CHECK_EQUAL(want(CODE, objects_of(64 * MIB), false), 0);
    hew_ghost_note_away(&ghost, CODE, 10, USUAL);
    CHECK_EQUAL(want(CODE, 1000, false), 10); /* and each of them once */
    CHECK_EQUAL(want(CODE, 1000, false), 0);
    CHECK_EQUAL(room_when(USUAL), 0);
}

TEST(more_than_any_room_could_hold_is_forgotten)
{
    begin();
    hew_ghost_note_away(&ghost, CODE + 1, 100, USUAL);
    hew_ghost_note_away(&ghost, CODE, objects_of(9 * USUAL), USUAL);
    CHECK_EQUAL(want(CODE + 1, 100, false), 0);
    CHECK_EQUAL(want(CODE, 100, false), 100);
}

TEST(a_heap_that_grows_while_more_than_usual_lies_here_takes_the_room_back_and_the_next_step_takes_twice_as_much)
{
    begin();
    come_again(USUAL);
    come_again(USUAL);
    grow(8 * MIB);
    CHECK_EQUAL(room_when(USUAL + MIB), USUAL / 2); /* of 8 MiB no more than 1 would have been here */
    grow(MIB);
    CHECK_EQUAL(room_when(USUAL + 64 * MIB), USUAL / 2); /* and of these 1 */
    grow(3 * MIB);
    CHECK_EQUAL(room_when(USUAL + 64 * MIB), 0); /* more than 4 in all */
    come_again(64 * MIB);
    CHECK_EQUAL(room_when(USUAL), 0); /* not before the heap has come to need what that has cost, */
    grow(2 * MIB);
    CHECK_EQUAL(room_when(USUAL), 0);
    come_again(USUAL / 2 + MIB);
    CHECK_EQUAL(room_when(USUAL), 0);
    come_again(USUAL / 2);
    CHECK_EQUAL(room_when(USUAL), USUAL / 4); /* and as much again was wanted */
}

TEST(a_heap_that_grows_while_no_more_than_usual_lies_here_costs_nothing)
{
    begin();
    come_again(USUAL);
    for (unsigned step = 0; step < 100; step++) {
        grow(8 * MIB);
        CHECK_EQUAL(room_when(USUAL), USUAL / 4);
    }
}

TEST(one_of_several_depots_may_cost_a_part_of_that)
{
    begin();
    come_again(USUAL);
    grow(2 * MIB);
    CHECK_EQUAL(hew_ghost_room(&ghost, USUAL + 8 * MIB, USUAL, 4), 0);
}

TEST(where_depots_may_not_grow_nothing_is_counted)
{
    begin();
    hew_budget_set_depots(100, false);
    hew_ghost_note_away(&ghost, CODE, 1000, USUAL);
    CHECK_EQUAL(want(CODE, 1000, false), 0);
    hew_budget_set_depots(100, true);
}

TEST(near_a_limit_of_memory_there_is_none)
{
    begin();
    come_again(USUAL);
    CHECK(room_when(USUAL) != 0);
    atomic_store(&hew_page_bound.known, true);
    atomic_store(&hew_page_bound.parts, 1);
    CHECK_EQUAL(room_when(USUAL), 0);
    atomic_store(&hew_page_bound.known, false);
    atomic_store(&hew_page_bound.parts, HEW_PAGE_BOUND_PARTS);
    CHECK(room_when(USUAL) != 0);
}

TEST(while_it_is_not_allowed_there_is_none_and_then_as_much_as_before)
{
    static const enum hew_ghost_permission permissions[] = {HEW_GHOST_SUSPENDED, HEW_GHOST_DENIED};
    for (unsigned each = 0; each < 2; each++) {
        begin();
        come_again(USUAL);
        hew_ghost_permit(permissions[each]);
        CHECK_EQUAL(room_when(USUAL), 0);
        come_again(64 * MIB);
        CHECK_EQUAL(hew_ghost_present_room(&ghost, USUAL), USUAL / 4); /* nor does it become more */
        hew_ghost_permit(HEW_GHOST_ALLOWED);
        CHECK_EQUAL(room_when(USUAL), USUAL / 4);
    }
}

TEST(what_is_made_for_others_is_asked_for_and_there_once_it_is_granted)
{
    begin();
    come_again_for_others(USUAL);
    come_again_for_others(USUAL);
    CHECK_EQUAL(room_when(USUAL), 0);
    CHECK(hew_ghost_asks(&ghost) && hew_ghost_present_room(&ghost, USUAL) == USUAL / 4);
    hew_ghost_permit(HEW_GHOST_GRANTED);
    CHECK_EQUAL(room_when(USUAL), USUAL / 4);
    come_again_for_others(USUAL);
    CHECK_EQUAL(room_when(USUAL), USUAL / 2);
    hew_ghost_permit(HEW_GHOST_ALLOWED);
    CHECK_EQUAL(room_when(USUAL), 0);
    come_again(USUAL); /* by who frees it, too: no question any more */
    CHECK(!hew_ghost_asks(&ghost));
    CHECK_EQUAL(room_when(USUAL), USUAL / 4); /* nor is there at once what came while it was granted */
}

TEST(most_of_what_is_wanted_says_whether_it_is_asked_for)
{
    begin();
    come_again_for_others(MIB);
    come_again(MIB + MIB / 2);
    CHECK(!hew_ghost_asks(&ghost) && room_when(USUAL) == USUAL / 4);
    come_again_for_others(USUAL); /* nobody's room is asked for that is there */
    CHECK(!hew_ghost_asks(&ghost) && room_when(USUAL) == USUAL / 2);
    begin();
    come_again(MIB / 2);
    come_again_for_others(2 * MIB);
    CHECK(hew_ghost_asks(&ghost) && room_when(USUAL) == 0);
    hew_ghost_permit(HEW_GHOST_GRANTED);
    CHECK_EQUAL(room_when(USUAL), USUAL / 4);
    grow(64 * MIB);
    CHECK_EQUAL(room_when(USUAL + 64 * MIB), 0); /* what has cost memory goes, and is asked for anew */
    hew_ghost_permit(HEW_GHOST_ALLOWED);
}

TEST(growth_while_it_is_suspended_is_neither_charged_nor_paid_back)
{
    begin();
    come_again(USUAL);
    grow(MIB);
    CHECK_EQUAL(room_when(USUAL + 64 * MIB), USUAL / 4);
    size_t cost = atomic_load(&ghost.cost);
    CHECK_EQUAL(cost, MIB);
    hew_ghost_permit(HEW_GHOST_SUSPENDED);
    grow(64 * MIB);
    CHECK_EQUAL(room_when(USUAL + 64 * MIB), 0);
    grow(64 * MIB);
    CHECK_EQUAL(room_when(0), 0);
    hew_ghost_permit(HEW_GHOST_ALLOWED);
    CHECK_EQUAL(room_when(USUAL), USUAL / 4);
    CHECK_EQUAL(atomic_load(&ghost.cost), cost);
}

TEST(the_room_follows_what_is_usual_as_that_becomes_less)
{
    begin();
    for (unsigned step = 0; step < 100; step++) {
        come_again(USUAL);
    }
    CHECK_EQUAL(hew_ghost_room(&ghost, 0, USUAL / 16, 16), 7 * (USUAL / 16));
    CHECK_EQUAL(hew_ghost_present_room(&ghost, USUAL / 16), 7 * (USUAL / 16));
}

TEST(a_thread_that_has_read_an_older_number_changes_nothing)
{
    begin();
    come_again(USUAL);
    atomic_store(&ghost.taken, atomic_load(&hew_page_taken_fresh) + 64 * MIB);
    CHECK_EQUAL(room_when(USUAL + 8 * MIB), USUAL / 4);
    CHECK_EQUAL(atomic_load(&ghost.cost), 0);
    CHECK_EQUAL(atomic_load(&ghost.taken), atomic_load(&hew_page_taken_fresh) + 64 * MIB);
}
