/* SPDX-License-Identifier: MIT */
/* arena_life: arenas that a program makes: their numbers, emptying them, ending them, and what can be set for one.  The
 * table is the process's, so each test has a child of its own. */
#include "slab/arena_life.h"

#include "layers.h"
#include "test.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "fakes/child.h"
#include "fakes/hooks.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

static void
boot(void)
{
    CHECK(layers_boot());
    hew_options.narenas = 4;
    hew_options.dirty_decay_ms = -1;
    CHECK(hew_arena_get(0) != NULL);
    hooks_begin();
}

/* Takes `count` regions of a class. */
static void
take_small(struct hew_arena *arena, size_t size, void **regions, unsigned count)
{
    unsigned code = hew_code_of_size(size), taken = 0;
    while (taken < count) {
        unsigned more = hew_bin_take(&arena->bins[code], &arena->pages, code, regions + taken, count - taken);
        CHECK(more > 0);
        taken += more;
    }
}

static struct hew_extent *
take_large(struct hew_arena *arena, size_t size)
{
    struct hew_extent *extent = hew_large_take(arena, size, HEW_PAGE, hew_code_of_size(size));
    CHECK(extent != NULL);
    return extent;
}

/* Slabs that are current, listed and full; large objects. */
static void
fill(struct hew_arena *arena)
{
    static void *regions[3000];
    take_small(arena, 64, regions, 1000);
    take_small(arena, 1024, regions, 333);
    take_small(arena, 8192, regions, 40);
    unsigned code = hew_code_of_size(8192);
    for (unsigned i = 0; i < 40; i += 3) { /* so that full slabs become listed */
        CHECK_EQUAL(hew_bin_give(&arena->bins[code], arena->pages.heap, &regions[i], 1), 1);
    }
    take_large(arena, 20 * KIB);
    take_large(arena, 2 * MIB);
    hew_large_give(take_large(arena, 40 * KIB));
}

static void
numbers(void)
{
    boot();
    CHECK_EQUAL(hew_arenas_count(), 4);
    CHECK_EQUAL(hew_arena_create(NULL), 4);
    CHECK_EQUAL(hew_arena_create(NULL), 5);
    CHECK_EQUAL(hew_arena_create(NULL), 6);
    CHECK_EQUAL(hew_arenas_count(), 7);
    CHECK(hew_arena_destroy(5, NULL) && hew_arena_destroy(4, NULL));
    CHECK_EQUAL(hew_arenas_count(), 7);
    CHECK(hew_arena_find(4) == NULL && hew_arena_find(5) == NULL && hew_arena_find(7) == NULL);
    CHECK(hew_arena_next(1) == hew_arena_find(6));
    CHECK_EQUAL(hew_arena_create(NULL), 4);
    CHECK_EQUAL(hew_arena_create(NULL), 5);
    CHECK_EQUAL(hew_arena_create(NULL), 7);
    CHECK(hew_arena_find(2) != NULL); /* an automatic one, made now */
    unsigned seen = 0;
    HEW_EACH_ARENA(arena)
    {
        seen++;
    }
    CHECK_EQUAL(seen, 6);
}

TEST(numbers_follow_the_automatic_arenas_and_are_used_again_lowest_first)
{
    CHECK_EQUAL(child_run(numbers).status, 0);
}

static void
refusals(void)
{
    boot();
    int index = hew_arena_create(NULL);
    CHECK(!hew_arena_reset(0, NULL) && !hew_arena_destroy(0, NULL) && !hew_arena_destroy(2, NULL));
    CHECK(!hew_arena_reset(5, NULL) && !hew_arena_destroy(5, NULL) && !hew_arena_destroy(100000, NULL));
    struct hew_arena *arena = hew_arena_find((unsigned)index);
    CHECK(hew_arena_join(arena));
    CHECK(!hew_arena_destroy((unsigned)index, NULL));
    CHECK(hew_arena_reset((unsigned)index, NULL));
    hew_arena_leave(arena);
    CHECK(hew_arena_destroy((unsigned)index, NULL));
    CHECK(!hew_arena_destroy((unsigned)index, NULL));
}

