/* SPDX-License-Identifier: MIT */
/* Unit tests of page/hooked: a heap with hooks asks them for everything, and respects what they refuse. */
#include "page/hooked.h"

#include "test.h"

#include "fakes/faults.h"
#include "fakes/hooks.h"
#include "page_fixture.h"

static struct hew_extent_hooks table;
static struct hew_page_heap heir;

/* A heap whose hooks are the fake's, but for what the test changes in `table` before its first take. */
static void
begin(void)
{
    page_begin();
    hooks_begin();
    table = hooks_table;
    CHECK(hew_page_set_hooks(&page_heap, &table) == NULL);
    memset(&heir, 0, sizeof heir);
    hew_page_heap_begin(&heir, 0, page_now);
}

/* All that was taken has been given.  The books agree with the heap, and its end empties both. */
static void
end(void)
{
    struct hew_page_counts counts = page_counts();
    CHECK_EQUAL(counts.active, 0);
    CHECK_EQUAL(counts.mapped, hooks_bytes);
    hew_page_heap_end(&page_heap, &heir);
    CHECK_EQUAL(page_counts().mapped, 0);
    CHECK_EQUAL(hooks_count, 0);
    CHECK_EQUAL(hooks_wrong, 0);
    hew_options = page_defaults;
}

static bool
filled(const struct hew_extent *extent, size_t from, unsigned char with)
{
    const unsigned char *bytes = (const unsigned char *)extent->address;
    for (size_t i = from; i < extent->size; i++) {
        if (bytes[i] != with) {
            return false;
        }
    }
    return true;
}

TEST(memory_comes_from_the_alloc_hook_and_goes_back_through_destroy)
{
    begin();
    struct hew_extent *extent = page_take(64 * KIB);
    CHECK_EQUAL(hooks_allocs, 1);
    CHECK(hooks_find((void *)extent->address, 64 * KIB) != NULL);
    CHECK(!extent->zeroed && filled(extent, 0, HOOKS_MARK));
    page_give(extent);
    end();
    CHECK(hooks_destroys > 0);
}

TEST(what_the_hook_says_is_zero_is_zero)
{
    begin();
    hooks_zero = true;
    struct hew_extent *extent = page_take(64 * KIB);
    CHECK(extent->zeroed && page_filled(extent, 0));
    CHECK_EQUAL(extent->large.fresh, 64 * KIB);
    page_fill(extent, 7);
    page_give(extent);
    extent = page_take(64 * KIB);
    CHECK(!extent->zeroed && extent->large.fresh == 0);
    page_give(extent);
    end();
}

TEST(memory_that_came_uncommitted_is_committed_before_it_is_used)
{
    begin();
    hooks_commit_late = true;
    struct hew_extent *extent = page_take(64 * KIB);
    CHECK_EQUAL(hooks_commits, 1);
    page_fill(extent, 7);
    hooks_refuse = "!commit";
    CHECK(hew_page_take(&page_heap, 128 * KIB, HEW_PAGE, HEW_CODE_SLOW) == NULL);
    CHECK(filled(extent, 0, 7));
    hooks_refuse = "";
    struct hew_extent *other = page_take(128 * KIB);
    page_fill(other, 8);
    page_give(extent);
    page_give(other);
    end();
}

TEST(without_a_commit_hook_memory_counts_as_committed)
{
    begin();
    table.commit = NULL;
    struct hew_extent *extent = page_take(64 * KIB);
    page_fill(extent, 7);
    page_give(extent);
    end();
}

TEST(each_cut_and_each_merge_is_asked_for)
{
    begin();
    struct hew_extent *extents[3];
    for (unsigned i = 0; i < 3; i++) {
        extents[i] = page_take(64 * KIB);
        CHECK_EQUAL(hooks_splits, i + 1);
        CHECK(hooks_find((void *)extents[i]->address, 64 * KIB) != NULL);
    }
    page_give(extents[0]);
    CHECK_EQUAL(hooks_merges, 0);
    page_give(extents[2]); /* what lies behind is retained */
    CHECK_EQUAL(hooks_merges, 0);
    page_give(extents[1]); /* joins both */
    CHECK_EQUAL(hooks_merges, 2);
    CHECK_EQUAL(page_heap.dirty.extents, 1);
    end();
}

