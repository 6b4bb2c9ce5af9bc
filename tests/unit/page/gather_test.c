/* SPDX-License-Identifier: MIT */
/* Unit tests of page/gather and page/moved: large requests that idle pages from elsewhere serve. */
#include "page/gather.h"

#include "meta/memory.h"
#include "page/bound.h"
#include "page/hooks.h"
#include "page/move.h"
#include "test.h"

#include "fakes/faults.h"
#include "page_fixture.h"

#include <sys/wait.h>
#include <unistd.h>

#define PIECES 8
#define PIECE (256 * KIB)
#define WANTED (4 * MIB) /* more than there is around any of them */

static struct hew_extent *between[PIECES];

/* Dirty pieces with active pages between them, and with what they held before. */
static void
scatter(unsigned pieces)
{
    struct hew_extent *dirty[PIECES];
    page_begin();
    for (unsigned i = 0; i < pieces; i++) {
        dirty[i] = page_take(PIECE);
        between[i] = page_take(PIECE); /* as large, so that no gap is filled with it */
        page_fill(dirty[i], (unsigned char)(10 + i));
        page_fill(between[i], (unsigned char)(100 + i));
    }
    for (unsigned i = 0; i < pieces; i++) {
        page_give(dirty[i]);
    }
    CHECK_EQUAL(page_counts().dirty, pieces * PIECE);
}

static void
scatter_end(unsigned pieces)
{
    for (unsigned i = 0; i < pieces; i++) {
        CHECK(page_filled(between[i], (unsigned char)(100 + i)));
        page_give(between[i]);
    }
    page_end();
    CHECK_EQUAL(page_heap.moved.count, 0);
}

/* Everything up to the fresh part is what some piece held, piece by piece; the rest reads as zeros. */
static void
check_gathered(const struct hew_extent *taken, size_t bytes)
{
    const unsigned char *at = (const unsigned char *)taken->address;
    CHECK_EQUAL(taken->size - taken->large.fresh, bytes);
    CHECK(taken->zeroed == (bytes == 0));
    for (size_t piece = 0; piece < bytes; piece += PIECE) {
        CHECK(at[piece] >= 10 && at[piece] < 10 + PIECES && memcmp(at + piece, at + piece + 1, PIECE - 1) == 0);
    }
    for (size_t byte = bytes; byte < taken->size; byte++) {
        CHECK(at[byte] == 0);
    }
}

TEST(scattered_dirty_pieces_become_the_front_of_a_large_extent)
{
    scatter(PIECES);
    struct hew_extent *taken = page_take(WANTED);
    CHECK(taken->zeroed && taken->large.fresh == WANTED);
    CHECK(hew_page_gather(&page_heap, taken));
    check_gathered(taken, PIECES * PIECE);
    struct hew_page_counts counts = page_counts();
    CHECK(counts.dirty == 0 && counts.active == WANTED + PIECES * PIECE);
    CHECK(counts.pieces_moved == PIECES && counts.bytes_moved == PIECES * PIECE);
    CHECK_EQUAL(page_heap.moved.count, PIECES);
    page_give(taken);
    scatter_end(PIECES);
}

TEST(the_largest_dirty_extent_moves_first)
{
    page_begin();
    struct hew_extent *small = page_take(2 * PIECE), *first = page_take(PIECE), *large = page_take(4 * PIECE),
                      *second = page_take(PIECE);
    page_fill(small, 10);
    page_fill(large, 11);
    page_give(small);
    page_give(large);
    struct hew_extent *taken = page_take(WANTED);
    CHECK(hew_page_gather(&page_heap, taken));
    check_gathered(taken, 6 * PIECE);
    const unsigned char *at = (const unsigned char *)taken->address;
    CHECK(at[0] == 11 && at[4 * PIECE] == 10);
    page_give(first);
    page_give(second);
    page_give(taken);
    page_end();
}

TEST(a_refused_move_leaves_its_piece_dirty_and_the_others_close_up)
{
    for (int call = 0; call < 2 * PIECES; call++) {
        scatter(PIECES);
        struct hew_extent *taken = page_take(WANTED);
        faults_refuse("mremap", call, 1);
        CHECK(hew_page_gather(&page_heap, taken));
        unsigned refused = (unsigned)atomic_load(&faults_refused);
        faults_end();
        CHECK(refused == (call < PIECES));
        check_gathered(taken, (PIECES - refused) * PIECE);
        CHECK(page_counts().dirty == refused * PIECE && page_counts().pieces_moved == PIECES - refused);
        page_give(taken);
        scatter_end(PIECES);
    }
}

