/* SPDX-License-Identifier: MIT */
/* Unit tests of page/stock: what is found, how old it is, and long random runs against a plain array. */
#include "page/stock.h"

#include "fakes/random.h"
#include "test.h"

#define EXTENTS 300
#define BASE ((uintptr_t)1 << 40)

static struct hew_stock stock;
static struct hew_extent extents[EXTENTS];

static void
begin(void)
{
    memset(&stock, 0, sizeof stock);
    memset(extents, 0, sizeof extents);
    hew_stock_begin(&stock);
    for (unsigned number = 0; number < sizeof extents / sizeof extents[0]; number++) {
        extents[number].state = HEW_EXTENT_DIRTY;
    }
}

/* Puts extent `number` in, `pages` long, at `page` pages above BASE. */
static struct hew_extent *
put(unsigned number, size_t page, size_t pages)
{
    struct hew_extent *extent = &extents[number];
    extent->address = BASE + page * HEW_PAGE;
    extent->size = pages * HEW_PAGE;
    hew_stock_insert(&stock, extent, NULL);
    return extent;
}

static struct hew_extent *
find(size_t pages)
{
    return hew_stock_find(&stock, pages * HEW_PAGE, HEW_PAGE, SIZE_MAX);
}

TEST(an_empty_stock_finds_nothing)
{
    begin();
    CHECK(find(1) == NULL);
    CHECK(hew_stock_oldest(&stock) == NULL);
    CHECK(hew_stock_valid(&stock));
}

TEST(no_request_is_too_large_to_be_asked)
{
    begin();
    put(0, 0, (size_t)1 << 35); /* all 47 bits of addresses */
    CHECK(hew_stock_find(&stock, (size_t)1 << 47, HEW_PAGE, SIZE_MAX) == &extents[0]);
    for (unsigned bit = 48; bit < 64; bit++) {
        CHECK(hew_stock_find(&stock, (size_t)1 << bit, HEW_PAGE, SIZE_MAX) == NULL);
    }
    CHECK(hew_stock_find(&stock, HEW_SIZE_MAX - HEW_PAGE + 1, HEW_PAGE, SIZE_MAX) == NULL);
    CHECK(hew_stock_find(&stock, HEW_PAGE, (size_t)1 << 62, SIZE_MAX) == NULL);
}

TEST(the_smallest_extent_that_holds_the_request_is_found)
{
    begin();
    put(0, 0, 64);
    put(1, 100, 16);
    put(2, 200, 20);
    put(3, 300, 1);
    CHECK(find(1) == &extents[3]);
    CHECK(find(2) == &extents[1]);
    CHECK(find(16) == &extents[1]);
    CHECK(find(17) == &extents[2]);
    CHECK(find(21) == &extents[0]);
    CHECK(find(64) == &extents[0]);
    CHECK(find(65) == NULL);
    CHECK_EQUAL(stock.extents, 4); /* finding takes nothing out */
}

TEST(of_equal_sizes_the_lowest_address_is_found)
{
    begin();
    put(0, 300, 5);
    put(1, 100, 5);
    put(2, 200, 5);
    CHECK(find(5) == &extents[1]);
    hew_stock_remove(&stock, &extents[1]);
    CHECK(find(5) == &extents[2]);
}

TEST(the_largest_members_that_are_too_small_come_first_and_no_larger_ones)
{
    struct hew_extent *found[4];
    begin();
    CHECK_EQUAL(hew_stock_largest_below(&stock, 8 * HEW_PAGE, found, 4), 0);
    struct hew_extent *one = put(0, 0, 1), *five = put(1, 10, 5), *seven = put(2, 20, 7);
    put(3, 30, 64);
    CHECK_EQUAL(hew_stock_largest_below(&stock, 8 * HEW_PAGE, found, 4), 3);
    CHECK(found[0] == seven && found[1] == five && found[2] == one);
    CHECK_EQUAL(hew_stock_largest_below(&stock, 8 * HEW_PAGE, found, 2), 2);
    CHECK_EQUAL(hew_stock_largest_below(&stock, HEW_PAGE, found, 4), 1);
    CHECK_EQUAL(hew_stock_largest_below(&stock, SIZE_MAX, found, 4), 4);
}

TEST(alignment_is_met_inside_the_extent)
{
    begin();
    put(0, 1, 16);  /* pages 1 to 16: no 16 pages at a multiple of 16 */
    put(1, 33, 40); /* pages 33 to 72: 48 to 63 */
    CHECK(hew_stock_find(&stock, 16 * HEW_PAGE, 16 * HEW_PAGE, SIZE_MAX) == &extents[1]);
    CHECK(hew_stock_find(&stock, 8 * HEW_PAGE, 8 * HEW_PAGE, SIZE_MAX) == &extents[0]);
    CHECK(hew_stock_find(&stock, 16 * HEW_PAGE, 64 * HEW_PAGE, SIZE_MAX) == NULL);
    CHECK(hew_stock_find(&stock, 8 * HEW_PAGE, 64 * HEW_PAGE, SIZE_MAX) == &extents[1]);
}

TEST(ages_follow_the_order_of_insertion)
{
    begin();
    for (unsigned i = 0; i < 5; i++) {
        put(i, 100 * i, 5 - i);
    }
    for (unsigned i = 0; i < 5; i++) {
        CHECK(hew_stock_oldest(&stock) == &extents[i]);
        hew_stock_remove(&stock, &extents[i]);
    }
    CHECK(hew_stock_oldest(&stock) == NULL);
}

