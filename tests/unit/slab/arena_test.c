/* SPDX-License-Identifier: MIT */
/* arena: the table of arenas is the process's, and its limit is fixed when first asked: most tests have a child of their
 * own, which starts from nothing. */
#include "slab/arena.h"

#include "fakes/faults.h"
#include "layers.h"
#include "os/clock.h"
#include "os/cpus.h"
#include "page/hooks.h"
#include "slab/arena_life.h"
#include "slab/large.h"
#include "test.h"

#include "fakes/child.h"

#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs the rest of the test in a child and waits for it; its failed checks count here.  False in the parent. */
static bool
in_child(void)
{
    fflush(stdout);
    pid_t child = fork();
    int status = 1;
    if (child == 0) {
        CHECK(layers_boot());
        return true;
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_EQUAL(status, 0);
    return false;
}

static void
end_child(void)
{
    fflush(stdout);
    child_leave();
}

static struct hew_extent_hooks own_hooks;

static struct hew_arena *
join(void)
{
    struct hew_arena *arena = hew_arena_join_least_loaded();
    CHECK(arena != NULL);
    return arena;
}

TEST(the_first_epoch_of_an_arenas_free_pages_begins_when_the_arena_does)
{
    if (in_child()) {
        hew_options.narenas = 1; /* others have pages of their own */
        uint64_t before = hew_clock_ns() / 1000000, begun;
        struct hew_arena *arena = hew_arena_get(7);
        begun = arena->pages.heap->dirty_decay.epoch_ms;
        CHECK(before <= begun && begun <= hew_clock_ns() / 1000000);
        CHECK_EQUAL(arena->pages.heap->muzzy_decay.epoch_ms, begun);
        end_child();
    }
}

TEST(an_arena_is_made_when_first_asked_for_and_stays)
{
    if (in_child()) {
        hew_options.narenas = 1;
        CHECK(hew_arena_at(7) == NULL);
        struct hew_arena *arena = hew_arena_get(7);
        CHECK(arena != NULL && hew_arena_get(7) == arena && hew_arena_at(7) == arena);
        CHECK_EQUAL(arena->index, 7);
        CHECK_EQUAL(arena->pages.heap->arena, 7);
        CHECK(hew_arena_at(6) == NULL && hew_arena_at(8) == NULL);
        end_child();
    }
}

TEST(automatic_arenas_share_the_page_heap_of_the_first_of_some)
{
    if (in_child()) {
        const unsigned some = HEW_PAGE_CLIENTS;
        hew_options.narenas = 2 * some;
        struct hew_arena *last = hew_arena_get(2 * some - 1); /* brings the one that it shares with */
        CHECK(hew_arena_at(some) != NULL && last->pages.heap == &hew_arena_at(some)->own_pages);
        CHECK(hew_arena_get(some - 1)->pages.heap == &hew_arena_get(0)->own_pages);
        CHECK(hew_arena_owns_pages(hew_arena_at(0)) && !hew_arena_owns_pages(hew_arena_at(some - 1)));
        unsigned owners = 0;
        HEW_EACH_PAGE_OWNER(arena)
        {
            owners++;
        }
        CHECK_EQUAL(owners, 2);
        CHECK(hew_arena_owns_pages(hew_arena_make(some + 1, true))); /* a program's own */
        CHECK(hew_arena_owns_pages(hew_arena_get(2 * some + 1)));    /* above the automatic ones */
        hew_arena_set_hooks(hew_arena_at(0), &own_hooks);
        CHECK(hew_arena_owns_pages(hew_arena_get(2))); /* it has not asked for them */
        end_child();
    }
}

TEST(pages_that_one_arena_frees_serve_another)
{
    if (in_child()) {
        hew_options.narenas = 3;
        struct hew_arena *one = hew_arena_get(1), *two = hew_arena_get(2);
        struct hew_extent *extent = hew_large_take(one, 1 << 20, HEW_PAGE, HEW_CODE_SLOW);
        uintptr_t address = extent->address;
        CHECK_EQUAL(extent->arena, 1);
        hew_page_give(one->pages.heap, extent); /* no large object any more for this test */
        extent = hew_large_take(two, 1 << 20, HEW_PAGE, HEW_CODE_SLOW);
        CHECK(extent->address == address && !extent->zeroed);
        CHECK_EQUAL(extent->arena, 2);
        void *object;
        CHECK_EQUAL(hew_bin_take(&one->bins[1], &one->pages, 1, &object, 1), 1);
        CHECK_EQUAL(hew_map_extent((uintptr_t)object)->arena, 1);
        CHECK_EQUAL(hew_bin_give(&one->bins[1], one->pages.heap, &object, 1), 1);
        hew_arena_trim(one);
        void *other;
        CHECK_EQUAL(hew_bin_take(&two->bins[1], &two->pages, 1, &other, 1), 1);
        CHECK(other == object);
        CHECK_EQUAL(hew_map_extent((uintptr_t)object)->arena, 2);
        end_child();
    }
}

TEST(an_object_from_the_shelf_does_not_count_as_zero)
{
    if (in_child()) {
        struct hew_arena *arena = hew_arena_get(0);
        struct hew_extent *extent = hew_large_take(arena, 1 << 20, HEW_PAGE, HEW_CODE_SLOW);
        CHECK(extent->zeroed);
        memset((void *)extent->address, 1, extent->size); /* as a pool does */
        CHECK(hew_large_keep(extent));
        CHECK(hew_large_reuse(arena, 1 << 20) == extent);
        CHECK(!extent->zeroed && extent->large.fresh == 0);
        end_child();
    }
}

TEST(an_object_from_the_shelf_is_of_the_arena_that_takes_it)
{
    if (in_child()) {
        hew_options.narenas = 3;
        size_t size = 1 << 20;
        struct hew_arena *one = hew_arena_get(1), *two = hew_arena_get(2);
        struct hew_extent *extent = hew_large_take(one, size, HEW_PAGE, HEW_CODE_SLOW);
        CHECK(hew_large_keep(extent));
        CHECK(hew_large_reuse(one, size) == extent && extent->arena == 1);
        CHECK(hew_large_keep(extent));
        CHECK(hew_large_reuse(two, size) == extent && extent->arena == 2);
        CHECK(one->large_bytes == 0 && two->large_bytes == size);
        struct hew_large_counts *of_one = &one->large[hew_large_index(size)],
                                *of_two = &two->large[hew_large_index(size)];
        CHECK(of_one->nmalloc == 1 && of_one->ndalloc == 1);
        CHECK(of_two->nmalloc == 1 && of_two->ndalloc == 0 && of_two->nrequests == 1);
        hew_large_give_back(extent);
        hew_page_sweep(one->pages.heap); /* what the shelf has counted comes to light */
        CHECK(of_two->nmalloc == 1 && of_two->ndalloc == 1);
        CHECK_EQUAL(hew_page_counts(one->pages.heap).active, 0);
        end_child();
    }
}

TEST(each_thread_gets_an_arena_of_its_own_up_to_the_limit_and_then_the_least_loaded)
{
    if (in_child()) {
        hew_options.narenas = 3;
        CHECK_EQUAL(hew_arena_limit(), 3);
        CHECK_EQUAL(join()->index, 0);
        CHECK_EQUAL(join()->index, 1);
        CHECK_EQUAL(join()->index, 2);
        CHECK_EQUAL(join()->index, 0);
        CHECK_EQUAL(join()->index, 1);
        hew_arena_at(1)->threads -= 2;
        CHECK_EQUAL(join()->index, 1);
        CHECK_EQUAL(join()->index, 1);
        CHECK_EQUAL(join()->index, 2);
        CHECK(hew_arena_at(3) == NULL);
        end_child();
    }
}

TEST(an_idle_arena_is_used_before_a_new_one_is_made)
{
    if (in_child()) {
        hew_options.narenas = 8;
        join();
        join();
        join();
        hew_arena_at(1)->threads--;
        CHECK_EQUAL(join()->index, 1);
        hew_arena_at(0)->threads--;
        CHECK_EQUAL(join()->index, 0);
        CHECK(hew_arena_at(3) == NULL);
        end_child();
    }
}

TEST(the_limit_follows_the_cpus_and_the_ratio)
{
    if (in_child()) {
        hew_options.narenas_ratio.thousandths = 2500;
        unsigned expected = hew_cpus_usable() * 5 / 2;
        CHECK_EQUAL(hew_arena_limit(), expected == 0 ? 1 : expected);
        hew_options.narenas_ratio.thousandths = 1000; /* too late */
        CHECK_EQUAL(hew_arena_limit(), expected == 0 ? 1 : expected);
        end_child();
    }
    if (in_child()) {
        hew_options.narenas_ratio.thousandths = 1999; /* a part of an arena is none */
        CHECK_EQUAL(hew_arena_limit(), hew_cpus_usable() * 1999 / 1000);
        end_child();
    }
}

TEST(the_limit_is_never_below_one_nor_above_the_table)
{
    if (in_child()) {
        hew_options.narenas_ratio.thousandths = 0;
        CHECK_EQUAL(hew_arena_limit(), 1);
        CHECK_EQUAL(join()->index, 0);
        CHECK_EQUAL(join()->index, 0);
        end_child();
    }
    if (in_child()) {
        hew_options.narenas_ratio.thousandths = 65535000;
        CHECK(hew_arena_limit() <= HEW_OPTION_ARENAS_MAX && hew_arena_limit() < HEW_ARENAS_MAX);
        end_child();
    }
}

static void *
join_many(void *arenas)
{
    for (unsigned i = 0; i < 1000; i++) {
        ((unsigned *)arenas)[join()->index]++;
    }
    return NULL;
}

TEST(threads_that_choose_at_once_are_spread_evenly)
{
    if (in_child()) {
        enum { ARENAS = 4, CHOOSERS = 4 };
        unsigned chosen[CHOOSERS][ARENAS] = {0};
        pthread_t choosers[CHOOSERS];
        hew_options.narenas = ARENAS;
        for (unsigned i = 0; i < CHOOSERS; i++) {
            pthread_create(&choosers[i], NULL, join_many, chosen[i]);
        }
        for (unsigned i = 0; i < CHOOSERS; i++) {
            pthread_join(choosers[i], NULL);
        }
        for (unsigned index = 0; index < ARENAS; index++) {
            CHECK_EQUAL(hew_arena_at(index)->threads, 1000);
        }
        end_child();
    }
}

TEST(without_memory_there_is_no_new_arena_and_threads_share)
{
    if (in_child()) {
        hew_options.narenas = 4;
        join();
        hew_os_faults.refuse = layers_refuse_everything;
        layers_use_up_metadata();
        CHECK(hew_arena_get(1) == NULL);
        CHECK_EQUAL(join()->index, 0);
        hew_os_faults.refuse = NULL;
        CHECK_EQUAL(join()->index, 1);
        end_child();
    }
    if (in_child()) {
        hew_os_faults.refuse = layers_refuse_everything;
        layers_use_up_metadata();
        CHECK(hew_arena_join_least_loaded() == NULL);
        end_child();
    }
}

TEST(a_large_object_has_its_pages_its_code_and_its_usable_size)
{
    if (in_child()) {
        struct hew_arena *arena = hew_arena_get(0);
        unsigned code = hew_code_of_size(20001);
        struct hew_extent *cached = hew_large_take(arena, 20001, HEW_PAGE, code);
        struct hew_extent *slow = hew_large_take(arena, 5000001, (size_t)1 << 21, HEW_CODE_SLOW);
        CHECK_EQUAL(cached->size, hew_code_size(code)); /* so that it serves every request of its class */
        CHECK_EQUAL(cached->large.usable, 20480);
        CHECK_EQUAL(hew_map_code(cached->address), code);
        CHECK_EQUAL(slow->size, 5001216);
        CHECK_EQUAL(slow->large.usable, 5001216);
        CHECK_EQUAL(slow->address % ((size_t)1 << 21), 0);
        CHECK_EQUAL(hew_map_code(slow->address), HEW_CODE_SLOW);
        CHECK(hew_map_extent(slow->address) == slow && cached->zeroed && slow->zeroed);
        CHECK_EQUAL(layers_large(arena).nmalloc, 2);
        hew_large_give(cached);
        hew_large_give(slow);
        CHECK_EQUAL(layers_large(arena).ndalloc, 2);
        CHECK_EQUAL(hew_map_code(slow->address), HEW_CODE_NONE);
        CHECK(layers_settled());
        end_child();
    }
}

TEST(a_large_object_goes_back_to_the_arena_that_it_came_from)
{
    if (in_child()) {
        struct hew_arena *arenas[] = {hew_arena_get(0), hew_arena_get(1)};
        struct hew_extent *of_second = hew_large_take(arenas[1], HEW_PAGE * 5, HEW_PAGE, hew_code_of_size(20480));
        CHECK_EQUAL(of_second->arena, 1);
        hew_large_give(of_second);
        CHECK_EQUAL(layers_large(arenas[0]).ndalloc, 0);
        CHECK_EQUAL(layers_large(arenas[1]).ndalloc, 1);
        end_child();
    }
}

TEST(without_memory_there_is_no_large_object)
{
    if (in_child()) {
        struct hew_arena *arena = hew_arena_get(0);
        hew_os_faults.refuse = layers_refuse_everything;
        CHECK(hew_large_take(arena, 1 << 20, HEW_PAGE, hew_code_of_size(1 << 20)) == NULL);
        CHECK_EQUAL(layers_large(arena).nmalloc, 0);
        CHECK(layers_settled());
        end_child();
    }
}

/* Whether the byte can be read. */
static bool
readable(uintptr_t address)
{
    int ends[2];
    CHECK(pipe(ends) == 0);
    bool readable = write(ends[1], (const void *)address, 1) == 1;
    close(ends[0]);
    close(ends[1]);
    return readable;
}

TEST(every_other_large_object_has_a_guard_behind_it)
{
    if (in_child()) {
        hew_options.san_guard_large = 2;
        struct hew_arena *arena = hew_arena_get(0);
        struct hew_extent *extents[4];
        for (unsigned i = 0; i < 4; i++) {
            extents[i] = hew_large_take(arena, 20000, HEW_PAGE, hew_code_of_size(20000));
            CHECK_EQUAL(extents[i]->large.usable, 20480);
            CHECK(readable(extents[i]->address + 20479));
            CHECK(readable(extents[i]->address + 20480) == (i % 2 == 1));
            CHECK_EQUAL(hew_map_code(extents[i]->address), i % 2 == 1 ? hew_code_of_size(20000) : HEW_CODE_SLOW);
        }
        uintptr_t guard = extents[0]->address + 20480;
        for (unsigned i = 0; i < 4; i++) {
            hew_large_give(extents[i]);
        }
        CHECK(readable(guard));
        CHECK(layers_settled());
        end_child();
    }
}

TEST(an_object_whose_guard_the_system_leaves_in_place_goes_back_with_its_addresses)
{
    if (in_child()) {
        hew_options.san_guard_large = 1;
        struct hew_arena *arena = hew_arena_get(0);
        struct hew_extent *extent = hew_large_take(arena, 20000, HEW_PAGE, hew_code_of_size(20000));
        uintptr_t address = extent->address;
        size_t size = extent->size, mapped = hew_page_counts(arena->pages.heap).mapped;
        faults_refuse("mprotect", 0, 1);
        hew_large_give(extent);
        faults_end();
        CHECK_EQUAL(faults_refused, 1);
        CHECK_EQUAL(hew_page_counts(arena->pages.heap).mapped, mapped - size);
        CHECK(hew_os_map_at((void *)address, size)); /* nothing is there */
        hew_os_unmap((void *)address, size);
        CHECK(layers_settled());
        end_child();
    }
}

TEST(usable_sizes_are_classes_and_above_them_whole_pages_or_as_an_option_classes)
{
    if (in_child()) {
        struct hew_arena *arena = hew_arena_get(0);
        CHECK_EQUAL(hew_large_usable(20481), 24576);
        CHECK_EQUAL(hew_large_usable(33000), 40960);
        CHECK_EQUAL(hew_large_usable(5 * 1024 * 1024 + 1), 5 * 1024 * 1024 + 4096);
        hew_options.disable_large_size_classes = false;
        CHECK_EQUAL(hew_large_usable(24577), 28672);
        CHECK_EQUAL(hew_large_usable(33 * 1024 * 1024), 40 * 1024 * 1024);
        struct hew_extent *extent = hew_large_take(arena, 33 * 1024 * 1024, HEW_PAGE, HEW_CODE_SLOW);
        CHECK(extent->large.usable == 40 * 1024 * 1024 && extent->size == extent->large.usable);
        hew_large_give(extent);
        end_child();
    }
}

TEST(with_percpu_arena_the_cpu_chooses)
{
    if (in_child()) {
        hew_options.percpu_arena = HEW_PERCPU_ARENA_PERCPU;
        hew_options.narenas = 4;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(sched_getcpu(), &one);
        CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
        unsigned cpu = hew_cpus_current();
        CHECK_EQUAL(hew_arena_join_least_loaded()->index, cpu % 4);
        hew_options.percpu_arena = HEW_PERCPU_ARENA_PHYCPU;
        CHECK_EQUAL(hew_arena_join_least_loaded()->index, cpu % 2);
        end_child();
    }
}

/* Of the usable CPUs the last. */
static unsigned
stay_on_the_last_cpu(void)
{
    cpu_set_t usable, one;
    unsigned last = CPU_SETSIZE - 1;
    CHECK(sched_getaffinity(0, sizeof usable, &usable) == 0);
    while (!CPU_ISSET(last, &usable)) {
        last--;
    }
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
    return last;
}

TEST(with_percpu_arena_each_cpu_has_its_own_and_with_phycpu_half_as_many_are_in_use)
{
    if (in_child()) {
        unsigned cpu = stay_on_the_last_cpu();
        hew_options.narenas = cpu + 1;
        hew_options.percpu_arena = HEW_PERCPU_ARENA_PERCPU;
        CHECK_EQUAL(hew_arena_of_cpu()->index, cpu);
        hew_options.percpu_arena = HEW_PERCPU_ARENA_PHYCPU;
        CHECK_EQUAL(hew_arena_of_cpu()->index, cpu % ((cpu + 2) / 2));
        end_child();
    }
}