TEST(an_old_place_that_the_system_does_not_map_anew_reads_as_zeros_nevertheless)
{
    scatter(PIECES);
    struct hew_extent *taken = page_take(WANTED);
    faults_refuse("mmap", 0, FAULTS_ALL);
    CHECK(hew_page_gather(&page_heap, taken));
    faults_end();
    check_gathered(taken, PIECES * PIECE);
    struct hew_extent *again[PIECES];
    for (unsigned i = 0; i < PIECES; i++) {
        again[i] = page_take(PIECE);
        CHECK(again[i]->zeroed && page_filled(again[i], 0));
    }
    for (unsigned i = 0; i < PIECES; i++) {
        page_give(again[i]);
    }
    page_give(taken);
    scatter_end(PIECES);
}

TEST(too_few_dirty_bytes_stay_where_they_are)
{
    scatter(2);
    struct hew_extent *taken = page_take(WANTED);
    CHECK(hew_page_gather(&page_heap, taken));
    check_gathered(taken, 0);
    CHECK(page_counts().dirty == 2 * PIECE && page_counts().pieces_moved == 0);
    page_give(taken);
    scatter_end(2);
}

TEST(no_more_is_moved_than_is_fresh)
{
    scatter(PIECES);
    struct hew_extent *taken = page_take(WANTED);
    taken->large.fresh = 320 * KIB;
    CHECK(hew_page_gather(&page_heap, taken));
    CHECK(taken->large.fresh == 0 && page_counts().dirty == PIECES * PIECE - 320 * KIB);
    page_give(taken);
    scatter_end(PIECES);
}

TEST(what_was_moved_is_moved_again_piece_by_piece)
{
    scatter(PIECES);
    struct hew_extent *taken = page_take(WANTED);
    CHECK(hew_page_gather(&page_heap, taken));
    struct hew_extent *larger = page_take(2 * WANTED);
    unsigned char first = *(unsigned char *)taken->address;
    CHECK(hew_page_move(&page_heap, taken, &page_heap, larger) == HEW_OS_MOVED);
    CHECK(page_filled(taken, 0) && *(unsigned char *)larger->address == first);
    larger->large.fresh = 2 * WANTED - PIECES * PIECE;
    larger->zeroed = false;
    check_gathered(larger, PIECES * PIECE);
    page_give(taken);
    page_give(larger);
    scatter_end(PIECES);
}

TEST(a_move_that_is_refused_in_the_middle_copies_the_rest)
{
    for (int call = 1; call <= PIECES; call++) {
        scatter(PIECES);
        struct hew_extent *taken = page_take(WANTED);
        CHECK(hew_page_gather(&page_heap, taken));
        struct hew_extent *larger = page_take(2 * WANTED);
        faults_refuse("mremap", call, FAULTS_ALL);
        CHECK(hew_page_move(&page_heap, taken, &page_heap, larger) == HEW_OS_MOVED);
        faults_end();
        CHECK(page_filled(taken, 0));
        larger->large.fresh = 2 * WANTED - PIECES * PIECE;
        larger->zeroed = false;
        check_gathered(larger, PIECES * PIECE);
        page_give(taken);
        page_give(larger);
        scatter_end(PIECES);
    }
}

static unsigned moves_before_refusals;

/* No move but the first ones, and no pages taken back. */
static bool
refuse_the_rest(const char *call)
{
    bool moves = strcmp(call, "mremap") == 0;
    if (moves && moves_before_refusals != 0) {
        moves_before_refusals--;
        return false;
    }
    return moves || strcmp(call, "madvise") == 0;
}

TEST(what_was_copied_is_zeroed_where_the_system_takes_no_pages_back)
{
    scatter(PIECES);
    struct hew_extent *taken = page_take(WANTED);
    CHECK(hew_page_gather(&page_heap, taken));
    struct hew_extent *larger = page_take(2 * WANTED);
    moves_before_refusals = 2;
    hew_os_faults.refuse = refuse_the_rest;
    CHECK_EQUAL(hew_page_move(&page_heap, taken, &page_heap, larger), HEW_OS_MOVED);
    hew_os_faults.refuse = NULL;
    CHECK(page_filled(taken, 0));
    page_give(taken);
    page_give(larger);
    scatter_end(PIECES);
}