TEST(a_heap_whose_hook_never_splits_maps_just_what_is_asked_for)
{
    begin();
    hooks_refuse = "split";
    struct hew_extent *first = page_take(64 * KIB);
    CHECK_EQUAL(hooks_allocs, 2); /* the first step could not be cut, and is kept */
    struct hew_extent *second = page_take(80 * KIB);
    CHECK_EQUAL(hooks_allocs, 3);
    CHECK_EQUAL(second->size, 80 * KIB);
    page_give(second);
    struct hew_extent *third = page_take(80 * KIB); /* fits exactly */
    CHECK_EQUAL(hooks_allocs, 3);
    CHECK(!hew_page_shrink(&page_heap, third, 64 * KIB));
    CHECK_EQUAL(third->size, 80 * KIB);
    page_give(first);
    page_give(third);
    end();
}

TEST(a_table_without_split_never_asks_for_more_than_is_wanted)
{
    page_begin();
    hooks_begin();
    table = hooks_table;
    table.split = NULL;
    hew_page_set_hooks(&page_heap, &table);
    struct hew_extent *extent = page_take(20 * KIB);
    CHECK_EQUAL(hooks_bytes, 20 * KIB); /* not even a whole grain more */
    struct hew_extent *slab = hew_page_take(&page_heap, 32 * KIB, HEW_GRAIN, SLAB_CODE);
    CHECK_EQUAL(slab->address % HEW_GRAIN, 0);
    CHECK_EQUAL(hew_map_code(slab->address + 31 * KIB), SLAB_CODE);
    page_give(extent);
    page_give(slab);
    end();
}

TEST(what_may_not_be_merged_stays_two_extents)
{
    begin();
    struct hew_extent *extents[] = {page_take(64 * KIB), page_take(64 * KIB)};
    hooks_refuse = "merge";
    page_give(extents[0]);
    page_give(extents[1]);
    CHECK_EQUAL(page_heap.dirty.extents, 2);
    struct hew_extent *large = page_take(128 * KIB);
    CHECK_EQUAL(page_heap.dirty.extents, 2);
    CHECK(!hew_page_grow(&page_heap, large, 160 * KIB));
    CHECK_EQUAL(large->size, 128 * KIB);
    page_give(large);
    end();
}

TEST(a_large_extent_grows_and_shrinks_where_it_is)
{
    begin();
    struct hew_extent *extent = page_take(64 * KIB);
    page_fill(extent, 7);
    CHECK(hew_page_grow(&page_heap, extent, 256 * KIB));
    CHECK_EQUAL(extent->size, 256 * KIB);
    CHECK(hooks_find((void *)extent->address, 256 * KIB) != NULL);
    CHECK(filled(extent, 64 * KIB, HOOKS_MARK));
    CHECK(hew_page_shrink(&page_heap, extent, 32 * KIB));
    CHECK(filled(extent, 0, 7));
    CHECK_EQUAL(page_counts().active, 32 * KIB);
    page_give(extent);
    end();
}

TEST(a_purge_tries_dalloc_then_decommit_then_purging)
{
    begin();
    page_give(page_take(64 * KIB));
    hew_page_decay(&page_heap, page_now, true);
    CHECK(hooks_dallocs == 1 && hooks_decommits == 0 && hooks_forced == 0);
    CHECK_EQUAL(page_counts().dirty, 0);
    hooks_refuse = "dalloc";
    page_give(page_take(64 * KIB));
    hew_page_decay(&page_heap, page_now, true);
    CHECK(hooks_dallocs == 2 && hooks_decommits == 1 && hooks_forced == 0);
    struct hew_extent *extent = page_take(64 * KIB);
    CHECK(hooks_commits == 1 && page_filled(extent, extent->zeroed ? 0 : HOOKS_MARK));
    page_fill(extent, 7);
    hooks_refuse = "dalloc,decommit";
    page_give(extent);
    hew_page_decay(&page_heap, page_now, true);
    CHECK(hooks_forced == 1 && hooks_lazy == 0);
    hooks_refuse = "dalloc,decommit,forced";
    page_fill(extent = page_take(64 * KIB), 7);
    page_give(extent);
    hew_page_decay(&page_heap, page_now, true);
    CHECK(hooks_forced == 2 && hooks_lazy == 1);
    CHECK_EQUAL(page_counts().dirty, 0); /* refused everywhere, it is kept for the next request */
    extent = page_take(64 * KIB);
    CHECK(!extent->zeroed);
    page_give(extent);
    end();
}

