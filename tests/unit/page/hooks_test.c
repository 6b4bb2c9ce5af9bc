/* SPDX-License-Identifier: MIT */
/* hooks: the default table, which a program's own hooks may call for any part of their memory. */
#include "page/hooks.h"

#include "base/options.h"
#include "base/size_class.h"
#include "os/memory.h"
#include "test.h"

#include "fakes/faults.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGES 8
#define BYTES (PAGES * HEW_PAGE)

static const struct hew_extent_hooks *const hooks = &hew_hooks_default;
static struct hew_extent_hooks *const table = (struct hew_extent_hooks *)(uintptr_t)&hew_hooks_default;

static unsigned char *
alloc(void *at, size_t alignment)
{
    bool zero = false, commit = false;
    unsigned char *memory = hooks->alloc(table, at, BYTES, alignment, &zero, &commit, 0);
    CHECK(memory == NULL || (zero && commit));
    return memory;
}

TEST(alloc_gives_zeros_at_any_alignment_and_at_a_wanted_place_if_it_is_free)
{
    unsigned char *memory = alloc(NULL, 64 * HEW_PAGE);
    CHECK(memory != NULL && (uintptr_t)memory % (64 * HEW_PAGE) == 0);
    CHECK(memory[0] == 0 && memory[BYTES - 1] == 0);
    CHECK(alloc(memory, HEW_PAGE) == NULL); /* taken */
    hooks->destroy(table, memory, BYTES, true, 0);
    CHECK(alloc(memory, HEW_PAGE) == memory);
    hooks->destroy(table, memory, BYTES, true, 0);
    faults_refuse("mmap", 0, FAULTS_ALL);
    CHECK(alloc(NULL, HEW_PAGE) == NULL);
    faults_end();
}

TEST(dalloc_unmaps_only_where_address_space_is_not_kept)
{
    unsigned char *memory = alloc(NULL, HEW_PAGE);
    hew_options.retain = true;
    CHECK(hooks->dalloc(table, memory, BYTES, true, 0)); /* true: not done */
    memory[0] = 1;
    hew_options.retain = false;
    faults_refuse("munmap", 0, 1);
    CHECK(hooks->dalloc(table, memory, BYTES, true, 0));
    faults_end();
    memory[0] = 2;
    CHECK(!hooks->dalloc(table, memory, BYTES, true, 0));
    CHECK(msync(memory, BYTES, MS_ASYNC) != 0 && errno == ENOMEM);
    hew_options.retain = true;
}

TEST(a_part_that_lies_within_the_memory_can_be_committed_and_none_is_decommitted)
{
    unsigned char *memory = alloc(NULL, HEW_PAGE);
    CHECK(!hooks->commit(table, memory, BYTES, 0, BYTES, 0));
    CHECK(!hooks->commit(table, memory, BYTES, HEW_PAGE, BYTES - HEW_PAGE, 0));
    CHECK(hooks->commit(table, memory, BYTES, HEW_PAGE, BYTES, 0));
    CHECK(hooks->commit(table, NULL, BYTES, 0, HEW_PAGE, 0));
    CHECK(hooks->decommit(table, memory, BYTES, 0, BYTES, 0));
    hooks->destroy(table, memory, BYTES, true, 0);
}

TEST(purging_empties_just_the_part_that_is_named)
{
    unsigned char *memory = alloc(NULL, HEW_PAGE);
    memset(memory, 7, BYTES);
    CHECK(!hooks->purge_forced(table, memory, BYTES, 2 * HEW_PAGE, 3 * HEW_PAGE, 0));
    for (size_t page = 0; page < PAGES; page++) {
        CHECK_EQUAL(memory[page * HEW_PAGE], page >= 2 && page < 5 ? 0 : 7);
        CHECK_EQUAL(memory[page * HEW_PAGE + HEW_PAGE - 1], page >= 2 && page < 5 ? 0 : 7);
    }
    faults_refuse("madvise", 0, FAULTS_ALL);
    CHECK(hooks->purge_forced(table, memory, BYTES, 0, BYTES, 0));
    CHECK(hooks->purge_lazy(table, memory, BYTES, 0, BYTES, 0));
    faults_end();
    CHECK_EQUAL(memory[0], 7);
    hooks->destroy(table, memory, BYTES, true, 0);
}

TEST(lazy_purging_asks_for_the_part_that_is_named)
{
    unsigned char *memory = alloc(NULL, HEW_PAGE);
    /* What lies before the part is not mapped any more: a range that began there would be refused. */
    hew_os_unmap(memory, 2 * HEW_PAGE);
    bool refused = hooks->purge_lazy(table, memory, BYTES, 2 * HEW_PAGE, 2 * HEW_PAGE, 0);
    unsigned char *other = alloc(NULL, HEW_PAGE);
    CHECK_EQUAL(refused, hooks->purge_lazy(table, other, BYTES, 0, BYTES, 0)); /* old systems have no lazy purging */
    hooks->destroy(table, other, BYTES, true, 0);
    hooks->destroy(table, memory + 2 * HEW_PAGE, BYTES - 2 * HEW_PAGE, true, 0);
}

TEST(any_two_neighbours_may_be_one_and_any_one_two)
{
    unsigned char *memory = alloc(NULL, HEW_PAGE);
    CHECK(!hooks->split(table, memory, BYTES, HEW_PAGE, BYTES - HEW_PAGE, true, 0));
    CHECK(!hooks->merge(table, memory, HEW_PAGE, memory + HEW_PAGE, BYTES - HEW_PAGE, true, 0));
    hooks->destroy(table, memory, BYTES, true, 0);
}

static unsigned entered, left;

static void
count_guard(bool inside)
{
    entered += inside;
    left += !inside;
}

TEST(the_guard_is_told_of_the_outermost_hook_alone_and_errno_is_as_before)
{
    atomic_store(&hew_hooks_guard, count_guard);
    errno = 71;
    int outer = hew_hooks_enter();
    CHECK_EQUAL(hew_hooks_depth, 1);
    errno = 72;
    int inner = hew_hooks_enter();
    CHECK(entered == 1 && left == 0 && hew_hooks_depth == 2);
    errno = 73;
    hew_hooks_leave(inner);
    CHECK(errno == 72 && left == 0);
    hew_hooks_leave(outer);
    CHECK(errno == 71 && entered == 1 && left == 1 && hew_hooks_depth == 0);
    atomic_store(&hew_hooks_guard, NULL);
    int alone = hew_hooks_enter();
    hew_hooks_leave(alone);
    CHECK(entered == 1 && left == 1);
}