TEST(what_has_moved_is_known_as_mappings_of_its_own_where_it_is)
{
    scatter(PIECES);
    struct hew_extent *taken = page_take(WANTED);
    CHECK(hew_page_gather(&page_heap, taken));
    struct hew_extent *larger = page_take(2 * WANTED);
    CHECK_EQUAL(hew_page_move(&page_heap, taken, &page_heap, larger), HEW_OS_MOVED);
    CHECK(!hew_moved_touches(&page_heap.moved, taken->address, hew_extent_end(taken)));
    for (size_t piece = 0; piece < PIECES; piece++) {
        uintptr_t at = larger->address + piece * PIECE;
        CHECK(hew_moved_touches(&page_heap.moved, at, at + PIECE));
    }
    page_give(taken);
    page_give(larger);
    scatter_end(PIECES);
}

TEST(under_a_limit_memory_that_came_by_moving_is_not_counted_twice)
{
    scatter(PIECES);
    struct hew_extent *taken = page_take(WANTED);
    atomic_store(&hew_page_bound.known, true);
    atomic_store(&hew_page_bound.held, (ptrdiff_t)(WANTED + 2 * PIECES * PIECE));
    CHECK(hew_page_gather(&page_heap, taken));
    CHECK_EQUAL(hew_page_bound.held, WANTED + PIECES * PIECE);
    atomic_store(&hew_page_bound.known, false);
    atomic_store(&hew_page_bound.held, 0);
    page_give(taken);
    scatter_end(PIECES);
}

static unsigned ends_seen, ends_wrong;

static bool
look_at_ends(const char *call)
{
    for (struct hew_list *node = page_heap.transit.next; node != &page_heap.transit; node = node->next) {
        const struct hew_extent *piece = HEW_CONTAINER(node, struct hew_extent, free.age);
        bool marked = hew_map_extent(piece->address) == piece && hew_map_extent(hew_extent_end(piece) - 1) == piece;
        *(marked ? &ends_seen : &ends_wrong) += strcmp(call, "mremap") == 0;
    }
    return false;
}

TEST(while_a_part_of_an_extent_moves_both_of_its_ends_lead_to_it)
{
    scatter(PIECES);
    struct hew_extent *taken = page_take(WANTED);
    taken->large.fresh = PIECE + PIECE / 2;
    taken->zeroed = false;
    hew_os_faults.refuse = look_at_ends;
    CHECK(hew_page_gather(&page_heap, taken));
    hew_os_faults.refuse = NULL;
    CHECK_EQUAL(ends_wrong, 0);
    CHECK_EQUAL(ends_seen, 2 * 2); /* two pieces, at each of two moves */
    page_give(taken);
    scatter_end(PIECES);
}

TEST(purged_pages_are_part_of_the_first_mapping_again)
{
    scatter(PIECES);
    struct hew_extent *taken = page_take(WANTED);
    CHECK(hew_page_gather(&page_heap, taken));
    uintptr_t address = taken->address;
    page_give(taken);
    hew_page_decay(&page_heap, page_now, true);
    CHECK_EQUAL(page_heap.moved.count, 0);
    struct hew_extent *again = page_take(WANTED);
    CHECK(again->address == address && again->zeroed && page_filled(again, 0));
    page_give(again);
    scatter_end(PIECES);
}

/* As many runs as there is room for come to the heap, each a page, with a gap before it; how many. */
static unsigned
fill_moved(struct hew_moved *moved, unsigned runs)
{
    unsigned count = 0;
    for (; count < runs && hew_moved_expect(moved, 1); count++) {
        hew_moved_expect_no_more(moved, 1);
        hew_moved_add(moved, (1 + 2 * (uintptr_t)count) * HEW_PAGE, (2 + 2 * (uintptr_t)count) * HEW_PAGE);
    }
    return count;
}

TEST(a_heap_has_no_more_pieces_than_it_may)
{
    scatter(PIECES);
    struct hew_moved *moved = &page_heap.moved;
    CHECK(!hew_moved_expect(moved, HEW_MOVED_MOST / HEW_MOVED_ROOM + 1));
    CHECK_EQUAL(fill_moved(moved, HEW_MOVED_MOST - 2 * HEW_MOVED_ROOM), HEW_MOVED_MOST - 2 * HEW_MOVED_ROOM);
    struct hew_extent *taken = page_take(WANTED);
    CHECK(hew_page_gather(&page_heap, taken));
    CHECK(page_counts().pieces_moved == 2 && moved->count <= HEW_MOVED_MOST && moved->expected == 0);
    hew_moved_clear(moved, HEW_PAGE, 2 * HEW_MOVED_MOST * HEW_PAGE);
    CHECK_EQUAL(moved->count, 2);
    page_give(taken);
    scatter_end(PIECES);
}