TEST(automatic_absent_and_joined_arenas_are_not_destroyed)
{
    CHECK_EQUAL(child_run(refusals).status, 0);
}

static unsigned seen_gone;

static void
count_gone(struct hew_extent *extent)
{
    CHECK_EQUAL(extent->state, HEW_EXTENT_ACTIVE);
    seen_gone++;
}

static void
resets(void)
{
    boot();
    unsigned index = (unsigned)hew_arena_create(NULL);
    struct hew_arena *arena = hew_arena_find(index);
    for (unsigned round = 0; round < 3; round++) {
        fill(arena);
        CHECK(hew_page_counts(arena->pages.heap).active > 2 * MIB);
        seen_gone = 0;
        CHECK(hew_arena_reset(index, count_gone));
        CHECK_EQUAL(seen_gone, 2);
        CHECK_EQUAL(hew_page_counts(arena->pages.heap).active, 0);
        CHECK_EQUAL(arena->large_bytes, 0);
        CHECK(layers_settled());
        for (unsigned code = 1; code <= HEW_CODE_SMALL_LAST; code++) {
            CHECK(arena->bins[code].current == NULL && arena->bins[code].nonfull.root == NULL);
        }
    }
}

TEST(a_reset_takes_back_current_listed_and_full_slabs_and_large_objects)
{
    CHECK_EQUAL(child_run(resets).status, 0);
}

static void
destruction(void)
{
    boot();
    size_t before = hew_page_mapped;
    unsigned index = (unsigned)hew_arena_create(NULL);
    fill(hew_arena_find(index));
    struct hew_extent *large = take_large(hew_arena_find(index), MIB);
    uintptr_t address = large->address;
    uint64_t nmalloc = layers_large(hew_arena_find(index)).nmalloc;
    CHECK(hew_arena_destroy(index, NULL));
    CHECK_EQUAL(hew_page_mapped, before);
    CHECK_EQUAL(hew_map_code(address), HEW_CODE_NONE);
    CHECK(hew_map_extent(address) == NULL);
    struct hew_arena *sum = hew_arenas_destroyed();
    CHECK_EQUAL(layers_large(sum).nmalloc, nmalloc);
    CHECK_EQUAL(layers_large(sum).ndalloc, nmalloc);
    CHECK_EQUAL(sum->bins[hew_code_of_size(64)].counts.nmalloc, 1000);
    CHECK_EQUAL(sum->bins[hew_code_of_size(64)].counts.ndalloc, 1000);
    CHECK(sum->own_pages.counts.maps > 0);
    /* The same struct again: as new. */
    CHECK_EQUAL(hew_arena_create(NULL), index);
    struct hew_arena *next = hew_arena_find(index);
    CHECK_EQUAL(layers_large(next).nmalloc, 0);
    CHECK_EQUAL(next->bins[hew_code_of_size(64)].counts.nmalloc, 0);
    CHECK_EQUAL(hew_page_counts(next->pages.heap).maps, 0);
    fill(next);
    CHECK(hew_arena_destroy(index, NULL));
    CHECK_EQUAL(sum->bins[hew_code_of_size(64)].counts.nmalloc, 2000);
    CHECK_EQUAL(hew_page_mapped, before);
}

TEST(a_destroyed_arena_gives_all_its_addresses_back_and_leaves_its_counts)
{
    CHECK_EQUAL(child_run(destruction).status, 0);
}

static void
data_segment(void)
{
    boot();
    unsigned index = (unsigned)hew_arena_create(NULL);
    hew_arena_set_dss(hew_arena_find(index), HEW_DSS_PRIMARY);
    take_large(hew_arena_find(index), MIB);
    size_t mapped = hew_page_counts(hew_arena_find(index)->pages.heap).mapped;
    CHECK(hew_arena_destroy(index, NULL));
    struct hew_page_heap *heir = hew_arena_get(0)->pages.heap;
    CHECK_EQUAL(hew_page_counts(heir).mapped, mapped);
    struct hew_extent *again = take_large(hew_arena_get(0), MIB);
    CHECK(again->data_segment);
    CHECK_EQUAL(hew_page_counts(heir).mapped, mapped);
    hew_large_give(again);
    CHECK(hew_page_heap_valid(heir));
}

