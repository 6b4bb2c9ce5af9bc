/* SPDX-License-Identifier: MIT */
#include "stats/snapshot.h"

#include "cache/count.h"
#include "cache/depot.h"
#include "cache/magazine.h"
#include "cache/thread.h"
#include "layers_alloc.h"
#include "slab/arena_life.h"
#include "test.h"

static struct hew_stats_arena arena;

static const struct hew_stats_arena *
take(unsigned index)
{
    CHECK(hew_stats_take());
    CHECK(hew_stats_copy_arena(index, &arena));
    return &arena;
}

static uint64_t
number(unsigned index, size_t offset)
{
    uint64_t value = UINT64_MAX;
    CHECK(hew_stats_arena_number(index, offset, &value));
    return value;
}

TEST(the_first_question_takes_the_first_snapshot)
{
    CHECK(layers_boot());
    hew_options.narenas = 2;
    CHECK_EQUAL(hew_stats_totals().resident, 0);
    CHECK_EQUAL(hew_stats_epoch(), 1);
    CHECK(hew_stats_totals().resident > 0);
    CHECK_EQUAL(hew_stats_epoch(), 1);
}

TEST(a_snapshot_stays_until_the_next_one)
{
    struct hew_cache *cache = hew_thread_birth(true);
    CHECK(take(0)->nthreads == 1);
    uint64_t epoch = hew_stats_epoch();
    size_t before = hew_stats_totals().allocated;
    CHECK(hew_magazine_pop(cache, hew_code_of_size(64)) != NULL);
    CHECK_EQUAL(hew_stats_totals().allocated, before);
    CHECK_EQUAL(hew_stats_epoch(), epoch);
    CHECK(hew_stats_take());
    CHECK(hew_stats_totals().allocated > before);
    CHECK_EQUAL(hew_stats_epoch(), epoch + 1);
}

TEST(a_bins_numbers_are_those_of_its_class)
{
    unsigned code = hew_code_of_size(64), bin = code - 1;
    struct hew_cache *cache = hew_cache_self;
    const struct hew_stats_arena *now = take(0);
    CHECK_EQUAL(now->bins[bin].nrequests, 1);
    CHECK_EQUAL(now->bins[bin].nfills, 1);
    CHECK_EQUAL(now->bins[bin].curslabs, 1);
    CHECK_EQUAL(now->bins[bin].nslabs, 1);
    CHECK_EQUAL(now->bins[bin].curregs, 1 + hew_count_depth(cache, code));
    CHECK_EQUAL(now->tcache_bytes, 64 * hew_count_depth(cache, code));
    CHECK_EQUAL(now->small.allocated, 64 * now->bins[bin].curregs);
    CHECK(now->bins[bin].mutex.num_ops >= 1);
}

TEST(a_large_object_counts_its_usable_bytes)
{
    struct hew_arena *live = hew_arena_at(0);
    size_t before = take(0)->large.allocated;
    struct hew_extent *extent = hew_large_take(live, 50000, HEW_PAGE, hew_code_of_size(50000));
    unsigned index = hew_class_index(50000) - HEW_CODE_SMALL_LAST;
    CHECK_EQUAL(take(0)->large.allocated, before + 57344);
    CHECK_EQUAL(arena.lextents[index].curlextents, 1);
    CHECK_EQUAL(arena.large.nfills, arena.large.nmalloc);
    hew_large_give(extent);
    CHECK_EQUAL(take(0)->large.allocated, before);
    CHECK_EQUAL(arena.lextents[index].nmalloc, 1);
    CHECK_EQUAL(arena.lextents[index].ndalloc, 1);
}

