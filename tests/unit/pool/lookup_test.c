/* SPDX-License-Identifier: MIT */
#include "hew/pool_lookup.h"

#include "base/random.h"
#include "test.h"

#include <errno.h>

enum { MOST = 65535 };
static size_t table[MOST + 1];
static _Alignas(16) char room[8 << 20];
static struct hew_random random_state = {1};

static const enum hew_pool_lookup_method methods[] = {HEW_POOL_LOOKUP_AUTO,     HEW_POOL_LOOKUP_MIDPOINT,
                                                      HEW_POOL_LOOKUP_HYBRID,   HEW_POOL_LOOKUP_FLAT,
                                                      HEW_POOL_LOOKUP_DOUBLING, HEW_POOL_LOOKUP_INTERPOLATION};
enum { METHODS = sizeof methods / sizeof methods[0] };

static unsigned
naive(unsigned count, size_t size)
{
    unsigned index = 0;
    while (index < count && table[index] < size) {
        index++;
    }
    return index;
}

/* The room begins right where it is allowed to, and what lies behind it stays as it was. */
static void
prepare(struct hew_pool_lookup *lookup, unsigned count, enum hew_pool_lookup_method method)
{
    size_t wanted = hew_pool_lookup_room(table, count, method);
    CHECK(wanted <= sizeof room - 16);
    memset(room + wanted, 0x5a, 16);
    CHECK_EQUAL(hew_pool_lookup_prepare(lookup, table, count, method, room, wanted), 0);
    CHECK(lookup->method != HEW_POOL_LOOKUP_AUTO && (method == HEW_POOL_LOOKUP_AUTO || lookup->method == method));
    for (unsigned i = 0; i < 16; i++) {
        CHECK_EQUAL(room[wanted + i], 0x5a);
    }
}

/* How many sizes around each declared one, and at the ends, one look-up gets wrong.  `count` as the answer is known. */
static size_t
wrong_around(const struct hew_pool_lookup *lookup, unsigned count)
{
    size_t wrong = hew_pool_lookup_find(lookup, 0) != 0;
    for (unsigned i = 0; i < count; i++) {
        size_t below = i == 0 ? 0 : table[i - 1];
        wrong += hew_pool_lookup_find(lookup, table[i]) != i;
        wrong += hew_pool_lookup_find(lookup, below + 1) != i;
        wrong += hew_pool_lookup_find(lookup, below + (table[i] - below + 1) / 2) != i;
    }
    wrong += table[count - 1] != SIZE_MAX && hew_pool_lookup_find(lookup, table[count - 1] + 1) != count;
    wrong += table[count - 1] != SIZE_MAX && hew_pool_lookup_find(lookup, SIZE_MAX) != count;
    return wrong;
}

static void
check_table(unsigned count)
{
    for (unsigned i = 0; i < METHODS; i++) {
        struct hew_pool_lookup lookup;
        if (methods[i] == HEW_POOL_LOOKUP_INTERPOLATION && count > 4096) {
            continue; /* the square of the count, where the table is uneven */
        }
        prepare(&lookup, count, methods[i]);
        CHECK_EQUAL(wrong_around(&lookup, count), 0);
    }
}

static void
make_even(unsigned count, size_t first, size_t step)
{
    for (unsigned i = 0; i < count; i++) {
        table[i] = first + i * step;
    }
}

/* Three stretches of steps 2, 4 and 8 with gaps between them. */
static void
make_uneven(unsigned count)
{
    size_t size = 0;
    for (unsigned i = 0; i < count; i++) {
        unsigned third = i * 3 / count;
        size += i > 0 && third != (i - 1) * 3 / count ? (size_t)count * 4 : 0;
        table[i] = size += (size_t)2 << third;
    }
}

TEST(every_method_finds_every_size_of_a_small_even_table)
{
    make_even(10, 2, 2);
    for (unsigned i = 0; i < METHODS; i++) {
        struct hew_pool_lookup lookup;
        prepare(&lookup, 10, methods[i]);
        for (size_t size = 0; size < 64; size++) {
            CHECK_EQUAL(hew_pool_lookup_find(&lookup, size), naive(10, size));
        }
    }
}