TEST(what_came_from_sbrk_goes_on_in_the_first_arena)
{
    CHECK_EQUAL(child_run(data_segment).status, 0);
}

static void
with_hooks(void)
{
    boot();
    unsigned index = (unsigned)hew_arena_create(&hooks_table);
    struct hew_arena *arena = hew_arena_find(index);
    CHECK(hew_arena_hooks(arena) == &hooks_table);
    CHECK(hew_arena_hooks(hew_arena_get(0)) == &hew_hooks_default);
    fill(arena);
    CHECK_EQUAL(hew_page_counts(arena->pages.heap).mapped, hooks_bytes);
    CHECK(hew_arena_reset(index, NULL));
    fill(arena);
    CHECK(hew_arena_destroy(index, NULL));
    CHECK(hooks_count == 0 && hooks_wrong == 0);
    CHECK_EQUAL(hew_arena_create(NULL), index);
    CHECK(hew_arena_hooks(hew_arena_find(index)) == &hew_hooks_default);
}

TEST(hooks_see_an_arena_from_its_first_mapping_to_its_end)
{
    CHECK_EQUAL(child_run(with_hooks).status, 0);
}

static unsigned inside_index;

static void
try_to_end(void)
{
    CHECK(!hew_arena_destroy(inside_index, NULL) && !hew_arena_reset(inside_index, NULL));
    struct hew_arena *other = hew_arena_without_hooks();
    CHECK(other != NULL && other->pages.heap->hooks == NULL);
}

static void
inside_a_hook(void)
{
    boot();
    hooks_inside = try_to_end;
    inside_index = (unsigned)hew_arena_create(&hooks_table);
    hew_arena_set_hooks(hew_arena_get(0), &hooks_table);
    take_large(hew_arena_get(0), MIB);
    CHECK_EQUAL(hew_arena_without_hooks()->index, HEW_ARENA_REFUGE);
    CHECK(hew_arena_find(HEW_ARENA_REFUGE) == NULL);
    hooks_inside = NULL;
    CHECK(hew_arena_destroy(inside_index, NULL));
}

TEST(inside_a_hook_no_arena_ends_and_memory_comes_from_one_without_hooks)
{
    CHECK_EQUAL(child_run(inside_a_hook).status, 0);
}

static void
settings(void)
{
    boot();
    struct hew_arena *arena = hew_arena_find((unsigned)hew_arena_create(NULL));
    char name[HEW_ARENA_NAME_BYTES];
    hew_arena_get_name(hew_arena_get(0), name);
    CHECK_TEXT(name, "auto_0");
    hew_arena_get_name(arena, name);
    CHECK_TEXT(name, "manual_4");
    hew_arena_set_name(arena, "a name of more than thirty-one characters");
    hew_arena_get_name(arena, name);
    CHECK_TEXT(name, "a name of more than thirty-one ");
    hew_arena_set_name(arena, "short");
    hew_arena_get_name(arena, name);
    CHECK(memcmp(name, "short\0\0", 7) == 0);
    CHECK_EQUAL(hew_arena_decay_ms(NULL, HEW_DECAY_DIRTY), -1);
    hew_arena_set_decay_ms(NULL, HEW_DECAY_DIRTY, 123);
    hew_arena_set_decay_ms(NULL, HEW_DECAY_MUZZY, 45);
    hew_arena_set_dss(NULL, HEW_DSS_DISABLED);
    CHECK_EQUAL(hew_arena_decay_ms(arena, HEW_DECAY_DIRTY), -1);
    struct hew_arena *later = hew_arena_find((unsigned)hew_arena_create(NULL));
    CHECK(hew_arena_decay_ms(later, HEW_DECAY_DIRTY) == 123 && hew_arena_decay_ms(later, HEW_DECAY_MUZZY) == 45);
    CHECK(hew_arena_dss(later) == HEW_DSS_DISABLED && hew_arena_dss(arena) == hew_options.dss);
    CHECK_EQUAL(hew_arena_retain_grow_limit(arena), HEW_OPTION_CLASS_MAX);
    CHECK(!hew_arena_set_retain_grow_limit(arena, HEW_PAGE - 1));
    CHECK(hew_arena_set_retain_grow_limit(arena, 27 * HEW_PAGE + 1));
    CHECK_EQUAL(hew_arena_retain_grow_limit(arena), 24 * HEW_PAGE);
    CHECK(hew_arena_set_retain_grow_limit(arena, HEW_PAGE));
    CHECK_EQUAL(hew_arena_retain_grow_limit(arena), HEW_PAGE);
    CHECK(hew_arena_uptime_ns(arena) > 0);
}