TEST(unused_extents_are_counted_by_size)
{
    struct hew_arena *live = hew_arena_at(0);
    struct hew_extent *extent = hew_large_take(live, 40 * HEW_PAGE, HEW_PAGE, hew_code_of_size(40 * HEW_PAGE));
    struct hew_extent *behind = hew_large_take(live, 16 * HEW_PAGE, HEW_PAGE, hew_code_of_size(16 * HEW_PAGE));
    hew_page_decay(live->pages.heap, 0, true); /* what earlier tests left */
    hew_large_give(extent);
    const struct hew_stats_arena *now = take(0);
    unsigned dirty = 0;
    size_t bytes = 0, retained = 0;
    for (unsigned bucket = 0; bucket < HEW_STOCK_BUCKETS; bucket++) {
        const struct hew_stats_extents *here = &now->extents[bucket];
        dirty += (unsigned)here->ndirty;
        bytes += here->dirty_bytes;
        retained += here->retained_bytes;
        CHECK(here->dirty_bytes >= here->ndirty * hew_stats_bucket_size(bucket));
    }
    CHECK(dirty == 1 && bytes == 40 * HEW_PAGE);
    CHECK_EQUAL(now->pdirty, 40);
    CHECK_EQUAL(retained, now->retained);
    hew_page_decay(live->pages.heap, 0, true);
    uint64_t purged = now->dirty_purged, rounds = now->dirty_npurge, calls = now->dirty_nmadvise;
    CHECK_EQUAL(take(0)->dirty_purged, purged + 40);
    CHECK_EQUAL(arena.dirty_npurge, rounds + 1);
    CHECK_EQUAL(arena.dirty_nmadvise, calls + 1);
    hew_large_give(behind);
}

TEST(arenas_that_share_pages_count_what_each_of_them_uses)
{
    struct hew_arena *owner = hew_arena_at(0), *sharer = hew_arena_get(1);
    uint64_t before = take(0)->pactive, all = hew_page_counts(owner->pages.heap).active / HEW_PAGE;
    struct hew_extent *extent = hew_large_take(sharer, 64 * HEW_PAGE, HEW_PAGE, hew_code_of_size(64 * HEW_PAGE));
    CHECK(sharer->pages.heap == owner->pages.heap);
    CHECK_EQUAL(take(0)->pactive, before);
    CHECK_EQUAL(take(1)->pactive, all - before + 64);
    hew_large_give_back(extent); /* what is idle is the owner's */
    CHECK_EQUAL(take(1)->pdirty, 0);
    CHECK(take(0)->pdirty >= 64);
    CHECK_EQUAL(arena.pactive, before);
}

TEST(a_sum_is_the_sum_of_its_arenas)
{
    CHECK(hew_arena_get(1) != NULL);
    CHECK(hew_large_take(hew_arena_at(1), 300000, HEW_PAGE, hew_code_of_size(300000)) != NULL);
    CHECK(hew_stats_take());
    for (size_t word = 0; hew_stats_arena_fields[word].name[0] != '\0'; word++) {
        uint64_t zero = number(0, word * 8), one = number(1, word * 8), all = number(HEW_STATS_ALL, word * 8);
        unsigned merge = hew_stats_arena_fields[word].merge;
        CHECK_EQUAL(all, merge == HEW_STATS_ADD    ? zero + one
                         : merge == HEW_STATS_NONE ? UINT64_MAX
                         : zero > one              ? zero
                                                   : one);
    }
    CHECK_EQUAL(number(hew_arenas_count(), offsetof(struct hew_stats_arena, pactive)),
                number(HEW_STATS_ALL, offsetof(struct hew_stats_arena, pactive)));
    struct hew_stats_totals totals = hew_stats_totals();
    CHECK_EQUAL(totals.active, number(HEW_STATS_ALL, offsetof(struct hew_stats_arena, pactive)) * HEW_PAGE);
    CHECK(totals.resident >= totals.active + totals.metadata && totals.metadata >= totals.metadata_rtree);
}

TEST(there_are_no_arenas_but_those_that_exist)
{
    CHECK(hew_stats_has_arena(0) && hew_stats_has_arena(1) && hew_stats_has_arena(HEW_STATS_ALL));
    CHECK(!hew_stats_has_arena(hew_arenas_count() + 1) && !hew_stats_has_arena(4095) && !hew_stats_has_arena(5000));
    CHECK(!hew_stats_has_arena(UINT_MAX) && !hew_stats_has_arena(HEW_STATS_DESTROYED));
}

TEST(an_arena_made_since_the_snapshot_shows_nothing_yet)
{
    int index = hew_arena_create(NULL);
    CHECK(index > 0);
    hew_large_take(hew_arena_at((unsigned)index), 100000, HEW_PAGE, hew_code_of_size(100000));
    CHECK_EQUAL(number((unsigned)index, offsetof(struct hew_stats_arena, pactive)), 0);
    CHECK(take((unsigned)index)->pactive > 0);
    CHECK(strncmp(arena.name, "manual_", 7) == 0);
}