TEST(even_tables_of_any_step_place_and_length)
{
    static const unsigned counts[] = {1, 2, 3, 10, 1210, 4096, 15210, 65535};
    static const size_t firsts[] = {1, 2, 7, 4096, (size_t)1 << 40}, steps[] = {1, 2, 3, 8, 4096, (size_t)1 << 30};
    for (unsigned i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        for (unsigned j = 0; j < 30; j++) {
            make_even(counts[i], firsts[j % 5], steps[j / 5]);
            check_table(counts[i]);
        }
    }
}

TEST(uneven_tables)
{
    static const unsigned counts[] = {3, 10, 100, 1210, 4000, 15210, 65535};
    for (unsigned i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        make_uneven(counts[i]);
        check_table(counts[i]);
    }
}

TEST(a_table_of_one_size_whatever_it_is)
{
    static const size_t sizes[] = {1, 2, 3, 8, 1000, 4096, (size_t)1 << 62, (size_t)1 << 63, SIZE_MAX - 1, SIZE_MAX};
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        table[0] = sizes[i];
        check_table(1);
    }
}

TEST(sizes_up_to_the_largest_number_do_not_overflow)
{
    for (unsigned i = 0; i < 64; i++) {
        table[i] = (size_t)1 << i;
    }
    table[64] = SIZE_MAX;
    check_table(64);
    check_table(65);
    make_even(100, SIZE_MAX - 99, 1);
    check_table(100);
    table[0] = 1;
    check_table(100);
    make_even(4000, SIZE_MAX / 4000, SIZE_MAX / 4000);
    check_table(4000);
}

TEST(a_dense_stretch_among_lone_sizes)
{
    for (unsigned i = 0; i < 4000; i++) {
        table[i] = i < 10 ? 16 + i * 1000 : ((size_t)1 << 33) + i * 3;
    }
    table[4000] = (size_t)1 << 50;
    check_table(4001);
}

/* Sizes of all magnitudes, many of them close together. */
static unsigned
make_random(unsigned most)
{
    unsigned count = 1 + (unsigned)(hew_random_next(&random_state) % most);
    size_t size = 0;
    for (unsigned i = 0; i < count; i++) {
        uint64_t draw = hew_random_next(&random_state);
        size_t step =
            1 + (size_t)(hew_random_next(&random_state) >> (8 + draw % 56)) % ((SIZE_MAX - size) / (count - i));
        table[i] = size += step;
    }
    return count;
}

TEST(random_tables_and_random_sizes_agree_with_a_naive_search)
{
    for (unsigned round = 0; round < 400; round++) {
        unsigned count = make_random(round < 300 ? 40 : 2000);
        check_table(count);
        for (unsigned i = 0; i < METHODS; i++) {
            struct hew_pool_lookup lookup;
            prepare(&lookup, count, methods[i]);
            for (unsigned j = 0; j < 50; j++) {
                size_t size = (size_t)(hew_random_next(&random_state) >> (hew_random_next(&random_state) % 64));
                CHECK_EQUAL(hew_pool_lookup_find(&lookup, size), naive(count, size));
            }
        }
    }
}

TEST(the_three_searches_answer_without_preparation)
{
    unsigned count = make_random(1000);
    for (unsigned i = 0; i < 1000; i++) {
        size_t size = (size_t)(hew_random_next(&random_state) >> (hew_random_next(&random_state) % 64));
        CHECK_EQUAL(hew_pool_lookup_by_midpoint(table, count, size), naive(count, size));
        CHECK_EQUAL(hew_pool_lookup_by_interpolation(table, count, size), naive(count, size));
        CHECK_EQUAL(hew_pool_lookup_by_hybrid(table, count, size), naive(count, size));
    }
}