TEST(each_arena_has_settings_of_its_own_and_later_ones_follow_the_defaults)
{
    CHECK_EQUAL(child_run(settings).status, 0);
}

static void
decay(void)
{
    boot();
    struct hew_arena *arena = hew_arena_find((unsigned)hew_arena_create(NULL));
    hew_large_give(take_large(arena, MIB));
    CHECK_EQUAL(hew_page_counts(arena->pages.heap).dirty, MIB);
    hew_arena_set_decay_ms(arena, HEW_DECAY_DIRTY, -1);
    CHECK_EQUAL(hew_page_counts(arena->pages.heap).dirty, MIB);
    hew_arena_set_decay_ms(arena, HEW_DECAY_DIRTY, 100000000);
    CHECK_EQUAL(hew_page_counts(arena->pages.heap).dirty, 0);
    hew_large_give(take_large(arena, MIB));
    CHECK_EQUAL(hew_page_counts(arena->pages.heap).dirty, MIB);
    hew_arena_decay(arena, false);
    CHECK_EQUAL(hew_page_counts(arena->pages.heap).dirty, MIB);
    hew_arena_decay(arena, true);
    CHECK_EQUAL(hew_page_counts(arena->pages.heap).dirty, 0);
}

TEST(a_new_decay_time_returns_what_is_idle_at_once_unless_it_is_never)
{
    CHECK_EQUAL(child_run(decay).status, 0);
}

static void
oversize(void)
{
    hew_options.oversize_threshold = MIB;
    boot();
    hew_arena_set_decay_ms(NULL, HEW_DECAY_DIRTY, 10000);
    CHECK_EQUAL(hew_arenas_count(), 5);
    CHECK_EQUAL(hew_arena_create(NULL), 5);
    struct hew_arena *own = hew_arena_get(0);
    CHECK(hew_arena_for_large(own, MIB - 1) == own);
    struct hew_arena *large = hew_arena_for_large(own, MIB);
    CHECK_EQUAL(large->index, 4);
    CHECK(hew_arena_for_large(own, MIB) == large && hew_arena_for_large(large, MIB) == large);
    CHECK(hew_arena_for_large(hew_arena_at(5), MIB) == hew_arena_at(5));
    CHECK_EQUAL(hew_arena_decay_ms(large, HEW_DECAY_DIRTY), 0);
    hew_large_give(hew_large_take(large, 2 * MIB, HEW_PAGE, HEW_CODE_SLOW));
    CHECK(!hew_shelf_is_filled(&large->pages.heap->shelf));
    CHECK_EQUAL(large->pages.heap->dirty.bytes, 0);
    CHECK(!hew_arena_destroy(4, NULL));
    hew_arena_set_oversize_threshold(own, 0);
    CHECK(hew_arena_for_large(own, HEW_LARGE_MAX) == own);
}

static void
oversize_of_one_arena(void)
{
    boot();
    struct hew_arena *own = hew_arena_get(0);
    CHECK_EQUAL(hew_arenas_count(), 4);
    CHECK(hew_arena_for_large(own, HEW_LARGE_MAX) == own);
    hew_arena_set_oversize_threshold(own, 2 * MIB);
    CHECK_EQUAL(hew_arena_for_large(own, 2 * MIB)->index, 4);
    CHECK_EQUAL(hew_arena_create(NULL), 5);
}

