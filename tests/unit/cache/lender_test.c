/* SPDX-License-Identifier: MIT */
/* Each test in a process of its own: which arenas lend is decided once.  One processor, so that all arenas but the first borrow. */
#include "one_thread.h"

#include "meta/map.h"
#include "slab/arena_life.h"

#include "fakes/child.h"

#include <sched.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define LENT ((size_t)32 << 10)

static struct hew_cache *first, *second; /* of the first arena, and of one beyond the processors */

static void
begin_two(void)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
    CHECK(layers_boot());
    hew_options.narenas = 3;
    first = hew_thread_birth(true);
    second = hew_thread_birth(true);
    CHECK(first->arena->index == 0 && second->arena->index == 1);
}

static void
end_two(void)
{
    hew_thread_death();
    hew_cache_self = first;
    hew_thread_death();
    CHECK_EQUAL(first->arena->borrowers, 0);
}

static unsigned
arena_of(const void *object)
{
    return hew_map_extent((uintptr_t)object)->arena;
}

static void
borrowing(void)
{
    begin_two();
    CHECK(first->lender == NULL && second->lender == first->arena);
    CHECK_EQUAL(first->arena->borrowers, 1);
    CHECK_EQUAL(first->arena->threads, 1);
    void *object = take(second, CODE);
    CHECK_EQUAL(arena_of(object), 0);
    give(second, CODE, object);
    end_two();
}

TEST(a_thread_of_an_arena_beyond_the_processors_begins_on_the_slabs_of_its_lender)
{
    CHECK_EQUAL(child_run(borrowing).status, 0);
}

static void
outgrowing(void)
{
    begin_two();
    unsigned of_lender = 0, most = (unsigned)(LENT / 64);
    take_many(second, CODE, 4 * most);
    for (unsigned i = 0; i < 4 * most; i++) {
        of_lender += arena_of(objects[i]) == 0;
    }
    CHECK(of_lender > most / 2 && of_lender <= most);
    CHECK_EQUAL(arena_of(objects[0]), 0);
    CHECK_EQUAL(arena_of(objects[4 * most - 1]), 1);
    give_many(second, CODE, 4 * most);
    end_two();
}

TEST(who_holds_much_of_a_class_has_slabs_of_the_own_arena)
{
    CHECK_EQUAL(child_run(outgrowing).status, 0);
}

static void
outgrowing_large(void)
{
    begin_two();
    unsigned code = hew_code_of_size(16384);
    take_many(second, code, 3);
    CHECK(arena_of(objects[0]) == 0 && arena_of(objects[1]) == 0 && arena_of(objects[2]) == 1);
    give_many(second, code, 3);
    end_two();
}

TEST(large_classes_are_lent_by_bytes_like_small_ones)
{
    CHECK_EQUAL(child_run(outgrowing_large).status, 0);
}

static void
choosing(void)
{
    begin_two();
    CHECK(hew_thread_bind(second, second->arena));
    CHECK(second->lender == NULL && first->arena->borrowers == 0);
    void *object = take(second, CODE);
    CHECK_EQUAL(arena_of(object), 1);
    give(second, CODE, object);
    end_two();
}

TEST(a_thread_whose_arena_the_program_has_chosen_borrows_nothing)
{
    CHECK_EQUAL(child_run(choosing).status, 0);
}

static void
moving(void)
{
    begin_two();
    CHECK(hew_thread_bind(second, hew_arena_get(2)));
    CHECK(second->lender == NULL && first->arena->borrowers == 0);
    end_two();
}

TEST(a_thread_that_is_bound_to_another_arena_borrows_nothing)
{
    CHECK_EQUAL(child_run(moving).status, 0);
}

static void
leaving(void)
{
    begin_two();
    struct hew_arena *own = second->arena;
    hew_thread_leave();
    CHECK(second->lender == NULL && first->arena->borrowers == 0);
    struct hew_cache *next = hew_thread_birth(true);
    CHECK(next == second && next->arena == own && next->lender == first->arena);
    CHECK_EQUAL(first->arena->borrowers, 1);
    end_two();
}

TEST(a_kept_cache_borrows_again_for_the_thread_that_takes_it)
{
    CHECK_EQUAL(child_run(leaving).status, 0);
}

static void
forking(void)
{
    begin_two();
    struct hew_cache *third = hew_thread_birth(true);
    CHECK(third->lender == first->arena && first->arena->borrowers == 2);
    pid_t child = fork();
    if (child == 0) {
        hew_thread_after_fork();
        CHECK_EQUAL(first->arena->borrowers, 1);
        child_leave();
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    hew_thread_death();
    hew_cache_self = second;
    end_two();
}

TEST(a_forks_child_is_the_only_borrower)
{
    CHECK_EQUAL(child_run(forking).status, 0);
}

static void
hooking(void)
{
    begin_two();
    struct hew_arena *own = second->arena, *lender = first->arena;
    struct hew_extent_hooks *hooks = (struct hew_extent_hooks *)objects; /* only looked at */
    CHECK(hew_arena_lends(own, lender) == lender);
    own->pages.hooks = hooks;
    CHECK(hew_arena_lends(own, lender) == own);
    own->pages.hooks = NULL;
    lender->pages.hooks = hooks;
    CHECK(hew_arena_lends(own, lender) == own);
    lender->pages.hooks = NULL;
    CHECK(hew_arena_borrow(hew_arena_find((unsigned)hew_arena_create(NULL))) == NULL);
    end_two();
}

TEST(nothing_is_lent_where_a_program_has_hooks_and_to_arenas_of_its_own)
{
    CHECK_EQUAL(child_run(hooking).status, 0);
}

static void
looking_after(void)
{
    begin_two();
    struct hew_arena *lender = first->arena, *own = second->arena;
    give(second, CODE, take(second, CODE));
    CHECK_EQUAL(hew_arena_next_used(own, 1), HEW_CODES);
    CHECK_EQUAL(hew_arena_next_used(lender, 1), CODE);
    CHECK_EQUAL(hew_arena_next_used(lender, CODE + 1), HEW_CODES);
    hew_arena_trim(own);
    hew_holes_return(own, 1000000, true);
    CHECK(own->holes.looked_ms == 0); /* nothing of it was written */
    uint64_t before = lender->bins[CODE].lock.operations;
    hew_arena_trim(lender);
    CHECK_EQUAL(lender->bins[CODE].lock.operations, before + 1);
    for (unsigned code = 1; code <= HEW_CODE_SMALL_LAST; code++) {
        CHECK(own->bins[code].lock.operations == 0 && (code == CODE || lender->bins[code].lock.operations == 0));
    }
    end_two();
}

TEST(whoever_looks_after_an_arena_leaves_bins_untouched_that_have_had_no_slab)
{
    CHECK_EQUAL(child_run(looking_after).status, 0);
}
