/* SPDX-License-Identifier: MIT */
/* Each test in a process of its own: which arenas are hosts is decided once.  One processor, so that threads of all arenas but the first are guests. */
#include "one_thread.h"

#include "meta/map.h"
#include "slab/arena_life.h"

#include "fakes/child.h"

#include <sched.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define HOSTED ((size_t)32 << 10)

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
    CHECK_EQUAL(first->arena->guests, 0);
}

static unsigned
arena_of(const void *object)
{
    return hew_map_extent((uintptr_t)object)->arena;
}

static void
begin_as_guest(void)
{
    begin_two();
    CHECK(first->host == NULL && second->host == first->arena);
    CHECK_EQUAL(first->arena->guests, 1);
    CHECK_EQUAL(first->arena->threads, 1);
    void *object = take(second, CODE);
    CHECK_EQUAL(arena_of(object), 0);
    give(second, CODE, object);
    end_two();
}

TEST(a_thread_of_an_arena_beyond_the_processors_begins_on_the_slabs_of_its_host)
{
    CHECK_EQUAL(child_run(begin_as_guest).status, 0);
}

static void
outgrowing(void)
{
    begin_two();
    unsigned of_host = 0, most = (unsigned)(HOSTED / 64);
    take_many(second, CODE, 4 * most);
    for (unsigned i = 0; i < 4 * most; i++) {
        of_host += arena_of(objects[i]) == 0;
    }
    CHECK(of_host > most / 2 && of_host <= most);
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

TEST(large_classes_are_counted_by_bytes_like_small_ones)
{
    CHECK_EQUAL(child_run(outgrowing_large).status, 0);
}

static void
choosing(void)
{
    begin_two();
    CHECK(hew_thread_bind(second, second->arena));
    CHECK(second->host == NULL && first->arena->guests == 0);
    void *object = take(second, CODE);
    CHECK_EQUAL(arena_of(object), 1);
    give(second, CODE, object);
    end_two();
}

TEST(a_thread_whose_arena_the_program_has_chosen_is_no_guest)
{
    CHECK_EQUAL(child_run(choosing).status, 0);
}

static void
moving(void)
{
    begin_two();
    CHECK(hew_thread_bind(second, hew_arena_get(2)));
    CHECK(second->host == NULL && first->arena->guests == 0);
    end_two();
}

TEST(a_thread_that_is_bound_to_another_arena_is_no_guest)
{
    CHECK_EQUAL(child_run(moving).status, 0);
}

static void
leaving(void)
{
    begin_two();
    struct hew_arena *own = second->arena;
    hew_thread_leave();
    CHECK(second->host == NULL && first->arena->guests == 0);
    struct hew_cache *next = hew_thread_birth(true);
    CHECK(next == second && next->arena == own && next->host == first->arena);
    CHECK_EQUAL(first->arena->guests, 1);
    end_two();
}

TEST(a_kept_cache_has_a_host_again_for_the_thread_that_takes_it)
{
    CHECK_EQUAL(child_run(leaving).status, 0);
}

static void
forking(void)
{
    begin_two();
    struct hew_cache *third = hew_thread_birth(true);
    CHECK(third->host == first->arena && first->arena->guests == 2);
    pid_t child = fork();
    if (child == 0) {
        hew_thread_after_fork();
        CHECK_EQUAL(first->arena->guests, 1);
        child_leave();
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    hew_thread_death();
    hew_cache_self = second;
    end_two();
}

TEST(a_forks_child_is_the_only_guest)
{
    CHECK_EQUAL(child_run(forking).status, 0);
}

static void
hooking(void)
{
    begin_two();
    struct hew_arena *own = second->arena, *host = first->arena;
    struct hew_extent_hooks *hooks = (struct hew_extent_hooks *)objects; /* only looked at */
    CHECK(hew_arena_for_guest(own, host) == host);
    own->pages.hooks = hooks;
    CHECK(hew_arena_for_guest(own, host) == own);
    own->pages.hooks = NULL;
    host->pages.hooks = hooks;
    CHECK(hew_arena_for_guest(own, host) == own);
    host->pages.hooks = NULL;
    CHECK(hew_arena_find_host(hew_arena_find((unsigned)hew_arena_create(NULL))) == NULL);
    end_two();
}

TEST(no_arena_is_a_host_where_a_program_has_hooks_nor_for_arenas_of_its_own)
{
    CHECK_EQUAL(child_run(hooking).status, 0);
}

static void
looking_after(void)
{
    begin_two();
    struct hew_arena *host = first->arena, *own = second->arena;
    give(second, CODE, take(second, CODE));
    CHECK_EQUAL(hew_arena_next_used(own, 1), HEW_CODES);
    CHECK_EQUAL(hew_arena_next_used(host, 1), CODE);
    CHECK_EQUAL(hew_arena_next_used(host, CODE + 1), HEW_CODES);
    hew_arena_trim(own);
    hew_holes_return(own, 1000000, true);
    CHECK(own->holes.looked_ms == 0); /* nothing of it was written */
    uint64_t before = host->bins[CODE].lock.operations;
    hew_arena_trim(host);
    CHECK_EQUAL(host->bins[CODE].lock.operations, before + 1);
    for (unsigned code = 1; code <= HEW_CODE_SMALL_LAST; code++) {
        CHECK(own->bins[code].lock.operations == 0 && (code == CODE || host->bins[code].lock.operations == 0));
    }
    end_two();
}

TEST(whoever_looks_after_an_arena_leaves_bins_untouched_that_have_had_no_slab)
{
    CHECK_EQUAL(child_run(looking_after).status, 0);
}