TEST(a_destroyed_arena_lives_on_in_a_sum)
{
    int index = hew_arena_create(NULL);
    unsigned large = hew_class_index(100000) - HEW_CODE_SMALL_LAST;
    hew_large_take(hew_arena_at((unsigned)index), 100000, HEW_PAGE, hew_code_of_size(100000));
    CHECK(hew_stats_take());
    CHECK(hew_arena_destroy((unsigned)index, NULL));
    const struct hew_stats_arena *gone = take(HEW_STATS_DESTROYED);
    CHECK_EQUAL(gone->large.nmalloc, 1);
    CHECK_EQUAL(gone->lextents[large].ndalloc, 1);
    CHECK_EQUAL(gone->large.allocated + gone->pactive + gone->resident + gone->nthreads, 0);
    CHECK_TEXT(gone->dss, "N/A");
    CHECK(!hew_stats_has_arena((unsigned)index));
}

TEST(requests_of_threads_that_are_gone_still_count)
{
    unsigned code = hew_code_of_size(640);
    struct hew_cache *cache = hew_cache_self;
    uint64_t before = take(HEW_STATS_ALL)->bins[code - 1].nrequests;
    for (unsigned request = 0; request < 5; request++) {
        CHECK(hew_magazine_pop(cache, code) != NULL);
    }
    CHECK_EQUAL(take(HEW_STATS_ALL)->bins[code - 1].nrequests, before + 5);
    hew_thread_death();
    hew_depot_drain(true);
    CHECK_EQUAL(take(HEW_STATS_ALL)->bins[code - 1].nrequests, before + 5);
    CHECK_EQUAL(arena.nthreads + arena.tcache_bytes, 0);
}

TEST(depots_are_a_part_of_what_the_first_arena_caches)
{
    unsigned code = hew_code_of_size(64);
    struct hew_cache *cache = hew_thread_birth(true);
    void *object = hew_magazine_pop(cache, code);
    CHECK(object != NULL);
    take(0);
    struct hew_stats_depot before = hew_stats_depot();
    hew_depot_give(0, code, &object, 1);
    CHECK_EQUAL(hew_stats_depot().bytes, before.bytes); /* as of the snapshot */
    size_t cached = arena.tcache_bytes;
    CHECK_EQUAL(take(0)->tcache_bytes, cached + 64);
    CHECK_EQUAL(hew_stats_depot().bytes, before.bytes + 64);
    CHECK_EQUAL(hew_stats_depot().gives, before.gives + 1);
    CHECK(hew_stats_depot().depots >= 1 && hew_stats_depot().limit > 0);
    CHECK_EQUAL(hew_depot_take(0, code, &object, 1), 1);
    CHECK_EQUAL(take(0)->tcache_bytes, cached);
    CHECK_EQUAL(hew_stats_depot().takes, before.takes + 1);
    hew_magazine_push(cache, code, object);
    hew_thread_death();
    hew_depot_drain(true);
}

TEST(counts_of_locks_can_begin_anew)
{
    CHECK(take(0)->mutexes[HEW_STATS_ARENA_extents_dirty].num_ops > 10);
    CHECK(hew_stats_global_mutex(HEW_STATS_GLOBAL_ctl).num_ops > 10);
    hew_stats_reset_mutexes();
    CHECK(take(0)->mutexes[HEW_STATS_ARENA_extents_dirty].num_ops < 10);
    CHECK(hew_stats_global_mutex(HEW_STATS_GLOBAL_ctl).num_ops < 10);
    CHECK_EQUAL(arena.mutexes[HEW_STATS_ARENA_extents_muzzy].num_ops, 0);
}

TEST(without_memory_the_former_snapshot_stays)
{
    uint64_t epoch = hew_stats_epoch();
    hew_os_faults.refuse = layers_refuse_everything;
    layers_use_up_metadata();
    CHECK(hew_stats_take()); /* nothing new is needed */
    hew_os_faults.refuse = NULL;
    CHECK(hew_arena_create(NULL) > 0 && hew_arena_create(NULL) > 0); /* the first may have a destroyed one's number */
    hew_os_faults.refuse = layers_refuse_everything;
    layers_use_up_metadata();
    CHECK(!hew_stats_take());
    hew_os_faults.refuse = NULL;
    CHECK_EQUAL(hew_stats_epoch(), epoch + 1);
    CHECK(hew_stats_take());
}