TEST(muzzy_pages_are_purged_lazily_first_and_then_given_back)
{
    begin();
    page_decay_times(1000, 1000);
    page_give(page_take(64 * KIB));
    hew_page_decay(&page_heap, page_now + 10, false);
    hew_page_decay(&page_heap, page_now + 5000, false);
    hew_page_decay(&page_heap, page_now + 10000, false);
    CHECK(hooks_lazy == 1 && hooks_dallocs == 0);
    CHECK_EQUAL(page_counts().muzzy, 64 * KIB);
    hew_page_decay(&page_heap, page_now + 20000, false);
    hew_page_decay(&page_heap, page_now + 30000, false);
    CHECK_EQUAL(hooks_dallocs, 1);
    CHECK_EQUAL(page_counts().muzzy, 0);
    end();
}

TEST(a_table_of_nothing_but_alloc_keeps_all_memory_for_itself)
{
    page_begin();
    hooks_begin();
    table = (struct hew_extent_hooks){.alloc = hooks_alloc};
    hew_page_set_hooks(&page_heap, &table);
    struct hew_extent *extents[] = {page_take(64 * KIB), page_take(64 * KIB)};
    page_fill(extents[0], 7);
    page_give(extents[0]);
    page_give(extents[1]);
    hew_page_decay(&page_heap, page_now, true);
    CHECK_EQUAL(page_counts().retained, 128 * KIB);
    CHECK(page_take(64 * KIB)->zeroed == false);
    CHECK_EQUAL(hooks_allocs, 2);
}

TEST(a_hook_that_gives_what_was_not_asked_for_is_not_believed)
{
    begin();
    hooks_refuse = "alloc";
    CHECK(hew_page_take(&page_heap, 64 * KIB, HEW_PAGE, HEW_CODE_SLOW) == NULL);
    CHECK_EQUAL(hooks_allocs, 2); /* the usual step, then just what is needed */
    end();
}

static void *
crooked_alloc(struct hew_extent_hooks *hooks, void *new_address, size_t size, size_t alignment, bool *zero,
              bool *commit, unsigned arena)
{
    static bool odd;
    char *memory = hooks_alloc(hooks, new_address, size + HEW_PAGE, alignment, zero, commit, arena);
    odd = !odd;
    if (odd || memory == NULL) {
        pthread_mutex_lock(&hooks_lock);
        hooks_find(memory, size + HEW_PAGE)->size = size;
        hooks_bytes -= HEW_PAGE;
        pthread_mutex_unlock(&hooks_lock);
        return memory;
    }
    pthread_mutex_lock(&hooks_lock);
    struct hooks_extent *extent = hooks_find(memory, size + HEW_PAGE);
    extent->address += HEW_PAGE;
    extent->size = size;
    hooks_bytes -= HEW_PAGE;
    pthread_mutex_unlock(&hooks_lock);
    return memory + HEW_PAGE;
}

TEST(misaligned_memory_goes_straight_back)
{
    page_begin();
    hooks_begin();
    table = hooks_table;
    table.alloc = crooked_alloc;
    hew_page_set_hooks(&page_heap, &table);
    memset(&heir, 0, sizeof heir);
    hew_page_heap_begin(&heir, 0, page_now);
    struct hew_extent *extent = page_take(64 * KIB), *other = page_take(MIB);
    CHECK(extent->address % HEW_GRAIN == 0 && other->address % HEW_GRAIN == 0);
    CHECK_EQUAL(hooks_dallocs, 1);
    page_give(extent);
    page_give(other);
    end();
}

