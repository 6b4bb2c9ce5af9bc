/* SPDX-License-Identifier: MIT */
#include "prof/hash.h"

#include "test.h"

enum { THINGS = 10000 };

static struct thing {
    struct hew_hash_link link;
} things[THINGS];

static unsigned
count_of(const struct hew_hash *table, uint64_t hash)
{
    unsigned count = 0;
    for (struct hew_hash_link *link = hew_hash_first(table, hash); link != NULL; link = hew_hash_next(link)) {
        count++;
    }
    return count;
}

TEST(an_empty_table_finds_nothing)
{
    struct hew_hash table = {0};
    CHECK(hew_hash_first(&table, 1) == NULL);
}

TEST(what_was_inserted_is_found_while_the_table_grows_and_until_it_is_removed)
{
    struct hew_hash table = {0};
    for (uint64_t i = 0; i < THINGS; i++) {
        CHECK(hew_hash_insert(&table, &things[i].link, hew_hash_mix(1, i)));
    }
    CHECK_EQUAL(table.count, THINGS);
    CHECK(table.size >= THINGS);
    for (uint64_t i = 0; i < THINGS; i++) {
        CHECK(hew_hash_first(&table, hew_hash_mix(1, i)) == &things[i].link);
    }
    for (uint64_t i = 0; i < THINGS; i += 2) {
        hew_hash_remove(&table, &things[i].link);
    }
    for (uint64_t i = 0; i < THINGS; i++) {
        CHECK_EQUAL(count_of(&table, hew_hash_mix(1, i)), i % 2);
    }
}

TEST(things_with_one_hash_are_all_found)
{
    struct hew_hash table = {0};
    for (unsigned i = 0; i < 3; i++) {
        CHECK(hew_hash_insert(&table, &things[i].link, 7));
    }
    CHECK_EQUAL(count_of(&table, 7), 3);
    hew_hash_remove(&table, &things[1].link);
    CHECK_EQUAL(count_of(&table, 7), 2);
}