TEST(in_a_full_list_a_piece_can_still_lose_an_end_but_not_its_middle)
{
    const uintptr_t start = 64 * MIB, end = start + 8 * HEW_PAGE;
    page_begin();
    struct hew_moved *moved = &page_heap.moved;
    CHECK_EQUAL(fill_moved(moved, 1), 1);
    while (moved->count < HEW_MOVED_MOST - 1) {
        uintptr_t next = (1 + 2 * (uintptr_t)moved->count) * HEW_PAGE;
        hew_moved_add(moved, next, next + HEW_PAGE);
    }
    hew_moved_add(moved, start, end);
    CHECK_EQUAL(moved->count, HEW_MOVED_MOST);
    hew_moved_clear(moved, end - HEW_PAGE, end);
    CHECK(!hew_moved_touches(moved, end - HEW_PAGE, end) && hew_moved_touches(moved, start, start + HEW_PAGE));
    hew_moved_clear(moved, start + HEW_PAGE, start + 2 * HEW_PAGE);
    CHECK_EQUAL(hew_moved_until(moved, start, end), end - HEW_PAGE);
    CHECK_EQUAL(moved->count, HEW_MOVED_MOST);
    hew_moved_clear(moved, HEW_PAGE, end);
    page_end();
}

static const struct hew_extent *moved_into;
static unsigned seen_hidden, seen_shown;

static bool
look_at_moves(const char *call)
{
    if (strcmp(call, "mremap") == 0) {
        bool hidden = hew_map_extent(moved_into->address) == NULL && hew_map_code(moved_into->address) == HEW_CODE_NONE;
        *(hidden ? &seen_hidden : &seen_shown) += 1;
    }
    return false;
}

TEST(all_heaps_together_have_mappings_for_less_than_an_eighth_of_what_linux_allows)
{
    enum { HEAPS = 2 * HEW_MOVED_ALL / HEW_MOVED_MOST, ALLOWED = 65530 }; /* vm.max_map_count by default */
    struct hew_moved heaps[HEAPS] = {0};
    unsigned runs[HEAPS] = {0}, sum = 0, served = 0;
    page_begin();
    for (unsigned i = 0; i < HEAPS; i++) {
        while (hew_moved_expect(&heaps[i], 1)) {
            runs[i]++;
        }
        sum += heaps[i].expected;
        served += runs[i] != 0;
    }
    CHECK(served > 1 && served < HEAPS); /* it was the bound of all that stopped them */
    CHECK(sum <= HEW_MOVED_ALL && sum > HEW_MOVED_ALL - HEW_MOVED_ROOM);
    CHECK(2 * sum <= ALLOWED / 8); /* a piece cuts its mapping in two, and is one itself */
    for (unsigned i = 0; i < HEAPS; i++) {
        hew_moved_expect_no_more(&heaps[i], runs[i]);
        hew_meta_give(heaps[i].pieces, HEW_MOVED_MOST * sizeof *heaps[i].pieces);
    }
    page_end();
}

TEST(nobody_finds_an_extent_while_pages_move_into_it)
{
    scatter(PIECES);
    struct hew_extent *taken = page_take(WANTED), *to = page_take(WANTED);
    unsigned code = hew_map_code(taken->address);
    moved_into = taken;
    hew_os_faults.refuse = look_at_moves;
    CHECK(hew_page_gather(&page_heap, taken));
    CHECK(hew_map_extent(taken->address) == taken && hew_map_code(taken->address) == code);
    moved_into = to;
    CHECK_EQUAL(hew_page_move(&page_heap, taken, &page_heap, to), HEW_OS_MOVED);
    hew_os_faults.refuse = NULL;
    CHECK(hew_map_extent(to->address) == to && hew_map_code(to->address) == code);
    CHECK_EQUAL(seen_shown, 0);
    CHECK(seen_hidden > PIECES);
    page_give(taken);
    page_give(to);
    scatter_end(PIECES);
}

/* Another thread that comes while pages move, without the lock, takes all the capacity. */
static unsigned came_meanwhile;