static void
oversize_of_a_manual_arena(void)
{
    boot();
    struct hew_arena *arena = hew_arena_find((unsigned)hew_arena_create(NULL));
    hew_arena_set_decay_ms(arena, HEW_DECAY_DIRTY, 10000);
    hew_arena_set_oversize_threshold(arena, 2 * MIB);
    CHECK(hew_arena_for_large(arena, 4 * MIB) == arena);
    struct hew_extent *large = hew_large_take(arena, 4 * MIB, HEW_PAGE, HEW_CODE_SLOW);
    struct hew_extent *less = hew_large_take(arena, MIB, HEW_PAGE, HEW_CODE_SLOW);
    hew_large_give(large);
    CHECK_EQUAL(arena->pages.heap->dirty.bytes, 0);
    hew_large_give(less);
    CHECK_EQUAL(arena->pages.heap->dirty.bytes, MIB);
    CHECK_EQUAL(hew_page_counts(arena->pages.heap).active, 0);
    CHECK(hew_arena_destroy(arena->index, NULL));
}

TEST(an_arena_that_a_program_made_keeps_nothing_above_its_threshold)
{
    CHECK_EQUAL(child_run(oversize_of_a_manual_arena).status, 0);
}

/* A slab of each class, of which nothing is out. */
static void
use_all_classes(struct hew_arena *arena)
{
    for (unsigned code = 1; code <= HEW_CODE_SMALL_LAST; code++) {
        void *object;
        CHECK_EQUAL(hew_bin_take(&arena->bins[code], &arena->pages, code, &object, 1), 1);
        CHECK_EQUAL(hew_bin_give(&arena->bins[code], arena->pages.heap, &object, 1), 1);
    }
}

static void
trims(void)
{
    boot();
    struct hew_arena *own = hew_arena_get(0), *manual = hew_arena_find((unsigned)hew_arena_create(NULL));
    use_all_classes(own);
    use_all_classes(manual);
    size_t idle = hew_page_counts(manual->pages.heap).active;
    CHECK(idle > 100 * HEW_PAGE);
    hew_arena_decay(manual, false);
    CHECK_EQUAL(hew_page_counts(manual->pages.heap).active, 0);
    CHECK_EQUAL(hew_page_counts(manual->pages.heap).dirty, idle);
    hew_arena_decay(own, true);
    CHECK_EQUAL(hew_page_counts(own->pages.heap).active, 0);
    CHECK_EQUAL(hew_page_counts(own->pages.heap).dirty, 0);
    use_all_classes(manual);
    hew_arena_set_decay_ms(manual, HEW_DECAY_DIRTY, 0);
    CHECK_EQUAL(hew_page_counts(manual->pages.heap).active, 0);
    use_all_classes(manual);
    idle = hew_page_counts(manual->pages.heap).active;
    manual->life = HEW_ARENA_BUSY;
    hew_arena_trim(manual);
    CHECK_EQUAL(hew_page_counts(manual->pages.heap).active, idle);
    manual->life = HEW_ARENA_LIVES;
    CHECK(hew_arena_destroy(manual->index, NULL));
    hew_arena_trim(manual); /* who has looked it up before is late */
}

TEST(a_trim_takes_all_slabs_without_an_object_but_of_an_arena_that_is_about_to_end)
{
    CHECK_EQUAL(child_run(trims).status, 0);
}

static _Atomic bool over;

static void *
trim_all(void *unused)
{
    while (!over) {
        HEW_EACH_ARENA(arena)
        {
            hew_arena_trim(arena);
        }
    }
    return unused;
}

/* A slab that is on its way from a bin to the page heap must not be missing when the heap ends. */
static void
trimmed_while_they_end(void)
{
    boot();
    pthread_t thread;
    pthread_create(&thread, NULL, trim_all, NULL);
    size_t mapped = atomic_load(&hew_page_mapped);
    for (unsigned round = 0; round < 200; round++) {
        struct hew_arena *arena = hew_arena_find((unsigned)hew_arena_create(NULL));
        use_all_classes(arena);
        CHECK(round % 2 != 0 || hew_arena_reset(arena->index, NULL));
        CHECK(hew_arena_destroy(arena->index, NULL));
        CHECK_EQUAL(hew_page_counts(arena->pages.heap).active, 0);
        CHECK_EQUAL(hew_page_counts(arena->pages.heap).mapped, 0);
    }
    over = true;
    pthread_join(thread, NULL);
    CHECK_EQUAL(atomic_load(&hew_page_mapped), mapped);
}