TEST(hooks_that_come_later_are_asked_for_memory_that_came_without_them)
{
    page_begin();
    hooks_begin();
    struct hew_extent *extent = page_take(64 * KIB), *other = page_take(64 * KIB);
    page_give(extent);
    table = hew_hooks_default;
    table.purge_forced = hooks_table.purge_forced;
    hew_page_set_hooks(&page_heap, &table);
    hooks_add((char *)extent->address, 64 * KIB, true); /* so that the fake knows it */
    hew_page_decay(&page_heap, page_now, true);
    CHECK_EQUAL(hooks_forced, 1);
    CHECK_EQUAL(hooks_wrong, 0);
    extent = page_take(64 * KIB);
    CHECK(extent->zeroed);
    struct hew_extent *fresh = page_take(256 * KIB); /* retained since before */
    CHECK(fresh->zeroed && page_filled(fresh, 0));
    page_give(fresh);
    page_give(extent);
    page_give(other);
    memset(&heir, 0, sizeof heir);
    hew_page_heap_begin(&heir, 0, page_now);
    hooks_count = 0;
    hew_page_heap_end(&page_heap, &heir);
    CHECK_EQUAL(page_counts().mapped, 0);
}

TEST(the_default_dalloc_tells_when_the_system_does_not_take_back)
{
    page_begin();
    hew_options.retain = false;
    void *memory = hew_os_map(64 * KIB, HEW_PAGE);
    faults_refuse("munmap", 0, 1);
    CHECK(hew_hooks_default.dalloc(NULL, memory, 64 * KIB, true, 0));
    faults_end();
    CHECK(!hew_hooks_default.dalloc(NULL, memory, 64 * KIB, true, 0));
    hew_options = page_defaults;
}

TEST(the_default_table_works_when_it_is_called_through_a_copy)
{
    page_begin();
    table = hew_hooks_default;
    struct hew_extent_hooks copy = table;
    hew_page_set_hooks(&page_heap, &copy);
    struct hew_extent *extent = page_take(64 * KIB);
    CHECK(extent->zeroed && page_filled(extent, 0));
    page_fill(extent, 7);
    page_give(extent);
    hew_page_decay(&page_heap, page_now, true);
    CHECK_EQUAL(page_counts().retained, page_counts().mapped);
    extent = page_take(64 * KIB);
    CHECK(extent->zeroed && page_filled(extent, 0));
    page_give(extent);
    memset(&heir, 0, sizeof heir);
    hew_page_heap_begin(&heir, 0, page_now);
    hew_page_heap_end(&page_heap, &heir);
    CHECK_EQUAL(page_counts().mapped, 0);
}

/* A hook that uses the very heap that it serves. */
static void
use_the_heap(void)
{
    static unsigned depth;
    if (depth == 0) {
        depth++;
        CHECK_EQUAL(hew_hooks_depth, 1);
        struct hew_extent *extent = page_take(32 * KIB);
        CHECK_EQUAL(hew_hooks_depth, 1);
        hew_page_counts(&page_heap);
        page_give(extent);
        depth--;
    }
}

TEST(no_lock_is_held_while_a_hook_runs)
{
    begin();
    hooks_inside = use_the_heap;
    struct hew_extent *extents[] = {page_take(64 * KIB), page_take(64 * KIB), page_take(64 * KIB)};
    CHECK_EQUAL(hew_hooks_depth, 0);
    page_give(extents[0]);
    page_give(extents[2]);
    page_give(extents[1]);
    hew_page_decay(&page_heap, page_now, true);
    hooks_inside = NULL;
    end();
}

TEST(a_step_is_no_larger_than_the_limit_unless_the_request_is)
{
    begin();
    page_heap.grow_limit = 128 * KIB;
    struct hew_extent *small = page_take(64 * KIB);
    CHECK_EQUAL(page_counts().mapped, 128 * KIB);
    struct hew_extent *large = page_take(512 * KIB);
    CHECK_EQUAL(page_counts().mapped, 640 * KIB);
    page_give(small);
    page_give(large);
    end();
}
