/* SPDX-License-Identifier: MIT */
#include "cache/thread.h"

#include "cache/budget.h"
#include "cache/depot.h"
#include "cache/magazine.h"
#include "layers.h"
#include "layers_cache.h"
#include "os/cpus.h"
#include "os/entry.h"
#include "page/hooks.h"
#include "slab/arena_life.h"
#include "test.h"

#include "fakes/child.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARENAS 4

static void
boot_once(void)
{
    if (hew_small_end == 0) {
        CHECK(layers_boot());
        hew_options.narenas = ARENAS;
    }
    hew_cache_self = &hew_cache_none;
}

static void *
take(unsigned code)
{
    void *object = hew_cache_pop(hew_cache_self, code);
    return object != NULL ? object : hew_magazine_pop(hew_cache_self, code);
}

static void
give(unsigned code, void *object)
{
    if (!hew_cache_push(hew_cache_self, code, object)) {
        hew_magazine_push(hew_cache_self, code, object);
    }
}

static uint32_t
threads_of_all_arenas(void)
{
    uint32_t threads = 0;
    for (unsigned index = 0; index < ARENAS && hew_arena_at(index) != NULL; index++) {
        threads += hew_arena_at(index)->threads;
    }
    return threads;
}

TEST(a_thread_without_a_cache_is_served_nothing)
{
    boot_once();
    hew_thread_death(); /* of a thread that has none: it is gone all the same */
    CHECK(hew_cache_self == &hew_cache_gone && !hew_cache_is_real(hew_cache_self));
    for (unsigned code = 0; code < HEW_CODES; code++) {
        CHECK(hew_cache_pop(&hew_cache_none, code) == NULL && hew_cache_pop(&hew_cache_gone, code) == NULL);
        CHECK(!hew_cache_push(&hew_cache_none, code, &boot_once) && !hew_cache_push(&hew_cache_gone, code, &boot_once));
    }
}

static void *
born_later(void *first)
{
    struct hew_cache *cache = hew_thread_birth(true), *model = first;
    for (unsigned code = 1; code <= HEW_CODE_CACHED_LAST; code++) {
        CHECK_EQUAL(cache->classes[code].most, model->classes[code].most);
        CHECK_EQUAL(cache->classes[code].flags, model->classes[code].flags);
        CHECK_EQUAL(hew_cache_requests(cache, code), 0);
        CHECK_EQUAL(cache->classes[code].balance, 0);
    }
    uint32_t period = cache->ticks[hew_code_of_size(4096)];
    CHECK(cache->granted == 0 && hew_count_allocated(cache) == 0);
    hew_magazine_push(cache, hew_code_of_size(4096), take(hew_code_of_size(4096)));
    hew_thread_death();
    return (void *)(uintptr_t)period;
}

static uint32_t
period_of_a_second_thread(struct hew_cache *first)
{
    pthread_t thread;
    void *period = NULL;
    CHECK(pthread_create(&thread, NULL, born_later, first) == 0 && pthread_join(thread, &period) == 0);
    return (uint32_t)(uintptr_t)period;
}

TEST(later_threads_begin_like_the_first_one_whoever_died_before)
{
    boot_once();
    struct hew_cache *cache = hew_thread_birth(true);
    for (unsigned round = 0; round < 3; round++) {
        CHECK_EQUAL(period_of_a_second_thread(cache), HEW_CACHE_PERIOD);
    }
    hew_count_watch(8 * 4096); /* a watch that begins now changes the periods */
    CHECK_EQUAL(period_of_a_second_thread(cache), 8);
    atomic_store(&hew_cache_step, 0);
    CHECK_EQUAL(period_of_a_second_thread(cache), HEW_CACHE_PERIOD);
    hew_thread_death();
}

TEST(birth_joins_an_arena_and_death_leaves_it)
{
    boot_once();
    struct hew_cache *cache = hew_thread_birth(true);
    CHECK(cache != NULL && hew_cache_self == cache && hew_cache_is_real(cache));
    CHECK_EQUAL(cache->arena->threads, 1);
    CHECK_EQUAL(hew_caches_alive, 1);
    hew_thread_death();
    CHECK(hew_cache_self == &hew_cache_gone);
    CHECK_EQUAL(threads_of_all_arenas(), 0);
    CHECK_EQUAL(hew_caches_alive, 0);
    hew_thread_death(); /* again: nothing to do */
    CHECK_EQUAL(threads_of_all_arenas(), 0);
}

TEST(nothing_is_cached_after_death)
{
    boot_once();
    CHECK(hew_thread_birth(true) != NULL);
    void *objects[100];
    for (unsigned code = 1; code <= HEW_CODE_SMALL_LAST; code++) {
        for (unsigned i = 0; i < 100; i++) {
            objects[i] = take(code);
        }
        for (unsigned i = 0; i < 100; i++) {
            give(code, objects[i]);
        }
    }
    struct hew_extent *large = hew_large_take(hew_cache_self->arena, 65536, HEW_PAGE, hew_code_of_size(65536));
    give(hew_code_of_size(65536), (void *)large->address);
    CHECK(layers_cached_bytes() > 65536);
    hew_thread_death();
    CHECK_EQUAL(layers_cached_bytes(), 0);
    CHECK(layers_settled());
}