TEST(an_arena_that_is_trimmed_ends_whole)
{
    CHECK_EQUAL(child_run(trimmed_while_they_end).status, 0);
}

static void *
destroy(void *arena)
{
    CHECK(hew_arena_destroy(((struct hew_arena *)arena)->index, NULL));
    return NULL;
}

static void
waits_for_trims(void)
{
    boot();
    struct hew_arena *arena = hew_arena_find((unsigned)hew_arena_create(NULL));
    pthread_t thread;
    atomic_store(&arena->trims, 1);
    pthread_create(&thread, NULL, destroy, arena);
    while (arena->life != HEW_ARENA_BUSY) {
        sched_yield();
    }
    for (unsigned look = 0; look < 20; look++) {
        usleep(1000);
        CHECK(hew_arena_at(arena->index) == arena);
    }
    atomic_store(&arena->trims, 0);
    pthread_join(thread, NULL);
    CHECK(hew_arena_at(arena->index) == NULL);
}

TEST(the_end_of_an_arena_waits_for_those_who_trim_it)
{
    CHECK_EQUAL(child_run(waits_for_trims).status, 0);
}

TEST(requests_above_the_threshold_go_to_an_arena_that_keeps_nothing)
{
    CHECK_EQUAL(child_run(oversize).status, 0);
    CHECK_EQUAL(child_run(oversize_of_one_arena).status, 0);
}

static void
exhaustion(void)
{
    boot();
    unsigned made = 0;
    while (hew_arena_create(NULL) >= 0) {
        made++;
    }
    CHECK_EQUAL(made, HEW_ARENA_REFUGE - 4);
    CHECK(hew_arena_destroy(77, NULL));
    CHECK_EQUAL(hew_arena_create(NULL), 77);
    hew_os_faults.refuse = layers_refuse_everything;
    layers_use_up_metadata();
    CHECK(hew_arena_destroy(78, NULL));
    CHECK_EQUAL(hew_arena_create(NULL), 78); /* its struct was kept */
}

TEST(numbers_run_out_below_the_last_place_of_the_table)
{
    CHECK_EQUAL(child_run(exhaustion).status, 0);
}

static void
no_memory(void)
{
    boot();
    hew_os_faults.refuse = layers_refuse_everything;
    layers_use_up_metadata();
    CHECK_EQUAL(hew_arena_create(NULL), -1);
    CHECK_EQUAL(hew_arenas_count(), 5);
    hew_os_faults.refuse = NULL;
    CHECK_EQUAL(hew_arena_create(NULL), 4);
}

TEST(without_memory_no_arena_is_made_and_the_number_stays_free)
{
    CHECK_EQUAL(child_run(no_memory).status, 0);
}

/* A number of its own for each count. */
static void
count_all(struct hew_arena *arena)
{
    struct hew_bin_counts *bin = &arena->bins[3].counts;
    *bin = (struct hew_bin_counts){
        .nmalloc = 101, .ndalloc = 101, .fills = 103, .flushes = 104, .slabs_ever = 105, .reslabs = 106};
    struct hew_page_counts *pages = &arena->pages.heap->counts;
    pages->dirty_purged = 201;
    pages->muzzy_purged = 202;
    pages->dirty_purges = 203;
    pages->muzzy_purges = 204;
    pages->dirty_calls = 205;
    pages->muzzy_calls = 206;
    pages->maps = 207;
    arena->large[5].nrequests = 301;
    arena->requests[7] = 302;
}