static bool
fill_at_first_move(const char *call)
{
    if (came_meanwhile == 0 && strcmp(call, "mremap") == 0) {
        came_meanwhile = fill_moved(&page_heap.moved, UINT32_MAX);
    }
    return false;
}

TEST(who_moves_pages_has_the_room_for_them_though_others_come_meanwhile)
{
    scatter(PIECES);
    struct hew_moved *moved = &page_heap.moved;
    struct hew_extent *taken = page_take(WANTED);
    came_meanwhile = 0;
    hew_os_faults.refuse = fill_at_first_move;
    CHECK(hew_page_gather(&page_heap, taken));
    hew_os_faults.refuse = NULL;
    CHECK(came_meanwhile > HEW_MOVED_MOST - (PIECES + 1) * HEW_MOVED_ROOM);
    CHECK(moved->count == came_meanwhile + PIECES && moved->count <= HEW_MOVED_MOST && moved->expected == 0);
    check_gathered(taken, PIECES * PIECE);
    hew_moved_clear(moved, HEW_PAGE, 2 * HEW_MOVED_MOST * HEW_PAGE);
    page_give(taken);
    scatter_end(PIECES);
}

TEST(what_is_mapped_anew_in_a_piece_leaves_its_two_ends)
{
    page_begin();
    struct hew_moved *moved = &page_heap.moved;
    CHECK(hew_moved_expect(moved, 1));
    hew_moved_expect_no_more(moved, 1);
    hew_moved_add(moved, 16 * HEW_PAGE, 32 * HEW_PAGE);
    CHECK(hew_moved_touches(moved, 0, 17 * HEW_PAGE) && !hew_moved_touches(moved, 0, 16 * HEW_PAGE));
    hew_moved_clear(moved, 20 * HEW_PAGE, 24 * HEW_PAGE);
    CHECK_EQUAL(moved->count, 2);
    CHECK_EQUAL(hew_moved_until(moved, 0, 64 * HEW_PAGE), 16 * HEW_PAGE);
    CHECK_EQUAL(hew_moved_until(moved, 16 * HEW_PAGE, 64 * HEW_PAGE), 20 * HEW_PAGE);
    CHECK_EQUAL(hew_moved_until(moved, 20 * HEW_PAGE, 64 * HEW_PAGE), 24 * HEW_PAGE);
    CHECK_EQUAL(hew_moved_until(moved, 24 * HEW_PAGE, 28 * HEW_PAGE), 28 * HEW_PAGE);
    CHECK_EQUAL(hew_moved_until(moved, 32 * HEW_PAGE, 64 * HEW_PAGE), 64 * HEW_PAGE);
    hew_moved_clear(moved, 0, 64 * HEW_PAGE);
    CHECK_EQUAL(moved->count, 0);
    page_end();
}

TEST(with_hooks_nothing_is_moved)
{
    scatter(PIECES);
    struct hew_extent *taken = page_take(WANTED);
    struct hew_extent_hooks hooks = {0};
    page_heap.hooks = &hooks;
    CHECK(hew_page_gather(&page_heap, taken));
    page_heap.hooks = NULL;
    check_gathered(taken, 0);
    page_give(taken);
    scatter_end(PIECES);
}

/* Forks where the request asks the system, its pieces in transit. */
static pid_t child_in_transit;

static bool
fork_at_first_move(const char *call)
{
    if (child_in_transit == 0 && strcmp(call, "mremap") == 0) {
        child_in_transit = fork();
        if (child_in_transit == 0) {
            hew_os_faults.refuse = NULL;
            hew_page_after_fork(&page_heap);
            struct hew_page_counts counts = page_counts();
            bool sound = counts.dirty == PIECES * PIECE && hew_list_is_empty(&page_heap.transit) &&
                         page_heap.moved.expected == 0;
            _exit(sound ? 0 : 1);
        }
    }
    return false;
}

TEST(a_child_of_a_fork_in_the_middle_has_the_pieces_as_dirty_pages)
{
    int status;
    scatter(PIECES);
    struct hew_extent *taken = page_take(WANTED);
    child_in_transit = 0;
    hew_os_faults.refuse = fork_at_first_move;
    CHECK(hew_page_gather(&page_heap, taken));
    hew_os_faults.refuse = NULL;
    CHECK(child_in_transit > 0 && waitpid(child_in_transit, &status, 0) == child_in_transit && status == 0);
    check_gathered(taken, PIECES * PIECE);
    page_give(taken);
    scatter_end(PIECES);
}