TEST(a_part_cut_off_is_as_old_as_the_rest)
{
    begin();
    put(0, 0, 10);
    put(1, 100, 10);
    extents[2].address = BASE + 20 * HEW_PAGE;
    extents[2].size = HEW_PAGE;
    hew_stock_insert(&stock, &extents[2], &extents[0]);
    hew_stock_remove(&stock, &extents[0]);
    CHECK(hew_stock_oldest(&stock) == &extents[2]);
    hew_stock_remove(&stock, &extents[2]);
    CHECK(hew_stock_oldest(&stock) == &extents[1]);
}

TEST(a_member_that_changes_its_size_is_found_by_the_new_one_and_keeps_its_age)
{
    begin();
    put(0, 0, 10);
    put(1, 100, 3);
    hew_stock_resize(&stock, &extents[0], BASE + 8 * HEW_PAGE, 2 * HEW_PAGE);
    CHECK(find(10) == NULL);
    CHECK(find(2) == &extents[0]);
    CHECK_EQUAL(extents[0].address, BASE + 8 * HEW_PAGE);
    CHECK_EQUAL(stock.bytes, 5 * HEW_PAGE);
    CHECK(hew_stock_oldest(&stock) == &extents[0]);
    hew_stock_resize(&stock, &extents[0], BASE, 40 * HEW_PAGE);
    CHECK(find(40) == &extents[0]);
    CHECK_EQUAL(stock.bytes, 43 * HEW_PAGE);
    CHECK(hew_stock_valid(&stock));
}

TEST(validity_notices_wrong_totals_marks_and_links)
{
    begin();
    put(0, 0, 10);
    put(1, 100, 10);
    CHECK(hew_stock_valid(&stock));
    stock.bytes++;
    CHECK(!hew_stock_valid(&stock));
    stock.bytes--;
    stock.extents++;
    CHECK(!hew_stock_valid(&stock));
    stock.extents--;
    stock.nonempty[1] |= 1;
    CHECK(!hew_stock_valid(&stock));
    stock.nonempty[1] &= ~UINT64_C(1);
    extents[0].size += 10 * HEW_PAGE; /* belongs in another bucket now */
    CHECK(!hew_stock_valid(&stock));
    extents[0].size -= 10 * HEW_PAGE;
    hew_list_remove(&extents[0].free.age);
    CHECK(!hew_stock_valid(&stock));
}

/* The largest size that begins a bucket and is not above `pages`: four a doubling. */
static size_t
bucket_start(size_t pages)
{
    size_t start = 1;
    for (size_t next = 1; next <= pages; next += next < 4 ? 1 : (size_t)1 << (hew_bits_floor_log2(next) - 2)) {
        start = next;
    }
    return start;
}

/* Requests of a size that begins a bucket are met whenever anything in the stock holds them, from the first bucket that
 * does; of any other size, whenever a later bucket holds anything. */
static void
check_find(const bool *inside, size_t pages)
{
    struct hew_extent *found = find(pages);
    size_t least = SIZE_MAX;
    for (unsigned i = 0; i < EXTENTS; i++) {
        if (inside[i] && bucket_start(extents[i].size / HEW_PAGE) >= pages) {
            size_t bucket = bucket_start(extents[i].size / HEW_PAGE);
            least = bucket < least ? bucket : least;
        }
    }
    CHECK(found != NULL || least == SIZE_MAX);
    if (found != NULL) {
        CHECK(inside[found - extents]);
        CHECK(found->size >= pages * HEW_PAGE);
        CHECK(bucket_start(found->size / HEW_PAGE) <= least);
    }
}

TEST(random_runs_agree_with_a_plain_array)
{
    static bool inside[EXTENTS];
    uint64_t random = 1;
    size_t bytes = 0, count = 0;
    begin();
    for (unsigned step = 0; step < 20000; step++) {
        unsigned number = (unsigned)random_below(&random, EXTENTS);
        size_t pages = 1 + random_below(&random, (size_t)1 << random_below(&random, 12));
        struct hew_extent *extent = &extents[number];
        if (!inside[number]) {
            put(number, number * 10000, pages);
            bytes += extent->size;
            count++;
            inside[number] = true;
        } else if (random_below(&random, 3) == 0) {
            bytes += pages * HEW_PAGE - extent->size;
            hew_stock_resize(&stock, extent, extent->address, pages * HEW_PAGE);
        } else {
            hew_stock_remove(&stock, extent);
            bytes -= extent->size;
            count--;
            inside[number] = false;
        }
        CHECK_EQUAL(stock.bytes, bytes);
        CHECK_EQUAL(stock.extents, count);
        check_find(inside, 1 + random_below(&random, 5000));
        if (step % 500 == 0) {
            CHECK(hew_stock_valid(&stock));
        }
    }
}

TEST(buckets_follow_each_other_without_a_gap)
{
    static const size_t least[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32};
    for (unsigned bucket = 0; bucket < sizeof least / sizeof least[0]; bucket++) {
        begin();
        put(0, 0, least[bucket]);
        CHECK_EQUAL(hew_stock_count(&stock, bucket).extents, 1);
        put(1, 1000, least[bucket] + (bucket < 7 ? 0 : (least[bucket] - least[bucket - 1]) / 2));
        CHECK_EQUAL(hew_stock_count(&stock, bucket).extents, 2);
    }
}