TEST(cached_bytes_are_those_in_all_magazines)
{
    boot_once();
    struct hew_cache *caches[3];
    size_t expected = 0;
    for (unsigned i = 0; i < 3; i++) {
        caches[i] = hew_thread_birth(true);
        give(hew_code_of_size(48), take(hew_code_of_size(48)));
        give(hew_code_of_size(1000), take(hew_code_of_size(1000)));
        expected += hew_cache_depth(caches[i], hew_code_of_size(48)) * 48;
        expected += hew_cache_depth(caches[i], hew_code_of_size(1000)) * 1024;
    }
    CHECK(expected >= 3 * (48 + 1024));
    CHECK_EQUAL(layers_cached_bytes(), expected);
    for (unsigned i = 0; i < 3; i++) {
        hew_cache_self = caches[i];
        hew_thread_death();
    }
    CHECK_EQUAL(layers_cached_bytes(), 0);
}

TEST(threads_spread_over_the_arenas)
{
    boot_once();
    struct hew_cache *caches[2 * ARENAS];
    for (unsigned i = 0; i < 2 * ARENAS; i++) {
        caches[i] = hew_thread_birth(true);
    }
    for (unsigned index = 0; index < ARENAS; index++) {
        CHECK_EQUAL(hew_arena_at(index)->threads, 2);
    }
    for (unsigned i = 0; i < 2 * ARENAS; i++) {
        hew_cache_self = caches[i];
        hew_thread_death();
    }
}

TEST(a_thread_without_memory_for_a_cache_stays_as_it_was)
{
    boot_once();
    hew_os_faults.refuse = layers_refuse_everything;
    layers_use_up_metadata();
    CHECK(hew_thread_birth(true) == NULL);
    CHECK(hew_cache_self == &hew_cache_none);
    CHECK_EQUAL(threads_of_all_arenas(), 0);
    hew_os_faults.refuse = NULL;
}

static _Atomic unsigned failures;

static void *
short_life(void *seed)
{
    void *objects[50];
    unsigned code = 1 + (unsigned)(uintptr_t)seed % HEW_CODE_SMALL_LAST;
    if (hew_thread_birth(true) == NULL) {
        failures++;
        return NULL;
    }
    for (unsigned i = 0; i < 50; i++) {
        objects[i] = take(code);
        failures += objects[i] == NULL;
    }
    for (unsigned i = 0; i < 50; i++) {
        give(code, objects[i]);
    }
    hew_thread_death();
    return NULL;
}

TEST(hundreds_of_short_threads_leave_nothing_behind)
{
    boot_once();
    for (uintptr_t round = 0; round < 60; round++) {
        pthread_t threads[8];
        for (uintptr_t i = 0; i < 8; i++) {
            CHECK_EQUAL(pthread_create(&threads[i], NULL, short_life, (void *)(round * 8 + i)), 0);
        }
        for (unsigned i = 0; i < 8; i++) {
            pthread_join(threads[i], NULL);
        }
    }
    CHECK_EQUAL(failures, 0);
    CHECK_EQUAL(threads_of_all_arenas(), 0);
    CHECK_EQUAL(layers_cached_bytes(), 0);
    CHECK(layers_settled());
}

TEST(a_forks_child_has_one_thread)
{
    boot_once();
    struct hew_cache *other = hew_thread_birth(true), *own = hew_thread_birth(true);
    give(1, take(1));
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        hew_thread_after_fork();
        CHECK_EQUAL(hew_caches_alive, 1);
        CHECK_EQUAL(threads_of_all_arenas(), 1);
        CHECK_EQUAL(own->arena->threads, 1);
        CHECK_EQUAL(layers_cached_bytes(), hew_cache_depth(own, 1) * 8);
        hew_thread_death();
        CHECK_EQUAL(threads_of_all_arenas(), 0);
        fflush(stdout);
        child_leave();
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_EQUAL(status, 0);
    hew_thread_death();
    hew_cache_self = other;
    hew_thread_death();
}

static void
fork_without_a_cache(void)
{
    boot_once();
    struct hew_cache *cache = hew_thread_birth(true);
    hew_cache_self = &hew_cache_gone; /* it is another thread's */
    hew_thread_after_fork();
    CHECK_EQUAL(hew_caches_alive, 0);
    CHECK_EQUAL(threads_of_all_arenas(), 0);
    hew_thread_birth(true);
    CHECK(hew_cache_self != cache);
    CHECK_EQUAL(hew_caches_alive, 1);
    hew_thread_death();
}

TEST(a_fork_by_a_thread_without_a_cache_leaves_none)
{
    CHECK_EQUAL(child_run(fork_without_a_cache).status, 0);
}