TEST(a_table_that_is_none_and_a_method_that_is_none_are_refused)
{
    struct hew_pool_lookup lookup;
    static const size_t zero[] = {0, 8}, twice[] = {8, 8}, falling[] = {16, 8}, good[] = {8, 16};
    CHECK_EQUAL(hew_pool_lookup_prepare(&lookup, good, 0, HEW_POOL_LOOKUP_AUTO, room, sizeof room), EINVAL);
    CHECK_EQUAL(hew_pool_lookup_prepare(&lookup, zero, 2, HEW_POOL_LOOKUP_AUTO, room, sizeof room), EINVAL);
    CHECK_EQUAL(hew_pool_lookup_prepare(&lookup, twice, 2, HEW_POOL_LOOKUP_AUTO, room, sizeof room), EINVAL);
    CHECK_EQUAL(hew_pool_lookup_prepare(&lookup, falling, 2, HEW_POOL_LOOKUP_FLAT, room, sizeof room), EINVAL);
    CHECK_EQUAL(hew_pool_lookup_prepare(&lookup, good, 2, (enum hew_pool_lookup_method)17, room, sizeof room), EINVAL);
    make_even(MOST + 1, 8, 8);
    CHECK_EQUAL(hew_pool_lookup_prepare(&lookup, table, MOST + 1, HEW_POOL_LOOKUP_AUTO, room, sizeof room), EINVAL);
    CHECK_EQUAL(hew_pool_lookup_room(twice, 2, HEW_POOL_LOOKUP_FLAT), 0);
}

TEST(too_little_room_is_refused)
{
    struct hew_pool_lookup lookup;
    make_even(10, 2, 2);
    size_t wanted = hew_pool_lookup_room(table, 10, HEW_POOL_LOOKUP_FLAT);
    CHECK(wanted > 0);
    CHECK_EQUAL(hew_pool_lookup_prepare(&lookup, table, 10, HEW_POOL_LOOKUP_FLAT, room, wanted - 1), ENOSPC);
    CHECK_EQUAL(hew_pool_lookup_prepare(&lookup, table, 10, HEW_POOL_LOOKUP_MIDPOINT, NULL, 0), 0);
}

TEST(the_choice_follows_the_shape_of_the_table)
{
    struct hew_pool_lookup lookup;
    make_even(15210, 2, 2);
    prepare(&lookup, 15210, HEW_POOL_LOOKUP_AUTO);
    CHECK(lookup.direct_end > table[15209]);
    make_uneven(15210);
    prepare(&lookup, 15210, HEW_POOL_LOOKUP_AUTO);
    CHECK(lookup.direct_end > table[15209]);
    for (unsigned i = 0; i < 40; i++) {
        table[i] = ((size_t)1 << i) + 7;
    }
    prepare(&lookup, 40, HEW_POOL_LOOKUP_AUTO);
    CHECK_EQUAL(lookup.method, HEW_POOL_LOOKUP_DOUBLING);
    make_even(20000, ((size_t)1 << 40) + 1, 3);
    prepare(&lookup, 20000, HEW_POOL_LOOKUP_AUTO);
    CHECK_EQUAL(lookup.method, HEW_POOL_LOOKUP_INTERPOLATION);
    for (unsigned i = 0; i < 20000; i++) {
        table[i] = ((size_t)1 << 40) + i * (size_t)i / 64 + i;
    }
    prepare(&lookup, 20000, HEW_POOL_LOOKUP_AUTO);
    CHECK_EQUAL(lookup.method, HEW_POOL_LOOKUP_MIDPOINT);
}

TEST(room_stays_in_proportion_to_the_table)
{
    static const enum hew_pool_lookup_method with_entries[] = {HEW_POOL_LOOKUP_FLAT, HEW_POOL_LOOKUP_DOUBLING};
    for (unsigned round = 0; round < 50; round++) {
        unsigned count = make_random(5000);
        for (unsigned i = 0; i < 2; i++) {
            CHECK(hew_pool_lookup_room(table, count, with_entries[i]) <= 4096 + 512 + 256 + count * (size_t)16);
        }
    }
}