static void
all_counts(void)
{
    boot();
    unsigned index = (unsigned)hew_arena_create(NULL);
    for (unsigned times = 1; times <= 2; times++) {
        count_all(hew_arena_find(index));
        CHECK(hew_arena_destroy(index, NULL));
        struct hew_arena *sum = hew_arenas_destroyed();
        struct hew_bin_counts *bin = &sum->bins[3].counts;
        CHECK(bin->nmalloc == times * 101 && bin->ndalloc == times * 101);
        CHECK(bin->fills == times * 103 && bin->flushes == times * 104);
        CHECK(bin->slabs_ever == times * 105 && bin->reslabs == times * 106);
        struct hew_page_counts *pages = &sum->own_pages.counts;
        CHECK(pages->dirty_purged == times * 201 && pages->muzzy_purged == times * 202);
        CHECK(pages->dirty_purges == times * 203 && pages->muzzy_purges == times * 204);
        CHECK(pages->dirty_calls == times * 205 && pages->muzzy_calls == times * 206);
        CHECK_EQUAL(pages->maps, times * 207);
        CHECK(sum->large[5].nrequests == times * 301 && sum->requests[7] == times * 302);
        CHECK_EQUAL(hew_arena_create(NULL), index);
    }
}

TEST(every_count_of_arenas_that_ended_is_in_the_sum)
{
    CHECK_EQUAL(child_run(all_counts).status, 0);
}

static void *
lock_for_ever(void *lock)
{
    hew_mutex_lock(lock);
    return NULL;
}

static void
hold_by_another_thread(struct hew_mutex *lock)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, lock_for_ever, lock) == 0 && pthread_join(thread, NULL) == 0);
}

/* Waits for ever if a thread that is gone holds it. */
static void
pass(struct hew_mutex *lock)
{
    hew_mutex_lock(lock);
    hew_mutex_unlock(lock);
}

static void
forked(void)
{
    boot();
    unsigned index = (unsigned)hew_arena_create(NULL), ended = (unsigned)hew_arena_create(NULL);
    struct hew_arena *busy = hew_arena_find(index), *unmade = hew_arena_find(ended);
    CHECK(hew_arena_destroy(ended, NULL));
    struct hew_arena *sum = hew_arenas_destroyed();
    hold_by_another_thread(&sum->own_pages.lock);
    hold_by_another_thread(&sum->bins[1].lock);
    hold_by_another_thread(&sum->bins[HEW_CODE_SMALL_LAST].lock);
    hold_by_another_thread(&unmade->own_pages.lock);
    hold_by_another_thread(&unmade->bins[1].lock);
    hold_by_another_thread(&unmade->bins[HEW_CODE_SMALL_LAST].lock);
    busy->trims = 2;
    busy->life = HEW_ARENA_BUSY;
    busy->pages.heap->ending = true;
    hew_hooks_depth = 1; /* the fork was inside a hook: that of the thread that destroys the arena, perhaps */
    hew_arena_life_after_fork();
    CHECK(busy->life == HEW_ARENA_BUSY && busy->pages.heap->ending);
    hew_hooks_depth = 0;
    hew_arena_life_after_fork();
    CHECK(busy->life == HEW_ARENA_LIVES && !busy->pages.heap->ending && busy->trims == 0);
    pass(&sum->own_pages.lock);
    pass(&sum->bins[1].lock);
    pass(&sum->bins[HEW_CODE_SMALL_LAST].lock);
    pass(&unmade->own_pages.lock);
    pass(&unmade->bins[1].lock);
    pass(&unmade->bins[HEW_CODE_SMALL_LAST].lock);
    CHECK(hew_arena_destroy(index, NULL));
}

TEST(in_a_forks_child_nobody_holds_what_is_in_no_table_and_no_arena_is_about_to_end)
{
    CHECK_EQUAL(child_run(forked).status, 0);
}

static void
oversize_of_own(void)
{
    boot();
    struct hew_arena *own = hew_arena_find((unsigned)hew_arena_create(NULL)), *first = hew_arena_get(0);
    CHECK(hew_arena_of_oversize(own) == own); /* a program's own arena has all that is taken from it */
    struct hew_arena *large = hew_arena_of_oversize(first);
    CHECK(large != NULL && large != first && large != own);
    CHECK(hew_arena_of_oversize(first) == large && hew_arena_of_oversize(own) == own);
    CHECK(large->pages.heap->dirty_decay.decay_ms == -1 &&
          large->pages.heap->muzzy_decay.decay_ms <= 0); /* never stays never */
}

TEST(a_programs_own_arena_keeps_its_large_objects)
{
    CHECK_EQUAL(child_run(oversize_of_own).status, 0);
}