static void
fork_in_a_hook(void)
{
    boot_once();
    struct hew_cache *cache = hew_thread_birth(true);
    int saved = hew_hooks_enter();
    CHECK(hew_cache_self == &hew_cache_gone);
    hew_thread_after_fork();
    hew_hooks_leave(saved);
    CHECK(hew_cache_self == cache);
    CHECK(hew_caches_alive == 1 && threads_of_all_arenas() == 1);
    hew_thread_death();
}

TEST(a_fork_inside_a_hook_keeps_the_threads_cache)
{
    CHECK_EQUAL(child_run(fork_in_a_hook).status, 0);
}

static void
numbered(void)
{
    boot_once();
    CHECK_EQUAL(hew_thread_birth(true)->thread, 0);
    hew_thread_death();
    hew_options.control[0] = 'a';
    struct hew_cache *cache = hew_thread_birth(true);
    CHECK_EQUAL(cache->thread, hew_entry_thread());
    CHECK(cache->thread != 0);
    hew_thread_death();
}

TEST(who_may_be_asked_about_from_outside_has_a_number)
{
    CHECK_EQUAL(child_run(numbered).status, 0);
}

static void
binding(void)
{
    hew_options.narenas = 2;
    boot_once();
    struct hew_cache *cache = hew_thread_birth(true);
    struct hew_arena *first = cache->arena;
    struct hew_arena *manual = hew_arena_find((unsigned)hew_arena_create(NULL));
    CHECK(manual->pages.heap->is_private);
    CHECK(hew_thread_bind(cache, first) && first->threads == 1); /* it is there already */
    CHECK(hew_thread_bind(cache, manual) && cache->arena == manual);
    CHECK(first->threads == 0 && manual->threads == 1 && !manual->pages.heap->is_private);
    unsigned code = hew_code_of_size(64);
    void *object = take(code);
    CHECK_EQUAL(hew_map_extent((uintptr_t)object)->arena, manual->index);
    give(code, object);
    CHECK(hew_cache_depth(cache, code) > 0);
    CHECK(hew_thread_bind(cache, first));
    CHECK_EQUAL(hew_cache_depth(cache, code), 0); /* nothing of an arena that may end */
    CHECK(manual->threads == 0 && first->threads == 1);
    CHECK(hew_arena_destroy(manual->index, NULL));
    hew_thread_death();
}

TEST(a_thread_that_is_bound_to_another_arena_leaves_the_former_one_and_what_came_from_it)
{
    CHECK_EQUAL(child_run(binding).status, 0);
}

static void
following(void)
{
    hew_options.narenas = 4;
    boot_once();
    struct hew_cache *cache = hew_thread_birth(true);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
    unsigned own = hew_cpus_current() % 4;
    CHECK(hew_thread_bind(cache, hew_arena_get((own + 1) % 4)));
    hew_options.percpu_arena = HEW_PERCPU_ARENA_PERCPU;
    hew_thread_follow_cpu(cache);
    CHECK_EQUAL(cache->arena->index, own);
    struct hew_arena *manual = hew_arena_find((unsigned)hew_arena_create(NULL));
    CHECK(hew_thread_bind(cache, manual));
    hew_thread_follow_cpu(cache);
    CHECK(cache->arena == manual); /* the program's choice stands */
    hew_thread_death();
}

TEST(a_thread_follows_its_cpu_unless_the_program_has_bound_it)
{
    CHECK_EQUAL(child_run(following).status, 0);
}

/* On the second CPU, where there is one: on the first the answers are the same. */
static void
depots_of_cpus(void)
{
    boot_once();
    hew_thread_birth(true);
    CHECK_EQUAL(hew_caches_alive, 1);
    cpu_set_t second;
    CPU_ZERO(&second);
    CPU_SET(1, &second);
    unsigned expected = sched_setaffinity(0, sizeof second, &second) == 0 ? 1 : hew_cpus_current() % ARENAS;
    CHECK_EQUAL(hew_depot_here(), 0);
    atomic_fetch_add(&hew_caches_alive, 1);
    CHECK_EQUAL(hew_depot_here(), expected);
}

TEST(a_thread_that_is_alone_uses_the_first_depot_and_one_of_several_that_of_its_cpu)
{
    CHECK_EQUAL(child_run(depots_of_cpus).status, 0);
}

static void
leave_without(void)
{
    boot_once();
    hew_thread_leave();
    CHECK_EQUAL(threads_of_all_arenas(), 0);
    hew_cache_self = NULL; /* while the loader is at work */
    hew_thread_leave();
}

TEST(a_thread_without_a_cache_leaves_nothing)
{
    CHECK_EQUAL(child_run(leave_without).status, 0);
}

TEST(a_thread_that_counts_keeps_its_counts_when_a_magazine_becomes_long)
{
    boot_once();
    struct hew_cache *cache = hew_thread_birth(true);
    struct hew_cache_bytes *live = hew_thread_counters(cache);
    CHECK(live != NULL);
    for (size_t room = 7; room <= 1023; room = 2 * room + 1) { /* one array of each size */
        CHECK(hew_budget_set(cache, 5, room));
        CHECK(cache->live == live);
    }
    hew_thread_death();
}
